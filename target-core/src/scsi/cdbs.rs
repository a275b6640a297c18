//! CDBs for tests, made from the opcode table.

use super::extent::Layout;
use super::row::{LengthField, Row, ServiceAction, VARIABLE_LENGTH};
use super::table::Table;
use crate::testing::RamDevice;
use proptest::prelude::*;

type Rows = Table<RamDevice>;

/// Puts a range into a CDB.
pub fn encode(layout: Layout, cdb: &mut [u8], lba: u64, blocks: u32) {
    let (lba, blocks) = (lba.to_be_bytes(), blocks.to_be_bytes());
    match layout {
        Layout::None => {}
        Layout::Six => {
            cdb[1..4].copy_from_slice(&lba[5..]);
            cdb[1] &= 0x1f;
            cdb[4] = blocks[3];
        }
        Layout::Ten => {
            cdb[2..6].copy_from_slice(&lba[4..]);
            cdb[7..9].copy_from_slice(&blocks[2..]);
        }
        Layout::Twelve => {
            cdb[2..6].copy_from_slice(&lba[4..]);
            cdb[6..10].copy_from_slice(&blocks);
        }
        Layout::Sixteen => {
            cdb[2..10].copy_from_slice(&lba);
            cdb[10..14].copy_from_slice(&blocks);
        }
        Layout::Atomic => {
            cdb[2..10].copy_from_slice(&lba);
            cdb[12..14].copy_from_slice(&blocks[2..]);
        }
        Layout::CompareAndWrite => {
            cdb[2..10].copy_from_slice(&lba);
            cdb[13] = blocks[3];
        }
    }
}

/// A CDB of a row with nothing but what makes it that of the row.
pub fn bare(row: &Row<RamDevice>) -> Vec<u8> {
    let mut cdb = vec![0; row.usage.len()];
    cdb[0] = row.opcode;
    for (at, byte) in cdb.iter_mut().enumerate() {
        *byte |= ServiceAction::of(row.opcode).bits(at, row.service_action.unwrap_or(0));
    }
    if row.opcode == VARIABLE_LENGTH {
        // ADDITIONAL CDB LENGTH.
        cdb[7] = row.usage.len() as u8 - 8;
    }
    cdb
}

/// Puts a length in bytes into a CDB.
pub fn put_length(field: LengthField, cdb: &mut [u8], length: u32) {
    let bytes = length.to_be_bytes();
    match field {
        LengthField::U8(at) => cdb[at] = bytes[3],
        LengthField::U16(at) => cdb[at..at + 2].copy_from_slice(&bytes[2..]),
        LengthField::U24(at) => cdb[at..at + 3].copy_from_slice(&bytes[1..]),
        LengthField::U32(at) => cdb[at..at + 4].copy_from_slice(&bytes),
    }
}

/// CDBs that are mostly right: of a row, with a range that is mostly on the medium, sometimes cut or with any bit set.
pub fn cdb() -> impl Strategy<Value = Vec<u8>> {
    let lba = prop_oneof![6 => 0..40_u64, 1 => 500..514_u64, 1 => any::<u64>()];
    let blocks = prop_oneof![6 => 0..9_u32, 1 => 0..600_u32, 1 => any::<u32>()];
    let noise = prop::collection::vec(any::<u8>(), 32);
    let mode_page = prop_oneof![Just(0x3f_u8), Just(0x08), Just(0x0a), any::<u8>()];
    let row = (0..Rows::rows().count(), noise, lba, blocks, mode_page, 0..8_u8);
    let fitting = row.prop_map(|(at, noise, lba, blocks, mode_page, kind)| {
        let row = Rows::rows().nth(at).unwrap();
        let mut cdb: Vec<u8> = row.usage.iter().zip(&noise).map(|(usage, noise)| usage & noise).collect();
        encode(row.layout, &mut cdb, lba, blocks);
        match row.opcode {
            0x1a | 0x5a => cdb[2..4].copy_from_slice(&[mode_page, 0]),
            0x15 | 0x55 | 0x42 if kind < 4 => cdb[row.usage.len() - 3..].fill(0),
            _ => {}
        }
        cdb.iter_mut().zip(bare(row)).for_each(|(byte, bare)| *byte |= bare);
        if kind == 7 {
            cdb[1 + noise[0] as usize % (row.usage.len() - 1)] |= noise[1];
        }
        cdb
    });
    prop_oneof![
        8 => fitting.clone(),
        1 => (fitting.clone(), 0..261_usize, any::<u8>()).prop_map(|(mut cdb, len, fill)| { cdb.resize(len, fill); cdb }),
        1 => variable_length(fitting),
        1 => prop::collection::vec(any::<u8>(), 0..261),
    ]
}

/// Variable length CDBs with any ADDITIONAL CDB LENGTH, right or wrong.
fn variable_length(start: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let action = prop_oneof![0..0x20_u16, any::<u16>()];
    (start, any::<u8>(), action, prop_oneof![Just(32), 8..261_usize]).prop_map(
        |(mut cdb, told, action, len)| {
            cdb.resize(len, 0);
            (cdb[0], cdb[7]) = (VARIABLE_LENGTH, told);
            cdb[8..].iter_mut().zip(action.to_be_bytes()).for_each(|(byte, action)| *byte = action);
            cdb
        },
    )
}
