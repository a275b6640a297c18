//! READ BUFFER(10) and (16), WRITE BUFFER (SPC-5 6.18, 6.19, 6.49): a data buffer and, for each nexus, an echo buffer. There is no
//! microcode to download and no error history.

use super::asc;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::buffers::{DATA_CAPACITY, ECHO_CAPACITY};
use bytes::Bytes;

/// MODE.
const DATA: u8 = 0x02;
const DESCRIPTOR: u8 = 0x03;
const ECHO: u8 = 0x0a;
const ECHO_DESCRIPTOR: u8 = 0x0b;

/// BUFFER ID of the only data buffer.
const BUFFER: u8 = 0;

/// Where a CDB has its fields.
struct Place {
    id: usize,
    offset: u16,
    offset_value: u64,
    allocation_length: u64,
}

/// READ BUFFER(10).
pub fn read_buffer_10<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let place =
        Place { id: 2, offset: 3, offset_value: cdb.u24(3).into(), allocation_length: cdb.u24(6).into() };
    read(request, &place)
}

/// READ BUFFER(16).
pub fn read_buffer_16<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let place = Place { id: 14, offset: 2, offset_value: cdb.u64(2), allocation_length: cdb.u32(10).into() };
    read(request, &place)
}

fn read<D: BlockDevice>(request: &Request<'_, D>, place: &Place) -> Result<Reply, Fault> {
    let id = request.cdb().u8(place.id);
    let buffers = request.unit.buffers();
    match request.cdb().u8(1) {
        DATA if id != BUFFER => Err(Sense::invalid_field_in_cdb(place.id as u16, 7).into()),
        DATA => {
            let offset = usize::try_from(place.offset_value).unwrap_or(usize::MAX);
            let len = usize::try_from(place.allocation_length).unwrap_or(usize::MAX);
            let data = buffers.read(offset, len.min(DATA_CAPACITY));
            Ok(Reply::data(data.ok_or(Sense::invalid_field_in_cdb(place.offset, 7))?))
        }
        // OFFSET BOUNDARY 0: any offset will do. A buffer that there is not is told as all zeros (SPC-5 6.18.5).
        DESCRIPTOR if id != BUFFER => Ok(Reply::data(vec![0; 4])),
        DESCRIPTOR => Ok(Reply::data((DATA_CAPACITY as u32).to_be_bytes().to_vec())),
        ECHO => match buffers.echo(request.nexus.id) {
            Some(echo) => Ok(Reply::data(echo)),
            None => Err(Sense::illegal(asc::COMMAND_SEQUENCE_ERROR).into()),
        },
        // EBOS: no nexus finds its echo overwritten by another one's.
        ECHO_DESCRIPTOR => {
            let [high, low] = (ECHO_CAPACITY as u16).to_be_bytes();
            Ok(Reply::data(vec![1, 0, high, low]))
        }
        _ => Err(Sense::invalid_field_in_cdb(1, 4).into()),
    }
}

/// WRITE BUFFER.
pub fn write_buffer<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let (mode, id, offset) = (cdb.u8(1), cdb.u8(2), cdb.u24(3));
    let room = match mode {
        DATA if id != BUFFER => return Err(Sense::invalid_field_in_cdb(2, 7).into()),
        DATA => (DATA_CAPACITY as u64).checked_sub(u64::from(offset)),
        ECHO => Some(ECHO_CAPACITY as u64),
        _ => return Err(Sense::invalid_field_in_cdb(1, 4).into()),
    };
    let room = room.ok_or(Sense::invalid_field_in_cdb(3, 7))?;
    if request.data_out_wanted() > room {
        return Err(Sense::invalid_field_in_cdb(6, 7).into());
    }
    // A copy: what was received is a part of something larger, which need not stay.
    let bytes = Bytes::copy_from_slice(&request.parameter_list()?);
    let (buffers, nexus) = (request.unit.buffers(), request.nexus.id);
    match mode {
        DATA => {
            buffers.write(offset as usize, &bytes);
        }
        _ => {
            buffers.set_echo(nexus, bytes);
            // A nexus that was lost meanwhile leaves nothing behind.
            request.go_on().inspect_err(|_| buffers.forget(nexus))?;
        }
    }
    Ok(Reply::good())
}

#[cfg(test)]
#[path = "data_buffer_tests.rs"]
mod tests;
