//! REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-5 6.34, 6.35).

use super::request::{Reply, Request};
use super::row::{Row, ServiceAction, Timeouts};
use super::sense::{Fault, Sense};
use super::table::Table;
use crate::device::BlockDevice;

/// SUPPORT (SPC-5 table 269).
const NOT_SUPPORTED: u8 = 0b001;
const AS_THE_STANDARD_SAYS: u8 = 0b011;

/// Tells the table: all of it, or one command with its CDB usage.
pub fn report_supported_operation_codes<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let cdb = request.cdb();
    let timeouts = cdb.bit(2, 7);
    let (opcode, service_action) = (cdb.u8(3), cdb.u16(4));
    let supported = |row: &&'static Row<D>| {
        row.needs.are_met(&request.unit.device().capabilities(), request.unit.config().removable)
    };
    let rows = Table::<D>::rows().filter(|row| row.opcode == opcode).filter(supported);
    let has_actions = rows.clone().any(|row| row.service_action.is_some());
    let of_action = |row: &&'static Row<D>| row.service_action.unwrap_or(0) == service_action;
    let data = match cdb.u8(2) & 0b111 {
        0b000 => all(Table::<D>::rows().filter(supported), timeouts),
        0b001 if has_actions => return Err(Sense::invalid_field_in_cdb(2, 2).into()),
        0b001 => one(rows.clone().next(), timeouts),
        0b010 if !has_actions && rows.clone().next().is_some() => {
            return Err(Sense::invalid_field_in_cdb(2, 2).into());
        }
        0b010 | 0b011 => one(rows.clone().find(of_action), timeouts),
        _ => return Err(Sense::invalid_field_in_cdb(2, 2).into()),
    };
    Ok(Reply::data(data))
}

/// The all_commands format (SPC-5 6.34.2).
fn all<D: BlockDevice>(rows: impl Iterator<Item = &'static Row<D>>, timeouts: bool) -> Vec<u8> {
    let mut data = vec![0; 4];
    for row in rows {
        let [action_high, action_low] = row.service_action.unwrap_or(0).to_be_bytes();
        let [length_high, length_low] = (row.usage.len() as u16).to_be_bytes();
        let flags = u8::from(timeouts) << 1 | u8::from(row.service_action.is_some());
        let descriptor = [row.opcode, 0, action_high, action_low, 0, flags, length_high, length_low];
        data.extend_from_slice(&descriptor);
        if timeouts {
            data.extend_from_slice(&timeouts_descriptor(row.timeouts));
        }
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    data
}

/// The one_command format (SPC-5 6.34.3).
fn one<D: BlockDevice>(row: Option<&'static Row<D>>, timeouts: bool) -> Vec<u8> {
    let Some(row) = row else { return vec![0, NOT_SUPPORTED, 0, 0] };
    let mut data = vec![0, u8::from(timeouts) << 7 | AS_THE_STANDARD_SAYS];
    data.extend_from_slice(&(row.usage.len() as u16).to_be_bytes());
    data.extend(row.usage.iter().enumerate().map(|(at, usage)| match at {
        0 => row.opcode,
        _ => usage | ServiceAction::of(row.opcode).bits(at, row.service_action.unwrap_or(0)),
    }));
    if timeouts {
        data.extend_from_slice(&timeouts_descriptor(row.timeouts));
    }
    data
}

/// SPC-5 6.34.4.
fn timeouts_descriptor(timeouts: Timeouts) -> [u8; 12] {
    let mut descriptor = [0; 12];
    descriptor[1] = 0x0a;
    descriptor[4..8].copy_from_slice(&timeouts.nominal.to_be_bytes());
    descriptor[8..].copy_from_slice(&timeouts.recommended.to_be_bytes());
    descriptor
}

/// ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET, QUERY TASK, TARGET RESET; and in the second byte QUERY ASYNCHRONOUS
/// EVENT, QUERY TASK SET, I_T NEXUS RESET. CLEAR ACA is not among them.
const FUNCTIONS: [u8; 2] = [0b1101_1110, 0b0000_0111];

/// Short or, with REPD, extended parameter data, which tells no timeouts.
pub fn report_supported_task_management<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let mut data = FUNCTIONS.to_vec();
    match request.cdb().bit(2, 7) {
        false => data.resize(4, 0),
        true => {
            data.extend_from_slice(&[0, 0x0c]);
            data.resize(16, 0);
        }
    }
    Ok(Reply::data(data))
}
