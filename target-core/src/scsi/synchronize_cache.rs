//! SYNCHRONIZE CACHE(10) and (16) (SBC-4 5.32, 5.33).

use super::device_fault::on_write;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::Fault;
use crate::device::BlockDevice;

/// Flushes the device as a whole, which covers any range. With IMMED set it still ends when all is done: who asks for less time gets
/// more certainty.
pub fn synchronize_cache<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        request.extent().within(request.unit.capacity())?;
        request.unit.device().flush().await.map_err(on_write)?;
        Ok(Reply::good())
    })
}
