//! WRITE(6), WRITE(10), WRITE(12), WRITE(16) (SBC-4 5.40 to 5.43).

use super::asc;
use super::device_fault::on_write;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::payload::Payload;

/// Writes blocks.
pub async fn write<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let extent = request.extent();
    let blocks = extent.within(request.unit.capacity())?;
    request.check_transfer(extent)?;
    let start = request.bytes(&blocks).start;
    // READ(6)'s and WRITE(6)'s second byte belongs to the address; only longer CDBs have FUA there.
    let fua = request.row.usage.len() > 6 && request.cdb().bit(1, 3);
    write_data(request, start, whole_blocks(request)?, fua).await?;
    Ok(Reply::good())
}

/// The data-out of the command: what the CDB asks for, or the whole blocks that the initiator sent where it announced less. It does so
/// on purpose, through a shorter Expected Data Transfer Length (RFC 7143 §11.4.5.2), and learns of the residual.
pub fn whole_blocks<D: BlockDevice>(request: &Request<'_, D>) -> Result<Payload, Sense> {
    let data = &request.command.data_out;
    let wanted = usize::try_from(request.data_out_wanted()).unwrap_or(usize::MAX);
    if data.len() == wanted {
        return Ok(data.clone());
    }
    if data.len() > wanted {
        return Ok(data.slice(0, wanted));
    }
    match data.len() % request.unit.block_size() as usize {
        0 => Ok(data.clone()),
        _ => Err(Sense::illegal(asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT)),
    }
}

/// Writes data at an offset in bytes, in as many pieces as the device needs.
pub async fn write_data<D: BlockDevice>(
    request: &Request<'_, D>,
    start: u64,
    data: Payload,
    fua: bool,
) -> Result<(), Fault> {
    let fua = fua || request.unit.writes_through();
    let at_a_time = request.unit.device_transfer();
    if data.is_empty() {
        return Ok(());
    }
    if data.len() as u64 <= at_a_time {
        return request.unit.device().write(start, &data, fua).await.map_err(on_write);
    }
    Box::pin(async {
        let mut done = 0;
        while done < data.len() {
            request.go_on()?;
            let piece = data.slice(done, at_a_time as usize);
            request.unit.device().write(start + done as u64, &piece, fua).await.map_err(on_write)?;
            done += piece.len();
        }
        Ok(())
    })
    .await
}
