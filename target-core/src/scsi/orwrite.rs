//! ORWRITE(16) (SBC-4 5.13). Its row claims the blocks for itself, so that nothing comes between reading and writing.

use super::blocks;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::Fault;
use crate::device::BlockDevice;

/// Writes the OR of what the blocks hold and of what was sent.
pub fn orwrite<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let extent = request.extent();
        let range = extent.within(request.unit.capacity())?;
        request.check_transfer(extent)?;
        let data = request.blocks_out()?;
        blocks::or_bytes(request, request.bytes(&range).start, &data, request.cdb().bit(1, 3)).await?;
        Ok(Reply::good())
    })
}

#[cfg(test)]
#[path = "orwrite_tests.rs"]
mod tests;
