//! WRITE ATOMIC(16) (SBC-4 5.48, 4.29): a write of which others, and whoever looks after a crash, see all or nothing.
//!
//! Its row claims the blocks for itself, which is enough towards other commands. Towards a crash it is the device that has to promise
//! something, so the lengths that are taken are those of which it does, and they go to it as one write.

use super::device_fault::on_write;
use super::limits;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// Writes blocks. ATOMIC BOUNDARY, which would allow several writes instead of one, has to be zero: no MAXIMUM ATOMIC BOUNDARY SIZE is told.
pub fn write_atomic<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let (unit, extent) = (request.unit, request.extent());
        let range = extent.within(unit.capacity())?;
        let limits = limits::atomic(unit);
        if extent.blocks > u64::from(limits.most) {
            return Err(Sense::invalid_field_in_cdb(request.row.layout.length_byte(), 7).into());
        }
        if !extent.lba.is_multiple_of(u64::from(limits.alignment.max(1))) {
            return Err(Sense::invalid_field_in_cdb(2, 7).into());
        }
        let data = request.blocks_out()?;
        if data.is_empty() {
            return Ok(Reply::good());
        }
        let fua = request.cdb().bit(1, 3) || unit.writes_through();
        unit.device().write(request.bytes(&range).start, &data, fua).await.map_err(on_write)?;
        Ok(Reply::good())
    })
}

#[cfg(test)]
#[path = "write_atomic_tests.rs"]
mod tests;
