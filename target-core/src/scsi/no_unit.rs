//! What is answered where there is no ordinary unit: on the REPORT LUNS well-known logical unit (SPC-5 8.2) and on numbers that no unit
//! has (SPC-5 6.6.1, 6.33, 6.39).

use super::command::{Command, Response};
use super::dispatch::respond;
use super::fields::Fields;
use super::lun_address::LunKind;
use super::request::Reply;
use super::request_sense;
use super::row::LengthField;
use super::sense::{Fault, Sense, SenseKey};
use super::sense_format::{SenseFormat, render};
use super::{asc, inquiry, report_luns};

/// Gives the parameter data of a command, for a place of this kind in a target whose units have these numbers.
type Answer = fn(Fields<'_>, LunKind, &[u16]) -> Result<Vec<u8>, Sense>;

/// A command of these units: its operation code, where its ALLOCATION LENGTH is, and what it answers.
struct Row {
    opcode: u8,
    /// Whether numbers without any unit have it too.
    anywhere: bool,
    allocation_length: Option<LengthField>,
    answer: Answer,
}

const ROWS: &[Row] = &[
    Row { opcode: 0x00, anywhere: false, allocation_length: None, answer: |_, _, _| Ok(Vec::new()) },
    Row { opcode: 0x03, anywhere: true, allocation_length: Some(LengthField::U8(4)), answer: sense },
    Row { opcode: 0x12, anywhere: true, allocation_length: Some(LengthField::U16(3)), answer: inquiry },
    Row { opcode: 0xa0, anywhere: true, allocation_length: Some(LengthField::U32(6)), answer: luns },
];

/// Answers a command for a target whose units have these numbers.
pub fn answer(command: &Command, kind: LunKind, units: &[u16]) -> Response {
    let cdb = Fields(command.cdb.as_slice());
    let known = kind == LunKind::ReportLuns;
    let result = match ROWS.iter().find(|row| row.opcode == cdb.u8(0) && (known || row.anywhere)) {
        Some(row) => (row.answer)(cdb, kind, units).map(|mut data| {
            let room = row.allocation_length.map_or(0, |field| field.read(cdb));
            data.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            Reply::data(data)
        }),
        None if known => Err(Sense::illegal(asc::INVALID_COMMAND_OPERATION_CODE)),
        None => Err(Sense::illegal(asc::LOGICAL_UNIT_NOT_SUPPORTED)),
    };
    respond(result.map_err(Fault::Check), SenseFormat::Fixed, 0)
}

fn sense(cdb: Fields<'_>, kind: LunKind, _: &[u16]) -> Result<Vec<u8>, Sense> {
    let sense = match kind {
        LunKind::ReportLuns => Sense::new(SenseKey::NoSense, asc::NO_ADDITIONAL_SENSE),
        LunKind::Unit(_) | LunKind::Unknown => Sense::illegal(asc::LOGICAL_UNIT_NOT_SUPPORTED),
    };
    Ok(render(&sense, request_sense::format(cdb.bit(1, 0))).to_vec())
}

fn inquiry(cdb: Fields<'_>, kind: LunKind, _: &[u16]) -> Result<Vec<u8>, Sense> {
    inquiry::without_unit(cdb, kind)
}

fn luns(cdb: Fields<'_>, _: LunKind, units: &[u16]) -> Result<Vec<u8>, Sense> {
    Ok(report_luns::lun_list(report_luns::select(cdb.u8(2))?, units.iter().copied()))
}
