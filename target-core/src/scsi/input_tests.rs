//! Whatever is wrong with a CDB or a parameter list is told, and where it is. All of it goes through the whole opcode table.

use super::asc;
use super::cdbs::{bare, cdb, encode, put_length};
use super::command::Response;
use super::extent::Layout;
use super::fields::Fields;
use super::gates;
use super::row::{Data, LengthField, Row};
use super::sense::{Asc, Sense, SenseKey, SenseSpecific, Status};
use super::table::Table;
use super::transport_id;
use crate::lun::reservations::registrant::InitiatorPort;
use crate::testing::{Bench, RamDevice, RamMemory, config, sense_of};
use proptest::prelude::*;
use std::sync::Arc;

type Rows = Table<RamDevice>;

/// Removable, so that every row is supported; with a memory, so that everything can be saved.
fn bench() -> Bench {
    let mut config = config(512);
    config.removable = true;
    Bench::remembering(config, RamDevice::new(1 << 16), Arc::new(RamMemory::default()))
}

/// Sense data read back from its bytes, be they of the fixed or the descriptor format.
fn decode(bytes: &[u8]) -> Sense {
    let fields = Fields(bytes);
    let (key, asc, mut information, mut specific) = match fields.u8(0) & 0x7f {
        0x70 => {
            assert_eq!(usize::from(fields.u8(7)) + 8, bytes.len());
            let information = (fields.bit(0, 7)).then(|| u64::from(fields.u32(3)));
            (fields.u8(2), Asc(fields.u8(12), fields.u8(13)), information, bytes[15..18].to_vec())
        }
        0x72 => {
            assert_eq!(usize::from(fields.u8(7)) + 8, bytes.len());
            (fields.u8(1), Asc(fields.u8(2), fields.u8(3)), None, vec![0; 3])
        }
        other => panic!("response code {other:02x}"),
    };
    // Fixed sense cannot tell zero from none.
    let mut command_specific = if fields.u8(0) & 0x7f == 0x70 { fields.u32(8) } else { 0 };
    let mut rest = if fields.u8(0) == 0x72 { &bytes[8..] } else { &[] };
    while let [kind, length, ..] = *rest {
        match kind {
            0x00 => information = Some(Fields(rest).u64(4)),
            0x02 => specific = rest[4..7].to_vec(),
            0x01 => command_specific = Fields(rest).u64(4) as u32,
            // Of third-party copies.
            0x0c => {}
            _ => panic!("descriptor {kind:02x}"),
        }
        rest = &rest[2 + usize::from(length)..];
    }
    let pointer = Fields(&specific);
    let specific = match (pointer.bit(0, 7), key) {
        (false, _) => None,
        (true, 5) => Some(SenseSpecific::Field {
            in_cdb: pointer.bit(0, 6),
            byte: pointer.u16(1),
            bit: pointer.bit(0, 3).then_some(pointer.u8(0) & 7),
        }),
        (true, _) => Some(SenseSpecific::Progress(pointer.u16(1))),
    };
    let key = [
        SenseKey::NoSense,
        SenseKey::RecoveredError,
        SenseKey::NotReady,
        SenseKey::MediumError,
        SenseKey::HardwareError,
        SenseKey::IllegalRequest,
        SenseKey::UnitAttention,
        SenseKey::DataProtect,
        SenseKey::BlankCheck,
        SenseKey::VendorSpecific,
        SenseKey::CopyAborted,
        SenseKey::AbortedCommand,
        SenseKey::VolumeOverflow,
        SenseKey::VolumeOverflow,
        SenseKey::Miscompare,
        SenseKey::Completed,
    ][usize::from(key)];
    let command_specific = (command_specific != 0).then_some(command_specific);
    Sense { key, asc, information, command_specific, specific }
}

fn set_d_sense(bench: &Bench) {
    bench.good(&[0x15, 0x10, 0, 0, 16, 0], &[0, 0, 0, 0, 0x0a, 0x0a, 6, 0x10, 0, 0x40, 0, 0, 0, 0, 0, 60]);
}

