//! READ DEFECT DATA(10) and (12) (SBC-4 5.18, 5.19): the store below keeps its own defects to itself, so that both lists are empty.

use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// Address descriptor formats in which an empty list can be given: short block, long block, bytes from index, physical sector, and the
/// extended ones of the last two (SBC-4 table 44).
const FORMATS: std::ops::RangeInclusive<u8> = 0b000..=0b101;

/// The lists asked for, in the format asked for; `at` is the byte of the CDB that names both.
fn asked<D: BlockDevice>(request: &Request<'_, D>, at: usize) -> Result<u8, Sense> {
    let asked = request.cdb().u8(at);
    match FORMATS.contains(&(asked & 0b111)) {
        // PLISTV, GLISTV and DEFECT LIST FORMAT are where REQ_PLIST, REQ_GLIST and the format are in the CDB.
        true => Ok(asked & 0x1f),
        false => Err(Sense::invalid_field_in_cdb(at as u16, 2)),
    }
}

/// A header with DEFECT LIST LENGTH zero.
pub fn read_defect_data_10<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::data(vec![0, asked(request, 2)?, 0, 0]))
}

/// The same, with GENERATION CODE zero: it is not kept. Any ADDRESS DESCRIPTOR INDEX is beyond the end of the list.
pub fn read_defect_data_12<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::data(vec![0, asked(request, 1)?, 0, 0, 0, 0, 0, 0]))
}

#[cfg(test)]
#[path = "read_defect_data_tests.rs"]
mod tests;
