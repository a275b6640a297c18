//! REPORT TIMESTAMP and SET TIMESTAMP (SPC-5 6.38, 6.46).

use super::asc;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// Bytes of the parameter list.
const LIST: usize = 12;

/// Tells the time, in milliseconds since the beginning of 1970, and where it comes from.
pub fn report_timestamp<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let (milliseconds, origin) = request.unit.clock().timestamp();
    let [_, _, timestamp @ ..] = milliseconds.to_be_bytes();
    let mut data = vec![0, 0x0a, origin as u8, 0];
    data.extend_from_slice(&timestamp);
    data.extend_from_slice(&[0, 0]);
    Ok(Reply::data(data))
}

/// Sets the time; the other nexuses learn of it.
pub fn set_timestamp<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let list = request.parameter_list()?;
    match list.len() {
        0 => return Ok(Reply::good()),
        LIST => {}
        _ => return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR).into()),
    }
    // Bytes 4 to 9, below two bytes that are reserved.
    request.unit.clock().set(Fields(&list).u64(2) & ((1 << 48) - 1));
    request.unit.attentions().raise_except(request.nexus.id, asc::TIMESTAMP_CHANGED);
    Ok(Reply::good())
}

#[cfg(test)]
#[path = "timestamp_tests.rs"]
mod tests;