#[test]
fn a_bit_that_a_command_has_no_use_for_is_pointed_at() {
    let bench = bench();
    for row in Rows::rows() {
        for (byte, bit) in (1..row.usage.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            if row.allowed_bits(byte) >> bit & 1 == 1 {
                continue;
            }
            let mut cdb = bare(row);
            cdb[byte] |= 1 << bit;
            let sense = bench.run(&cdb, &[]).sense_value;
            let expected = Sense::invalid_field_in_cdb(byte as u16, bit);
            assert_eq!(sense, Some(expected), "{}: {cdb:02x?}", row.name);
        }
    }
    assert!(bench.device().calls.lock().unwrap().is_empty());
}

#[test]
fn the_usage_that_is_reported_is_what_is_accepted() {
    let bench = bench();
    for row in Rows::rows() {
        let [high, low] = row.service_action.unwrap_or(0).to_be_bytes();
        let one = bench.good(&[0xa3, 0x0c, 3, row.opcode, high, low, 0, 0, 1, 0, 0, 0], &[]);
        let (usage, bare) = (&one[4..], bare(row));
        assert_eq!(usage.len(), row.usage.len(), "{}", row.name);
        assert!(gates::form(row, Fields(usage)).is_ok(), "{}: all that may be set is set", row.name);
        for byte in 1..usage.len() {
            for bit in (0..8).filter(|bit| (usage[byte] | row.allowed_bits(byte)) >> bit & 1 == 0) {
                let mut cdb = bare.clone();
                cdb[byte] |= 1 << bit;
                assert!(gates::form(row, Fields(&cdb)).is_err(), "{}: {byte}.{bit}", row.name);
            }
            let may_be_set = row.allowed_bits(byte);
            assert_eq!(usage[byte] & !may_be_set, 0, "{}: byte {byte}", row.name);
            let action = super::row::ServiceAction::of(row.opcode).mask(byte);
            let free = if row.service_action.is_some() { may_be_set & !action } else { may_be_set };
            assert_eq!(usage[byte] & free, free, "{}: byte {byte}", row.name);
        }
    }
}

#[test]
fn a_cdb_that_is_cut_is_pointed_at_where_it_ends() {
    let bench = bench();
    for row in Rows::rows() {
        let whole = bare(row);
        for length in 1..whole.len() {
            let sense = bench.run(&whole[..length], &[]).sense_value.unwrap();
            assert_eq!((sense.key, sense.asc), (SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB));
            let Some(SenseSpecific::Field { in_cdb: true, byte, .. }) = sense.specific else {
                panic!("{}: {sense:?}", row.name)
            };
            // Cut before the service action, it is that of another row or of none.
            assert!(byte == length as u16 || (length < 10 && row.service_action.is_some()), "{}", row.name);
        }
    }
    assert!(bench.device().calls.lock().unwrap().is_empty());
}

