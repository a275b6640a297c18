//! FORMAT UNIT (SBC-4 5.4): all blocks read as zeros, or as the initialization pattern, afterwards. No protection information, no
//! defect lists, and the block size stays.

use super::fields::Fields;
use super::overhaul::{Overhaul, Pass, begin};
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sanitize::fill;
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::condition::State;
use crate::payload::Payload;

/// LONGLIST and FMTDATA: bytes of the header of the parameter list.
fn header(cdb: Fields<'_>) -> usize {
    match (cdb.bit(1, 4), cdb.bit(1, 5)) {
        (false, _) => 0,
        (true, false) => 4,
        (true, true) => 8,
    }
}

/// Bytes of an initialization pattern descriptor before the pattern.
const DESCRIPTOR: usize = 4;

/// DEFECT LIST LENGTH.
fn defects(list: Fields<'_>, header: usize) -> u64 {
    match header {
        8 => u64::from(list.u32(4)),
        _ => u64::from(list.u16(2)),
    }
}

/// Data-out: the CDB says that there is a parameter list, the list how long it is.
pub fn data_out(cdb: Fields<'_>, data: &Payload) -> u64 {
    let header = header(cdb);
    if header == 0 {
        return 0;
    }
    let start = data.slice(0, header + DESCRIPTOR).to_bytes();
    let list = Fields(&start);
    let pattern = match list.bit(1, 3) {
        true => DESCRIPTOR as u64 + u64::from(list.u16(header + 2)),
        false => 0,
    };
    header as u64 + pattern + defects(list, header)
}

/// Formats the medium.
pub fn format_unit<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let cdb = request.cdb();
        check(cdb)?;
        let list = request.parameter_list()?;
        let header = header(cdb);
        let (immed, pass) = match header {
            0 => (false, Pass::Erase),
            _ => (Fields(&list).bit(1, 1), initialization(cdb, &list, header, request.unit.block_size())?),
        };
        let overhaul = Overhaul { state: State::Formatting, restricted: false, passes: vec![pass] };
        begin(request, &list, overhaul, immed).await
    })
}

/// FFMT: a fast format may do what a full one does. CMPLST and DEFECT LIST FORMAT (SBC-4 table 35): without a parameter list there is no
/// list to be complete or to have a format; a list is empty, which it can be in any format of FORMAT UNIT.
fn check(cdb: Fields<'_>) -> Result<(), Sense> {
    if cdb.u8(4) > 1 {
        return Err(Sense::invalid_field_in_cdb(4, 1));
    }
    match (header(cdb), cdb.bit(1, 3), cdb.u8(1) & 0b111) {
        (0, true, _) => Err(Sense::invalid_field_in_cdb(1, 3)),
        (0, false, 0) => Ok(()),
        (4 | 8, _, 0b000 | 0b011 | 0b100 | 0b101) => Ok(()),
        _ => Err(Sense::invalid_field_in_cdb(1, 2)),
    }
}

/// What the parameter list makes of the blocks (SBC-4 5.4.2).
fn initialization(cdb: Fields<'_>, list: &[u8], header: usize, block_size: u32) -> Result<Pass, Sense> {
    let fields = Fields(list);
    let flags = fields.u8(1);
    let (fov, initialize) = (flags & 0x80 != 0, flags & 0x08 != 0);
    // PROTECTION FIELDS USAGE, P_I_INFORMATION, PROTECTION INTERVAL EXPONENT: there is no protection information.
    if fields.u8(0) != 0 {
        return Err(Sense::invalid_field_in_parameters(0));
    }
    // Without FOV the bits after it are to be zero; the last one would be vendor specific.
    if flags & 0x01 != 0 || (!fov && flags & 0x78 != 0) {
        return Err(Sense::invalid_field_in_parameters(1));
    }
    let reserved = header == 8;
    if let Some(at) = (2..4_u16).find(|at| reserved && fields.u8(usize::from(*at)) != 0) {
        return Err(Sense::invalid_field_in_parameters(at));
    }
    // There is nowhere to write down that a block is bad.
    if defects(fields, header) != 0 {
        return Err(Sense::invalid_field_in_parameters(header as u16 / 2));
    }
    if !initialize {
        return Ok(Pass::Erase);
    }
    if cdb.u8(4) != 0 {
        // A fast format does not write.
        return Err(Sense::invalid_field_in_parameters(1));
    }
    pattern(fields, header, block_size)
}

/// The initialization pattern descriptor (SBC-4 table 38).
fn pattern(list: Fields<'_>, at: usize, block_size: u32) -> Result<Pass, Sense> {
    let fault = |offset: usize| Err(Sense::invalid_field_in_parameters((at + offset) as u16));
    let length = usize::from(list.u16(at + 2));
    // SI asks for what SANITIZE is for.
    if list.u8(at) & 0x3f != 0 {
        return fault(0);
    }
    match (list.u8(at + 1), length) {
        (0x00, 0) => Ok(Pass::Erase),
        (0x01, 1..) if length <= block_size as usize => {
            let start = at + DESCRIPTOR;
            match list.0.get(start..start + length) {
                Some(pattern) => Ok(Pass::Write(fill(pattern, block_size))),
                None => fault(2),
            }
        }
        (0x00 | 0x01, _) => fault(2),
        _ => fault(1),
    }
}

#[cfg(test)]
#[path = "format_unit_tests.rs"]
mod tests;
