//! WRITE(6), WRITE(10), WRITE(12), WRITE(16) (SBC-4 5.40 to 5.43), and WRITE AND VERIFY(10), (12), (16) (5.44 to 5.46).

use super::device_fault::on_write;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, blocks};
use crate::device::BlockDevice;
use crate::payload::Payload;
use std::borrow::Cow;

/// Writes blocks.
pub async fn write<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let extent = request.extent();
    let range = extent.within(request.unit.capacity())?;
    request.check_transfer(extent)?;
    let start = request.bytes(&range).start;
    // WRITE(6) has a part of the address where longer CDBs have FUA.
    let fua = request.row.usage.len() > 6 && request.cdb().bit(1, 3);
    let data = whole_blocks(request)?;
    if data.is_empty() {
        return Ok(Reply::good());
    }
    if data.len() as u64 <= request.unit.device_transfer() {
        let fua = fua || request.unit.writes_through();
        request.unit.device().write(start, &data, fua).await.map_err(on_write)?;
    } else {
        Box::pin(blocks::write_bytes(request, start, &data, fua)).await?;
    }
    Ok(Reply::good())
}

/// Writes blocks to stable storage, reads them again, and with BYTCHK compares them.
pub fn write_and_verify<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let extent = request.extent();
        let range = extent.within(request.unit.capacity())?;
        request.check_transfer(extent)?;
        let start = request.bytes(&range).start;
        let data = whole_blocks(request)?;
        let bytes = start..start + data.len() as u64;
        blocks::write_bytes(request, start, &data, true).await?;
        match request.cdb().bit(1, 1) {
            true => blocks::compare(request, bytes, &data).await?,
            false => blocks::probe(request, bytes).await?,
        }
        Ok(Reply::good())
    })
}

/// The data-out of the command: what the CDB asks for, or the whole blocks that the initiator sent where it announced less. It does so
/// on purpose, through a shorter Expected Data Transfer Length (RFC 7143 §11.4.5.2), and learns of the residual.
fn whole_blocks<'a, D: BlockDevice>(request: &Request<'a, D>) -> Result<Cow<'a, Payload>, Sense> {
    let data = &request.command.data_out;
    let wanted = usize::try_from(request.data_out_wanted()).unwrap_or(usize::MAX);
    if data.len() == wanted {
        return Ok(Cow::Borrowed(data));
    }
    if data.len() > wanted {
        return Ok(Cow::Owned(data.slice(0, wanted)));
    }
    match data.len() % request.unit.block_size() as usize {
        0 => Ok(Cow::Borrowed(data)),
        _ => Err(Sense::illegal(asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT)),
    }
}
