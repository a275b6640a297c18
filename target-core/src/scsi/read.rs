//! READ(6), READ(10), READ(12), READ(16) (SBC-4 5.15 to 5.18).

use super::blocks;
use super::device_fault::on_read;
use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;

/// Reads blocks. FUA and DPO ask for nothing that a read does not do: what is read is what was written last.
pub async fn read<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let extent = request.extent();
    let range = extent.within(request.unit.capacity())?;
    request.check_transfer(extent)?;
    let bytes = request.bytes(&range);
    let len = bytes.end - bytes.start;
    if len == 0 {
        return Ok(Reply::good());
    }
    if len <= request.unit.device_transfer() {
        let data = request.unit.device().read(bytes.start, len as usize).await.map_err(on_read)?;
        return Ok(Reply::data(data));
    }
    Ok(Reply::data(Box::pin(blocks::read_bytes(request, bytes)).await?))
}
