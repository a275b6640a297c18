//! COMPARE AND WRITE (SBC-4 5.3). Its row claims the blocks for itself, so that nothing comes between comparing and writing.

use super::blocks;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::Fault;
use crate::device::BlockDevice;

/// Writes the second half of data-out if the blocks are equal to the first half.
pub fn compare_and_write<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let range = request.extent().within(request.unit.capacity())?;
        // What is compared with what is told by the halves. 256 blocks and more, of which the CDB has only the lower eight bits, end here
        // too.
        let data = request.exact_data_out()?;
        let half = data.len() / 2;
        let bytes = request.bytes(&range);
        let start = bytes.start;
        blocks::compare(request, bytes, &data.slice(0, half)).await?;
        blocks::write_bytes(request, start, &data.slice(half, half), request.cdb().bit(1, 3)).await?;
        Ok(Reply::good())
    })
}
