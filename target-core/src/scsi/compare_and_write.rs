//! COMPARE AND WRITE (SBC-4 5.3). Its row claims the blocks for itself, so that nothing comes between comparing and writing.

use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, blocks};
use crate::device::BlockDevice;

/// Writes the second half of data-out if the blocks are equal to the first half.
pub fn compare_and_write<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let range = request.extent().within(request.unit.capacity())?;
        // What is compared with what is told by the halves: data of another length than announced makes no sense at all.
        if request.command.data_out.len() as u64 != request.data_out_wanted() {
            return Err(Sense::illegal(asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT).into());
        }
        let data = &request.command.data_out;
        let half = data.len() / 2;
        let bytes = request.bytes(&range);
        let start = bytes.start;
        blocks::compare(request, bytes, &data.slice(0, half)).await?;
        blocks::write_bytes(request, start, &data.slice(half, half), request.cdb().bit(1, 3)).await?;
        Ok(Reply::good())
    })
}
