//! What became of copies: RECEIVE COPY STATUS, RECEIVE COPY OPERATING PARAMETERS, RECEIVE COPY FAILURE DETAILS, RECEIVE ROD TOKEN INFORMATION
//! (SPC-5 6.22 to 6.26).

use super::limits;
use crate::device::BlockDevice;
use crate::lun::copy::operations::{CONCURRENT, Ending, Operation};
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::LengthField;
use crate::scsi::sense::{Fault, Sense, Status};
use crate::scsi::sense_format::{SenseFormat, render};
use std::sync::Arc;

/// COPY OPERATION STATUS of what is under way.
const IN_FOREGROUND: u8 = 0x11;
const IN_BACKGROUND: u8 = 0x12;
/// ESTIMATED STATUS UPDATE DELAY in milliseconds, and of what is over.
const UPDATE_DELAY: u32 = 100;
const NO_UPDATE: u32 = 0xffff_fffe;
/// TRANSFER COUNT UNITS: blocks of the destination.
const BLOCKS: u8 = 0xf1;
/// SERVICE ACTION of the commands whose transfers are counted in blocks.
const TOKEN_COMMANDS: [u8; 2] = [0x10, 0x11];
/// SERVICE ACTION of EXTENDED COPY(LID1).
const EXTENDED_COPY_LID1: u8 = 0x00;

/// The operation that a LIST IDENTIFIER of one byte names.
fn find_lid1<D: BlockDevice>(request: &Request<'_, D>) -> Result<Arc<Operation>, Sense> {
    find(request, u32::from(request.cdb().u8(2)))
}

/// The operation that a LIST IDENTIFIER of four bytes names.
fn find_lid4<D: BlockDevice>(request: &Request<'_, D>) -> Result<Arc<Operation>, Sense> {
    find(request, request.cdb().u32(2))
}

fn find<D: BlockDevice>(request: &Request<'_, D>, list_id: u32) -> Result<Arc<Operation>, Sense> {
    let operation = request.unit.operations().find(request.nexus.id, list_id);
    operation.ok_or(Sense::invalid_field_in_cdb(2, 7))
}

/// RECEIVE COPY STATUS(LID1): it is told once, but for a failure whose details are still to be told.
pub fn receive_copy_status_lid1<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let operation = find_lid1(request)?;
    let end = operation.end();
    let status = match &end {
        None => 0x00,
        Some(end) if end.status == Status::Good => 0x01,
        Some(_) => 0x02,
    };
    if end.is_some_and(|end| end.sense.is_none()) {
        request.unit.operations().discard(request.nexus.id, &operation);
    }
    let (units, count) = scaled(operation.bytes());
    let mut data = vec![0, 0, 0, 8, status];
    data.extend_from_slice(&operation.segments().to_be_bytes());
    data.push(units);
    data.extend_from_slice(&count.to_be_bytes());
    Ok(Reply::data(data))
}

/// TRANSFER COUNT UNITS and TRANSFER COUNT of 32 bits: bytes, kibibytes and so on, whatever has room for them.
fn scaled(bytes: u64) -> (u8, u32) {
    let fitting = (0..=6_u8).find_map(|units| {
        let count = u32::try_from(bytes >> (10 * units)).ok()?;
        Some((units, count))
    });
    fitting.unwrap_or((6, u32::MAX))
}

/// RECEIVE COPY OPERATING PARAMETERS.
pub fn receive_copy_operating_parameters<D: BlockDevice>(_: &Request<'_, D>) -> Result<Reply, Fault> {
    let mut data = vec![0; 44];
    let mut put = |at: usize, value: &[u8]| data[at..at + value.len()].copy_from_slice(value);
    let concurrent = CONCURRENT as u8;
    put(4, &[0x01]); // SNLID
    put(8, &limits::CSCDS.to_be_bytes());
    put(10, &limits::SEGMENTS.to_be_bytes());
    put(12, &limits::DESCRIPTOR_LIST.to_be_bytes());
    put(16, &limits::SEGMENT_BYTES.to_be_bytes());
    // No inline data, no held data, no streams.
    put(34, &u16::from(concurrent).to_be_bytes()); // TOTAL CONCURRENT COPIES
    put(36, &[concurrent, limits::GRANULARITY]); // MAXIMUM CONCURRENT COPIES
    put(43, &[limits::DESCRIPTORS.len() as u8]);
    data.extend_from_slice(&limits::DESCRIPTORS);
    Ok(Reply::data(with_available_data(data)))
}

