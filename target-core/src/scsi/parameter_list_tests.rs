//! Parameter lists of all commands: whole, cut and changed.

use super::asc;
use super::cdbs::{bare, put_length};
use super::command::Response;
use super::input_tests::bench;
use super::row::{Data, LengthField, Row};
use super::sense::{Sense, SenseKey, SenseSpecific, Status};
use super::table::Table;
use super::transport_id;
use crate::lun::reservations::registrant::InitiatorPort;
use crate::testing::{Bench, RamDevice};

type Rows = Table<RamDevice>;

/// A CDB and the parameter list that goes with it, which have to be good.
fn sample(bench: &Bench, row: &Row<RamDevice>) -> (Vec<u8>, Vec<u8>) {
    let mut cdb = bare(row);
    let initiator = transport_id::encode(&InitiatorPort::new("iqn.a", [1; 6]));
    let control = [0x0a, 0x0a, 2, 0x10, 0, 0x40, 0, 0, 0, 0, 0, 60];
    let list: Vec<u8> = match (row.opcode, row.service_action) {
        (0x04, _) => {
            cdb[1] = 0x10;
            vec![0; 4]
        }
        (0x15, _) => {
            cdb[1] = 0x10;
            [&[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 2, 0][..], &control, &[8, 18, 4], &[0; 17]].concat()
        }
        (0x55, _) => {
            cdb[1] = 0x10;
            [&[0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 2, 0][..], &control, &[0x4a, 1, 0, 28, 7], &[0; 27]]
                .concat()
        }
        (0x1d, _) => {
            cdb[1] = 0x10;
            vec![0; 4]
        }
        (0x3b, _) => {
            cdb[1] = 0x02;
            vec![7; 64]
        }
        (0x42, _) => {
            [&[0, 38, 0, 32, 0, 0, 0, 0][..], &[0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0].repeat(2)]
                .concat()
        }
        (0x48, Some(1)) => vec![1, 0, 0, 4, 1, 2, 3, 4],
        (0x5f, Some(0)) => {
            let ids = initiator.repeat(2);
            [&[0; 15][..], &[1, 0, 0, 0, 0, 0x08, 0, 0, 0, 0, 0, 0, ids.len() as u8], &ids].concat()
        }
        (0x5f, Some(7)) => {
            register(bench);
            let key = [&[0, 0, 0, 0, 0, 0, 0, 5][..], &[0; 16]].concat();
            bench.good(&[0x5f, 1, 5, 0, 0, 0, 0, 0, 24, 0], &key);
            [
                &[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, initiator.len() as u8]
                    [..],
                &initiator,
            ]
            .concat()
        }
        (0x5f, Some(6)) => vec![0; 24],
        (0x5f, Some(action)) => {
            register(bench);
            cdb[2] = 0x05;
            let victims = if matches!(action, 4 | 5) { 5 } else { 0 };
            [&[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, victims][..], &[0; 8]].concat()
        }
        (0xa4, Some(0x06)) => {
            cdb[10] = 2 << 1;
            b"a name\0".to_vec()
        }
        (0xa4, Some(0x0a)) => vec![0, 0, 0, 0, 1, 0, 0, 1],
        (0xa4, Some(0x0e)) => {
            cdb[2] = 0x40;
            let own =
                transport_id::encode(&InitiatorPort::new(&bench.nexus.initiator_name, bench.nexus.isid));
            [&[3, 0, 0, 1, 0, 0, 0, own.len() as u8], &own[..]].concat()
        }
        (0xa4, Some(0x0f)) => vec![0; 12],
        _ => Vec::new(),
    };
    (cdb, list)
}

/// Registers nexus 1 with key 5.
fn register(bench: &Bench) {
    let list = [&[0; 8][..], &[0, 0, 0, 0, 0, 0, 0, 5], &[0; 8]].concat();
    bench.good(&[0x5f, 6, 0, 0, 0, 0, 0, 0, 24, 0], &list);
}

/// Sets the PARAMETER LIST LENGTH, where there is one.
fn tell_length(row: &Row<RamDevice>, cdb: &mut [u8], length: usize) {
    if let Data::Out(field) = row.data {
        put_length(field, cdb, length as u32);
    }
}