#[test]
fn allocation_lengths_cut_what_is_told_and_change_nothing_else() {
    for row in Rows::rows() {
        let Data::In(field) = row.data else { continue };
        let run = |length| {
            let mut cdb = bare(row);
            // READ BUFFER has no mode 0.
            if matches!(row.opcode, 0x3c | 0x9b) {
                cdb[1] = 0x0b;
            }
            if matches!(row.opcode, 0x1a | 0x5a) {
                cdb[2] = 0x3f;
            }
            put_length(field, &mut cdb, length);
            let response = bench().run(&cdb, &[]);
            assert_eq!(response.data_out_wanted, 0);
            (response.status, response.data_in.to_bytes())
        };
        let most = match field {
            LengthField::U8(_) => 0xff,
            LengthField::U16(_) => 0xffff,
            LengthField::U24(_) => 0xff_ffff,
            LengthField::U32(_) => u32::MAX,
        };
        let (status, whole) = run(most);
        // Copies that nobody has asked for.
        if status != Status::Good {
            continue;
        }
        assert!(!whole.is_empty() && whole.len() < 4096, "{}: {}", row.name, whole.len());
        for length in (0..64).chain([whole.len() as u32 - 1, whole.len() as u32, whole.len() as u32 + 1]) {
            let length = length.min(most);
            let (cut_status, cut) = run(length);
            assert_eq!(
                (cut_status, &cut[..]),
                (status, &whole[..whole.len().min(length as usize)]),
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn ranges_beyond_the_end_are_told_by_their_first_block_that_is() {
    let bench = bench();
    let capacity = bench.unit.capacity();
    let lbas = [
        0,
        1,
        capacity - 1,
        capacity,
        capacity + 1,
        0x1f_ffff,
        0x20_0000,
        u64::from(u32::MAX),
        1 << 32,
        1 << 63,
        u64::MAX,
    ];
    for row in Rows::rows().filter(|row| row.layout != Layout::None) {
        for (lba, blocks) in
            lbas.iter().flat_map(|lba| [0, 1, 2, 255, 0xffff, u32::MAX].map(|blocks| (*lba, blocks)))
        {
            let mut cdb = bare(row);
            encode(row.layout, &mut cdb, lba, blocks);
            let extent = row.layout.extent(Fields(&cdb));
            let most = (1 << 20) / 512;
            let data = vec![0; row.data_out(Fields(&cdb), &Default::default(), 512).min(1 << 21) as usize];
            let response = bench.run(&cdb, &data);
            let sense = response.sense_value;
            let is_beyond = extent.lba.checked_add(extent.blocks).is_none_or(|end| end > capacity);
            let context = format!("{}: {extent:?} {sense:x?}", row.name);
            match sense {
                None => assert!(!is_beyond, "{context}"),
                Some(sense) if sense.asc == asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE => {
                    assert!(is_beyond || (extent.blocks == 0 && extent.lba >= capacity), "{context}");
                    assert_eq!(sense.information, Some(extent.lba.max(capacity)), "{context}");
                    assert_eq!(
                        decode(&response.sense).information,
                        u32::try_from(extent.lba.max(capacity)).ok().map(u64::from),
                        "{context}"
                    );
                }
                // More than one command may move.
                Some(sense) if sense.asc == asc::INVALID_FIELD_IN_CDB => {
                    assert!(
                        extent.blocks > most.min(8) || extent.lba % 8 != 0 || extent.blocks == 0,
                        "{context}"
                    );
                }
                Some(Sense { key: SenseKey::Miscompare, .. }) => assert!(!is_beyond, "{context}"),
                Some(_) => panic!("{context}"),
            }
        }
    }
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// The same in either format of sense data, whatever the command.
    #[test]
    fn sense_data_says_the_same_in_both_formats(cdb in cdb(), data in prop::collection::vec(any::<u8>(), 0..1100)) {
        let (fixed, descriptor) = (bench(), bench());
        set_d_sense(&descriptor);
        let (fixed, descriptor) = (fixed.run(&cdb, &data), descriptor.run(&cdb, &data));
        sense_of(&fixed);
        let told = |response: &Response| (!response.sense.is_empty()).then(|| decode(&response.sense));
        prop_assert_eq!(told(&descriptor), descriptor.sense_value);
        // 32 bits are all that the fixed format has for INFORMATION.
        let short = |sense: Sense| Sense { information: sense.information.filter(|own| *own <= u64::from(u32::MAX)), ..sense };
        prop_assert_eq!(told(&fixed), fixed.sense_value.map(short));
        // What changes D_SENSE or tells it is another thing in the two.
        if !matches!(cdb.first(), Some(0x15 | 0x55 | 0x1a | 0x5a)) {
            prop_assert_eq!(fixed.sense_value, descriptor.sense_value);
        }
        if let Some(first) = descriptor.sense.first() {
            prop_assert_eq!((first, fixed.sense.first().map(|first| first & 0x7f)), (&0x72, Some(0x70)));
        }
    }
}
