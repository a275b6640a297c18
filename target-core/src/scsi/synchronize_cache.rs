//! SYNCHRONIZE CACHE(10) and (16) (SBC-4 5.32, 5.33).

use super::device_fault::on_write;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::Fault;
use crate::device::BlockDevice;
use std::sync::Arc;

/// Flushes the device as a whole, which covers any range. With IMMED it ends before that is done; a failure shows in the next flush then,
/// for it latches the device.
pub fn synchronize_cache<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        request.extent().within(request.unit.capacity())?;
        if request.cdb().bit(1, 1) {
            let unit = Arc::clone(request.unit);
            let flush = async move {
                // Told by the device in all that is asked of it afterwards.
                let _ = unit.device().flush().await;
            };
            if request.unit.background().start(|_| flush).is_some() {
                return Ok(Reply::good());
            }
        }
        request.unit.device().flush().await.map_err(on_write)?;
        Ok(Reply::good())
    })
}
