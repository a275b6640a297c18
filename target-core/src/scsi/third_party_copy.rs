//! The Third-party Copy page of the vital product data (SPC-5 7.8.17, SBC-4 6.6.9).

use super::copy::limits;
use super::request::Request;
use super::table::Table;
use crate::device::BlockDevice;
use crate::lun::copy::operations::CONCURRENT;
use crate::lun::copy::tokens::{DEFAULT_TIMEOUT, MAX_TIMEOUT, rod_type};
use crate::lun::unit::LogicalUnit;

/// Bytes of a ROD type descriptor.
const ROD_TYPE_DESCRIPTOR: usize = 64;
/// TOKEN_IN, TOKEN_OUT.
const TOKEN_IN: u8 = 0x02;
const TOKEN_OUT: u8 = 0x01;
/// ROD TYPE in ascending order, the bits above, and PREFERENCE INDICATOR. Without a type asked for, tokens are of the preferred one.
const ROD_TYPES: [(u32, u8, u16); 4] = [
    (rod_type::POINT_IN_TIME, TOKEN_IN | TOKEN_OUT, 0),
    (rod_type::CHANGE_VULNERABLE, TOKEN_IN | TOKEN_OUT, 0xffff),
    (rod_type::ANY_POINT_IN_TIME, TOKEN_OUT, 0),
    (rod_type::ZERO, TOKEN_IN, 0),
];

/// The body of the page: a descriptor after the other, in ascending order of their types.
pub fn third_party_copy<D: BlockDevice>(request: &Request<'_, D>) -> Vec<u8> {
    let unit = request.unit;
    let descriptors = [
        (0x0000, block_device_rod_limits(unit.block_size())),
        (0x0001, counted_u8(&supported_commands(unit))),
        (0x0004, parameter_data()),
        (0x0008, counted_u8(&limits::DESCRIPTORS)),
        (0x000c, [&2_u16.to_be_bytes()[..], &limits::OWN_UNIT.to_be_bytes()].concat()),
        (0x0106, rod_token_features(unit)),
        (0x0108, supported_rod_types()),
        (0x8001, general_copy_operations()),
    ];
    let mut page = Vec::with_capacity(640);
    for (kind, mut body) in descriptors {
        // DESCRIPTOR PAD, which counts.
        body.resize(body.len().next_multiple_of(4), 0);
        page.extend_from_slice(&u16::to_be_bytes(kind));
        page.extend_from_slice(&(body.len() as u16).to_be_bytes());
        page.extend_from_slice(&body);
    }
    page
}

/// A list with its length in one byte.
fn counted_u8(list: &[u8]) -> Vec<u8> {
    [&[list.len() as u8], list].concat()
}

fn block_device_rod_limits(block_size: u32) -> Vec<u8> {
    let block_size = u64::from(block_size);
    let mut body = vec![0; 6];
    body.extend_from_slice(&limits::RANGES.to_be_bytes());
    body.extend_from_slice(&MAX_TIMEOUT.to_be_bytes());
    body.extend_from_slice(&DEFAULT_TIMEOUT.to_be_bytes());
    body.extend_from_slice(&(limits::TOKEN_BYTES / block_size).to_be_bytes());
    body.extend_from_slice(&(limits::OPTIMAL_TOKEN_BYTES / block_size).to_be_bytes());
    body
}

/// Command support descriptors: the operation codes with their service actions, as the table has them.
fn supported_commands<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<u8> {
    let capabilities = unit.device().capabilities();
    let mut list = Vec::new();
    for opcode in [0x83, 0x84] {
        let rows = Table::<D>::rows_of(opcode, &capabilities, unit.config().removable);
        let actions: Vec<u8> = rows.map(|row| row.service_action.unwrap_or(0) as u8).collect();
        list.push(opcode);
        list.extend_from_slice(&counted_u8(&actions));
    }
    list
}

fn parameter_data() -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend_from_slice(&limits::CSCDS.to_be_bytes());
    body.extend_from_slice(&limits::SEGMENTS.to_be_bytes());
    body.extend_from_slice(&limits::DESCRIPTOR_LIST.to_be_bytes());
    // MAXIMUM INLINE DATA LENGTH: none.
    body.resize(28, 0);
    body
}

/// REMOTE TOKENS 0h: tokens of this node alone. A token lives as long as it is used within its inactivity timeout.
fn rod_token_features<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<u8> {
    let granularity = unit.device().geometry().physical_block / unit.block_size();
    let mut body = vec![0; 12];
    body.extend_from_slice(&0_u32.to_be_bytes()); // MINIMUM TOKEN LIFETIME
    body.extend_from_slice(&u32::MAX.to_be_bytes()); // MAXIMUM TOKEN LIFETIME
    body.extend_from_slice(&MAX_TIMEOUT.to_be_bytes());
    body.resize(42, 0);
    body.extend_from_slice(&48_u16.to_be_bytes());
    // The block ROD device type specific features descriptor.
    body.extend_from_slice(&[0, 0, 0, 0x2c, 0, 0]);
    body.extend_from_slice(&u16::try_from(granularity).unwrap_or(0).to_be_bytes());
    body.extend_from_slice(&limits::TOKEN_BYTES.to_be_bytes());
    body.extend_from_slice(&limits::OPTIMAL_TOKEN_BYTES.to_be_bytes());
    body.extend_from_slice(&u64::MAX.to_be_bytes()); // OPTIMAL BYTES TO TOKEN PER SEGMENT: nothing is moved
    body.extend_from_slice(&limits::OPTIMAL_TOKEN_BYTES.to_be_bytes());
    body.resize(44 + 48, 0);
    body
}

fn supported_rod_types() -> Vec<u8> {
    let mut body = vec![0; 2];
    body.extend_from_slice(&((ROD_TYPES.len() * ROD_TYPE_DESCRIPTOR) as u16).to_be_bytes());
    for (kind, tokens, preference) in ROD_TYPES {
        let start = body.len();
        body.extend_from_slice(&kind.to_be_bytes());
        body.extend_from_slice(&[tokens, 0]);
        body.extend_from_slice(&preference.to_be_bytes());
        body.resize(start + ROD_TYPE_DESCRIPTOR, 0);
    }
    body
}

fn general_copy_operations() -> Vec<u8> {
    let mut body = Vec::with_capacity(32);
    body.extend_from_slice(&(CONCURRENT as u32).to_be_bytes()); // TOTAL CONCURRENT COPIES
    body.extend_from_slice(&(CONCURRENT as u32).to_be_bytes()); // MAXIMUM IDENTIFIED CONCURRENT COPIES
    body.extend_from_slice(&limits::SEGMENT_BYTES.to_be_bytes());
    body.push(limits::GRANULARITY);
    body.resize(32, 0);
    body
}

#[cfg(test)]
#[path = "third_party_copy_tests.rs"]
mod tests;