/// Writes AVAILABLE DATA, which counts what follows it.
fn with_available_data(mut data: Vec<u8>) -> Vec<u8> {
    let length = (data.len() as u32).saturating_sub(4).to_be_bytes();
    data.iter_mut().zip(length).for_each(|(place, byte)| *place = byte);
    data
}

/// RECEIVE COPY FAILURE DETAILS(LID1): they are told once.
pub fn receive_copy_failure_details<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let operation = find_lid1(request)?;
    let known = operation.service_action == EXTENDED_COPY_LID1;
    let end = operation.end().filter(|_| known).ok_or(Sense::invalid_field_in_cdb(2, 7))?;
    let Some(sense) = end.sense else { return Ok(Reply::data(vec![0; 4])) };
    request.unit.operations().discard(request.nexus.id, &operation);
    let sense = render(&sense, SenseFormat::Fixed);
    let mut data = vec![0; 60];
    data[56] = end.status as u8;
    data[58..60].copy_from_slice(&(sense.len() as u16).to_be_bytes());
    data.extend_from_slice(&sense);
    Ok(Reply::data(with_available_data(data)))
}

/// RECEIVE COPY STATUS(LID4).
pub fn receive_copy_status_lid4<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let operation = find_lid4(request)?;
    Ok(Reply::data(with_available_data(status_header(request, &operation))))
}

/// RECEIVE ROD TOKEN INFORMATION.
pub fn receive_rod_token_information<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let operation = find_lid4(request)?;
    let token = operation.end().and_then(|end| end.token);
    let mut data = status_header(request, &operation);
    let descriptor = match token {
        Some(token) => [&[0; 2], &token.0[..]].concat(),
        None => Vec::new(),
    };
    data.extend_from_slice(&(descriptor.len() as u32).to_be_bytes());
    data.extend_from_slice(&descriptor);
    if LengthField::U32(10).read(request.cdb()) == 0 {
        // SPC-5 6.26: who does not want it throws it away.
        request.unit.operations().discard(request.nexus.id, &operation);
    }
    Ok(Reply::data(with_available_data(data)))
}

/// The shared third-party copy status header (SPC-5 table 248), with the sense data.
fn status_header<D: BlockDevice>(request: &Request<'_, D>, operation: &Operation) -> Vec<u8> {
    let end = operation.end();
    let (status, completion) = match &end {
        Some(end) => (end.ending as u8, end.status as u8),
        None if operation.in_background => (IN_BACKGROUND, 0),
        None => (IN_FOREGROUND, 0),
    };
    let sense = end.as_ref().filter(|end| end.ending == Ending::Failed).and_then(|end| end.sense);
    let sense = sense.map(|sense| render(&sense, SenseFormat::Fixed)).unwrap_or_default();
    let padded = sense.len().next_multiple_of(4);
    let (units, count) = match TOKEN_COMMANDS.contains(&operation.service_action) {
        true => (BLOCKS, operation.bytes() / u64::from(request.unit.block_size())),
        false => (0, operation.bytes()),
    };
    let mut data = vec![0; 4];
    data.extend_from_slice(&[operation.service_action, status]);
    data.extend_from_slice(&operation.steps().to_be_bytes());
    let delay = if end.is_some() { NO_UPDATE } else { UPDATE_DELAY };
    data.extend_from_slice(&delay.to_be_bytes());
    data.extend_from_slice(&[completion, padded as u8, sense.len() as u8, units]);
    data.extend_from_slice(&count.to_be_bytes());
    data.extend_from_slice(&operation.segments().to_be_bytes());
    data.resize(32, 0);
    data.extend_from_slice(&sense);
    data.resize(32 + padded, 0);
    data
}
