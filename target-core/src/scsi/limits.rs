//! Limits of commands, as the Block Limits page tells them (SBC-4 6.6.4).

use crate::device::Capabilities;

/// MAXIMUM COMPARE AND WRITE LENGTH: all that the CDB can express.
pub const COMPARE_AND_WRITE_BLOCKS: u8 = u8::MAX;

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
