//! Limits of commands, as the Block Limits page tells them (SBC-4 6.6.4).

use crate::device::{BlockDevice, Capabilities};
use crate::lun::unit::LogicalUnit;

/// MAXIMUM COMPARE AND WRITE LENGTH: all that the CDB can express.
pub const COMPARE_AND_WRITE_BLOCKS: u8 = u8::MAX;

/// Most bytes of an OPTIMAL TRANSFER LENGTH: what libgfapi pools buffers for.
pub const OPTIMAL_TRANSFER: u64 = 1 << 20;

/// MAXIMUM UNMAP LBA COUNT, for all descriptors of a command together.
pub const UNMAP_BLOCKS: u32 = 1 << 20;

/// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
pub const UNMAP_DESCRIPTORS: u32 = 256;

/// MAXIMUM WRITE SAME LENGTH in logical blocks: 4 GiB, which is mostly zeros and then costs a device little; where zeros have to be
/// written out, no more than a slow store writes within an initiator's patience.
pub fn write_same_blocks(capabilities: &Capabilities, block_size: u32) -> u64 {
    let bytes: u64 = if capabilities.write_zeroes { 4 << 30 } else { 256 << 20 };
    bytes / u64::from(block_size)
}

/// THRESHOLD EXPONENT (SBC-4 6.6.9): a threshold set is a MiB, or more where all sets of the unit would not fit a count.
pub fn threshold_exponent<D: BlockDevice>(unit: &LogicalUnit<D>) -> u8 {
    let mebibyte = ((1 << 20) / unit.block_size()).ilog2();
    let whole = unit.capacity().checked_ilog2().unwrap_or(0);
    mebibyte.max((whole + 1).saturating_sub(u32::BITS)) as u8 // 64 at most
}

/// Bytes of space as a number of threshold sets, whole ones.
pub fn resource_count<D: BlockDevice>(unit: &LogicalUnit<D>, bytes: u64) -> u32 {
    let blocks = bytes / u64::from(unit.block_size());
    u32::try_from(blocks >> threshold_exponent(unit)).unwrap_or(u32::MAX)
}

/// What WRITE ATOMIC takes, in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// MAXIMUM ATOMIC TRANSFER LENGTH.
    pub most: u32,
    /// ATOMIC ALIGNMENT; 0 where any address will do.
    pub alignment: u32,
}

/// One write of the device at most, and of that what the device promises to be there whole or not at all after a crash.
pub fn atomic<D: BlockDevice>(unit: &LogicalUnit<D>) -> Atomic {
    let block = u64::from(unit.block_size());
    let one_write = unit.device_transfer().min(u64::from(unit.max_transfer_blocks()) * block);
    let promised = u64::from(unit.device().capabilities().atomic_write);
    let blocks = |bytes: u64| (bytes / block).clamp(1, u64::from(u16::MAX)) as u32;
    match promised >= one_write {
        true => Atomic { most: blocks(one_write), alignment: 0 },
        false => Atomic { most: blocks(promised), alignment: blocks(promised) },
    }
}