fn run_sample(
    row: &Row<RamDevice>,
    told: impl Fn(usize) -> usize,
    change: impl Fn(&mut Vec<u8>),
) -> (Bench, Response) {
    let bench = bench();
    let (mut cdb, mut list) = sample(&bench, row);
    tell_length(row, &mut cdb, told(list.len()));
    change(&mut list);
    let response = bench.run(&cdb, &list);
    (bench, response)
}

/// The rows whose data-out is a parameter list.
fn with_parameter_lists() -> impl Iterator<Item = &'static Row<RamDevice>> {
    Rows::rows().filter(|row| matches!(row.data, Data::Out(_) | Data::OutTold(_)))
}

#[test]
fn parameter_lists_that_are_whole_are_taken() {
    for row in with_parameter_lists() {
        let (_, list) = sample(&bench(), row);
        let (_, response) = run_sample(row, |whole| whole, |_| ());
        // Where no list is known here there need be none that is good.
        assert!(
            list.is_empty() || response.status == Status::Good,
            "{}: {:x?}",
            row.name,
            response.sense_value
        );
        assert_eq!(response.data_out_wanted, list.len() as u64, "{}", row.name);
        // More than the CDB tells changes nothing.
        let (_, with_more) = run_sample(row, |whole| whole, |list| list.extend_from_slice(&[0xff; 9]));
        assert_eq!(with_more.sense_value, response.sense_value, "{}", row.name);
    }
}

#[test]
fn parameter_lists_of_which_less_is_sent_than_told_are_refused() {
    for row in with_parameter_lists() {
        let (_, list) = sample(&bench(), row);
        for sent in 0..list.len() {
            let (bench, response) = run_sample(row, |whole| whole, |list| list.truncate(sent));
            let sense =
                response.sense_value.unwrap_or_else(|| panic!("{}: {sent} of {}", row.name, list.len()));
            assert_eq!(
                (sense.key, sense.asc),
                (SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR),
                "{}",
                row.name
            );
            assert!(bench.device().calls.lock().unwrap().is_empty(), "{}", row.name);
        }
    }
}

/// Cut where the CDB says so: a length error, or a field at fault within the list or in the CDB that tells its length; some lists may well
/// end early.
#[test]
fn parameter_lists_that_are_told_shorter_than_they_are() {
    for row in with_parameter_lists() {
        let (_, list) = sample(&bench(), row);
        let Data::Out(field) = row.data else { continue };
        let (LengthField::U8(at) | LengthField::U16(at) | LengthField::U24(at) | LengthField::U32(at)) =
            field;
        for told in 0..list.len() {
            let (_, response) = run_sample(row, |_| told, |list| list.truncate(told));
            let Some(sense) = response.sense_value else {
                assert_eq!(response.status, Status::Good, "{}", row.name);
                continue;
            };
            let context = format!("{} with {told} of {}: {sense:x?}", row.name, list.len());
            assert_eq!(sense.key, SenseKey::IllegalRequest, "{context}");
            match (sense.asc, sense.specific) {
                (asc::PARAMETER_LIST_LENGTH_ERROR, None) => {}
                (asc::INVALID_FIELD_IN_CDB, Some(SenseSpecific::Field { in_cdb: true, byte, .. })) => {
                    assert_eq!(usize::from(byte), at, "{context}");
                }
                (
                    asc::INVALID_FIELD_IN_PARAMETER_LIST,
                    Some(SenseSpecific::Field { in_cdb: false, byte, .. }),
                ) => {
                    assert!(usize::from(byte) < told, "{context}");
                }
                _ => panic!("{context}"),
            }
        }
    }
}

/// Each byte in turn has each of some values: an answer, and where a field is at fault it is one that is there.
#[test]
fn parameter_lists_with_any_byte_changed() {
    for row in with_parameter_lists() {
        let (_, list) = sample(&bench(), row);
        for (at, value) in
            (0..list.len()).flat_map(|at| [0, 1, 0x0f, 0x40, 0x80, 0xff].map(|value| (at, value)))
        {
            let (_, response) = run_sample(row, |whole| whole, |list| list[at] = value);
            let Some(Sense { asc: code, specific, .. }) = response.sense_value else { continue };
            let context = format!("{}, byte {at} {value:02x}: {code:x?} {specific:?}", row.name);
            if code == asc::INVALID_FIELD_IN_PARAMETER_LIST {
                let Some(SenseSpecific::Field { in_cdb: false, byte, .. }) = specific else {
                    panic!("{context}")
                };
                assert!(usize::from(byte) < list.len(), "{context}");
            }
        }
    }
}
