//! READ(6), READ(10), READ(12), READ(16) (SBC-4 5.15 to 5.18).

use super::device_fault::on_read;
use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;
use crate::payload::Payload;
use std::ops::Range;

/// Reads blocks. FUA and DPO ask for nothing that a read does not do: what is read is what was written last.
pub async fn read<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let extent = request.extent();
    let blocks = extent.within(request.unit.capacity())?;
    request.check_transfer(extent)?;
    let bytes = request.bytes(&blocks);
    let len = bytes.end - bytes.start;
    if len == 0 {
        return Ok(Reply::good());
    }
    if len <= request.unit.device_transfer() {
        let data = request.unit.device().read(bytes.start, len as usize).await.map_err(on_read)?;
        return Ok(Reply::data(data));
    }
    Ok(Reply::data(Box::pin(read_in_pieces(request, bytes)).await?))
}

/// Reads a range that is longer than the device reads at a time.
async fn read_in_pieces<D: BlockDevice>(
    request: &Request<'_, D>,
    bytes: Range<u64>,
) -> Result<Payload, Fault> {
    let mut data = Payload::new();
    let mut at = bytes.start;
    while at < bytes.end {
        request.go_on()?;
        let len = request.unit.device_transfer().min(bytes.end - at);
        data.push(request.unit.device().read(at, len as usize).await.map_err(on_read)?);
        at += len;
    }
    Ok(data)
}
