//! READ(6), READ(10), READ(12), READ(16) (SBC-4 5.15 to 5.18).

use super::blocks;
use super::device_fault::on_read;
use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;

/// Reads blocks, as many as the initiator has room for: a CDB that asks for more than was announced must not cost more memory. FUA and DPO
/// ask for nothing that a read does not do: what is read is what was written last.
pub async fn read<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let extent = request.extent();
    let range = extent.within(request.unit.capacity())?;
    request.check_transfer(extent)?;
    let bytes = request.bytes(&range);
    let whole = bytes.end - bytes.start;
    let room = u64::from(request.command.data_in_room).next_multiple_of(request.unit.block_size().into());
    let len = whole.min(room);
    let beyond = whole - len;
    if len == 0 {
        return Ok(Reply { beyond, ..Reply::good() });
    }
    if len <= request.unit.device_transfer() {
        let data = request.unit.device().read(bytes.start, len as usize).await.map_err(on_read)?;
        return Ok(Reply { data_in: data.into(), beyond });
    }
    let data_in = Box::pin(blocks::read_bytes(request, bytes.start..bytes.start + len)).await?;
    Ok(Reply { data_in, beyond })
}
