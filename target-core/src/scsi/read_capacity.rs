//! READ CAPACITY(10) and (16) (SBC-4 5.20, 5.21).

use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;
use crate::lun::unit::LogicalUnit;

/// Last block and block size; FFFFFFFFh as last block when it takes READ CAPACITY(16) to tell.
pub fn read_capacity_10<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let last = u32::try_from(last_block(request.unit)).unwrap_or(u32::MAX);
    let mut data = Vec::with_capacity(8);
    data.extend_from_slice(&last.to_be_bytes());
    data.extend_from_slice(&request.unit.block_size().to_be_bytes());
    Ok(Reply::data(data))
}

/// The same in 64 bits, with physical block size and provisioning.
pub fn read_capacity_16<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let unit = request.unit;
    let mut data = Vec::with_capacity(32);
    data.extend_from_slice(&last_block(unit).to_be_bytes());
    data.extend_from_slice(&unit.block_size().to_be_bytes());
    data.push(0); // no protection information
    data.push(physical_block_exponent(unit)); // LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT
    // LBPME and LBPRZ: what is unmapped reads as zeros. LOWEST ALIGNED LOGICAL BLOCK ADDRESS is zero.
    data.push(if unit.device().capabilities().discard.is_some() { 0xc0 } else { 0 });
    data.resize(32, 0);
    Ok(Reply::data(data))
}

/// Address of the last block; a device without any is told as having one, which no command can reach.
pub fn last_block<D: BlockDevice>(unit: &LogicalUnit<D>) -> u64 {
    unit.capacity().saturating_sub(1)
}

/// Power of two of logical blocks in a physical one.
pub fn physical_block_exponent<D: BlockDevice>(unit: &LogicalUnit<D>) -> u8 {
    let ratio = unit.device().geometry().physical_block / unit.block_size();
    ratio.checked_ilog2().map_or(0, |exponent| exponent.min(15) as u8)
}
