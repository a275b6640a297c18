//! What is answered where there is no ordinary unit: on the REPORT LUNS well-known logical unit (SPC-5 8.2) and on numbers that no unit
//! has (SPC-5 6.6.1, 6.33, 6.39).

use super::command::{Command, Nexus, Response};
use super::dispatch::respond;
use super::fields::Fields;
use super::lun_address::LunKind;
use super::request::Reply;
use super::request_sense;
use super::row::Data;
use super::sense::{Fault, Sense, SenseKey};
use super::sense_format::{SenseFormat, render};
use super::table::Table;
use super::{asc, gates, inquiry, report_luns};
use crate::device::BlockDevice;

/// Gives the parameter data of a command.
type Answer = fn(Fields<'_>, &Place<'_>) -> Result<Vec<u8>, Sense>;

/// Where a command went.
pub struct Place<'a> {
    /// What the address names.
    pub kind: LunKind,
    /// Who asks.
    pub nexus: &'a Nexus,
    /// TARGET PORT GROUP of the port through which it came.
    pub group: u16,
    /// The numbers of the units that there are.
    pub units: &'a [u16],
}

/// A command of these units. All else about it is in the opcode table.
struct Own {
    opcode: u8,
    /// Whether numbers without any unit have it too.
    anywhere: bool,
    answer: Answer,
}

const COMMANDS: &[Own] = &[
    Own { opcode: 0x00, anywhere: false, answer: |_, _| Ok(Vec::new()) },
    Own { opcode: 0x03, anywhere: true, answer: sense },
    Own { opcode: 0x12, anywhere: true, answer: |cdb, place| inquiry::without_unit(cdb, place) },
    Own { opcode: 0xa0, anywhere: true, answer: luns },
];

/// Answers a command.
pub fn answer<D: BlockDevice>(command: &Command, place: &Place<'_>) -> Response {
    respond(serve::<D>(command, place).map_err(Fault::Check), SenseFormat::Fixed, 0)
}

fn serve<D: BlockDevice>(command: &Command, place: &Place<'_>) -> Result<Reply, Sense> {
    let cdb = Fields(command.cdb.as_slice());
    let known = place.kind == LunKind::ReportLuns;
    let own = COMMANDS.iter().find(|own| cdb.0.first() == Some(&own.opcode) && (known || own.anywhere));
    let Some(own) = own else {
        return Err(Sense::illegal(match known {
            true => asc::INVALID_COMMAND_OPERATION_CODE,
            false => asc::LOGICAL_UNIT_NOT_SUPPORTED,
        }));
    };
    let row = Table::<D>::rows().find(|row| row.opcode == own.opcode);
    let row = row.ok_or(Sense::illegal(asc::INVALID_COMMAND_OPERATION_CODE))?;
    gates::form(row, cdb)?;
    let reply = Reply::data((own.answer)(cdb, place)?);
    Ok(match row.data {
        Data::In(field) => reply.cut(field.read(cdb), command.data_in_room),
        _ => reply,
    })
}

fn sense(cdb: Fields<'_>, place: &Place<'_>) -> Result<Vec<u8>, Sense> {
    let sense = match place.kind {
        LunKind::ReportLuns => Sense::new(SenseKey::NoSense, asc::NO_ADDITIONAL_SENSE),
        LunKind::Unit(_) | LunKind::Unknown => Sense::illegal(asc::LOGICAL_UNIT_NOT_SUPPORTED),
    };
    Ok(render(&sense, request_sense::format(cdb.bit(1, 0))).to_vec())
}

fn luns(cdb: Fields<'_>, place: &Place<'_>) -> Result<Vec<u8>, Sense> {
    Ok(report_luns::lun_list(report_luns::select(cdb.u8(2))?, place.units.iter().copied()))
}
