//! REPORT IDENTIFYING INFORMATION and SET IDENTIFYING INFORMATION (SPC-5 6.32, 6.43).

use super::asc;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense, SenseKey};
use crate::device::BlockDevice;
use crate::lun::identifying::{KINDS, Kind, encode};
use crate::lun::memory::{Document, replace};
use bytes::Bytes;

/// IDENTIFYING INFORMATION TYPE, in the upper seven bits of this byte of the CDB.
const TYPE_BYTE: u16 = 10;
/// The type that lists the types.
const SUPPORTED: u8 = 0b111_1111;

/// Tells the information of one type, or the types that there are.
pub fn report_identifying_information<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let code = request.cdb().u8(usize::from(TYPE_BYTE)) >> 1;
    let body = match code {
        SUPPORTED => KINDS.iter().flat_map(describe).collect(),
        _ => {
            let at = place(code)?;
            request.unit.identifying().get().get(at).cloned().unwrap_or_default()
        }
    };
    let [high, low] = (body.len() as u16).to_be_bytes(); // some hundred bytes at most
    let mut data = vec![0, 0, high, low];
    data.extend_from_slice(&body);
    Ok(Reply::data(data))
}

fn describe(kind: &Kind) -> [u8; 4] {
    let [high, low] = kind.capacity.to_be_bytes();
    [kind.code << 1, 0, high, low]
}

/// The place of a type among those that there are.
fn place(code: u8) -> Result<usize, Sense> {
    KINDS.iter().position(|kind| kind.code == code).ok_or(Sense::invalid_field_in_cdb(TYPE_BYTE, 7))
}

/// Replaces the information of one type, or removes it; GOOD when it outlives the process. The other nexuses learn of a change. No two of
/// these run side by side, since the row claims every block.
pub fn set_identifying_information<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let at = place(request.cdb().u8(usize::from(TYPE_BYTE)) >> 1)?;
        let unit = request.unit;
        let given = given(request, at)?;
        let mut information = unit.identifying().get();
        let changes =
            information.get_mut(at).is_some_and(|own| std::mem::replace(own, given.clone()) != given);
        if changes {
            if let Some(memory) = unit.memory() {
                let old = || encode(&unit.identifying().get());
                let kept =
                    replace(&**memory, Document::IdentifyingInformation, encode(&information), old).await;
                kept.map_err(|_| Sense::new(SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE))?;
            }
            unit.identifying().set(information);
            unit.attentions().raise_except(request.nexus.id, asc::DEVICE_IDENTIFIER_CHANGED);
        }
        Ok(Reply::good())
    })
}

/// What is to be set: no more than there is room for, and a text ends with its only zero byte.
fn given<D: BlockDevice>(request: &Request<'_, D>, at: usize) -> Result<Bytes, Sense> {
    let kind = KINDS.get(at);
    if request.data_out_wanted() > kind.map_or(0, |kind| u64::from(kind.capacity)) {
        return Err(Sense::invalid_field_in_cdb(6, 7));
    }
    let list = request.parameter_list()?;
    if kind.is_some_and(|kind| kind.is_text) {
        check_text(&list).map_err(|byte| Sense::invalid_field_in_parameters(byte as u16))?;
    }
    // A copy: what was received is a part of something larger, which need not stay.
    Ok(Bytes::copy_from_slice(&list))
}

/// SPC-5 4.3.2: UTF-8, ended by zero. The error is the place of a byte at fault.
fn check_text(list: &[u8]) -> Result<(), usize> {
    let Some(last) = list.len().checked_sub(1) else { return Ok(()) };
    match list.iter().position(|byte| *byte == 0) {
        Some(end) if end == last => {}
        Some(end) => return Err(end),
        None => return Err(last),
    }
    std::str::from_utf8(list).map(drop).map_err(|error| error.valid_up_to())
}

#[cfg(test)]
#[path = "identifying_information_tests.rs"]
mod tests;
