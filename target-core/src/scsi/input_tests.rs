//! Whatever is wrong with a CDB is told, and where it is. All of it goes through the whole opcode table.

use super::asc;
use super::cdbs::{bare, cdb, encode, put_length};
use super::command::Response;
use super::extent::Layout;
use super::fields::Fields;
use super::gates;
use super::row::{Data, LengthField};
use super::sense::{Asc, Sense, SenseKey, SenseSpecific, Status};
use super::table::Table;
use crate::testing::{Bench, RamDevice, RamMemory, config, sense_of};
use proptest::prelude::*;
use std::sync::Arc;

type Rows = Table<RamDevice>;

/// Removable, so that every row is supported; with a memory, so that everything can be saved.
pub(super) fn bench() -> Bench {
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
