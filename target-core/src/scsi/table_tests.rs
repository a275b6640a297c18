//! The table is well formed, REPORT SUPPORTED OPERATION CODES tells it, and no CDB whatever can do harm.

use super::*;
use crate::scsi::cdbs::cdb;
use crate::scsi::row::{Handler, Toll, VARIABLE_LENGTH};
use crate::scsi::sense::{SenseKey, Status};
use crate::testing::{Bench, RamDevice, config, sense_of};
use proptest::prelude::*;

type Rows = Table<RamDevice>;

#[test]
fn rows_are_well_formed() {
    assert!(Rows::FAMILIES.iter().all(|family| family.len() < usize::from(NONE.1)));
    let mut seen = std::collections::HashSet::new();
    for rows in Rows::FAMILIES.iter().flat_map(|family| family.chunk_by(|a, b| a.opcode == b.opcode)) {
        assert!(seen.insert(rows[0].opcode), "{}: its operation code stands in two places", rows[0].name);
        let actions: Vec<_> = rows.iter().filter_map(|row| row.service_action).collect();
        assert!(actions.len() == rows.len() || rows.len() == 1, "{}", rows[0].name);
        assert!(actions.windows(2).all(|pair| pair[0] < pair[1]), "{}", rows[0].name);
    }
    for row in Rows::rows() {
        // SPC-5 4.2.2: the group code tells the length.
        let length = match row.opcode >> 5 {
            0 => 6,
            1 | 2 => 10,
            3 if row.opcode == VARIABLE_LENGTH => 32,
            4 => 16,
            5 => 12,
            _ => panic!("{}: no fixed length", row.name),
        };
        assert_eq!(row.usage.len(), length, "{}", row.name);
        assert_eq!(row.usage[0], 0, "{}", row.name);
        let action = ServiceAction::of(row.opcode);
        if row.service_action.is_some() {
            assert!((0..length).all(|at| row.usage[at] & action.mask(at) == 0), "{}", row.name);
        }
        let writes = matches!(row.handler, Handler::Write) || row.needs.discard;
        assert!(!writes || row.needs.writable, "{}", row.name);
        assert!(row.timeouts.nominal <= row.timeouts.recommended);
    }
}

/// One entry of the all_commands format.
struct Told {
    opcode: u8,
    action: [u8; 2],
    flags: u8,
    length: u16,
}

fn all_commands(bench: &Bench) -> Vec<Told> {
    let data = bench.good(&[0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], &[]);
    assert_eq!(u32::from_be_bytes(data[..4].try_into().unwrap()) as usize, data.len() - 4);
    let tell = |entry: &[u8]| Told {
        opcode: entry[0],
        action: [entry[2], entry[3]],
        flags: entry[5],
        length: u16::from_be_bytes([entry[6], entry[7]]),
    };
    data[4..].chunks_exact(8).map(tell).collect()
}

#[test]
fn all_commands_and_each_command_agree() {
    let bench = Bench::new();
    let all = all_commands(&bench);
    assert_eq!(all.len(), Rows::rows().count() - 1, "all but PREVENT ALLOW MEDIUM REMOVAL");
    for told in all {
        let has_action = told.flags & 1 == 1;
        let ask = |options: u8| {
            bench.run(
                &[0xa3, 0x0c, options, told.opcode, told.action[0], told.action[1], 0, 0, 0xff, 0xff, 0, 0],
                &[],
            )
        };
        let (right, wrong) = if has_action { (2, 1) } else { (1, 2) };
        assert_eq!(
            sense_of(&ask(wrong)),
            Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB)),
            "{:02x}",
            told.opcode
        );
        for options in [right, 3] {
            let one = ask(options).data_in.to_bytes();
            assert_eq!(one[1], 0b011);
            assert_eq!(u16::from_be_bytes([one[2], one[3]]), told.length);
            assert_eq!(one.len(), 4 + usize::from(told.length));
            assert_eq!(one[4], told.opcode);
            assert!(!has_action || one[5] & 0x1f == told.action[1]);
        }
        let with_timeouts = ask(0x80 | right).data_in.to_bytes();
        assert_eq!(with_timeouts[1], 0b1000_0011);
        assert_eq!(with_timeouts.len(), 16 + usize::from(told.length));
        assert_eq!(with_timeouts[4 + usize::from(told.length)..][..2], [0, 10]);
    }
}

#[test]
fn supported_operation_codes_in_detail() {
    let bench = Bench::new();
    let ask =
        |cdb: [u8; 4]| bench.good(&[0xa3, 0x0c, cdb[0], cdb[1], cdb[2], cdb[3], 0, 0, 0xff, 0xff, 0, 0], &[]);
    assert_eq!(
        ask([1, 0x28, 0, 0])[..],
        [0, 3, 0, 10, 0x28, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0]
    );
    assert_eq!(ask([2, 0x9e, 0, 0x10])[..6], [0, 3, 0, 16, 0x9e, 0x10]);
    assert_eq!(ask([2, 0x9e, 0, 0x11])[..], [0, 1, 0, 0]);
    assert_eq!(ask([2, 0x9e, 1, 0x10])[..], [0, 1, 0, 0]);
    assert_eq!(ask([1, 0xff, 0, 0])[..], [0, 1, 0, 0]);
    assert_eq!(ask([1, 0x1e, 0, 0])[..], [0, 1, 0, 0], "not removable");
    let timeouts = ask([0x80, 0, 0, 0]);
    assert_eq!(timeouts.len(), 4 + 20 * (Rows::rows().count() - 1));
    assert_eq!(timeouts[4..24], [0, 0, 0, 0, 0, 2, 0, 6, 0, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 30]);
    bench.fails(
        &[0xa3, 0x0c, 4, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0],
        &[],
        SenseKey::IllegalRequest,
        asc::INVALID_FIELD_IN_CDB,
    );
}

#[test]
fn supported_commands_follow_the_device() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.discard = None;
    let mut config = config(512);
    config.removable = true;
    let told: Vec<u8> = all_commands(&Bench::with(config, device)).iter().map(|told| told.opcode).collect();
    assert!(told.contains(&0x1e) && !told.contains(&0x42));
}

#[test]
fn supported_task_management_functions() {
    let bench = Bench::new();
    let ask = |flags| bench.good(&[0xa3, 0x0d, flags, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    assert_eq!(ask(0)[..], [0xde, 0x07, 0, 0]);
    assert_eq!(ask(0x80)[..], [0xde, 0x07, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Any CDB with any data: an answer, in which all is consistent. The test device itself refuses anything out of bounds.
    #[test]
    fn any_cdb_is_answered(
        cdb in cdb(),
        data_len in prop_oneof![Just(0), Just(512), 0..9000_usize],
        fill in any::<u8>(),
        large in any::<bool>(),
        removable in any::<bool>(),
        discard in any::<bool>(),
    ) {
        let mut device = RamDevice::new(1 << 18);
        if !discard {
            device.capabilities.discard = None;
        }
        let mut config = config(if large { 4096 } else { 512 });
        config.removable = removable;
        let bench = Bench::with(config, device);
        let before = bench.device().data.lock().unwrap().clone();
        let data_out = vec![fill; data_len];
        let response = bench.run(&cdb, &data_out);
        sense_of(&response);
        let changed = *bench.device().data.lock().unwrap() != before;
        let row = Rows::find(Fields(&cdb), &bench.device().capabilities, removable);
        match row {
            Err(_) => prop_assert_eq!(response.status, Status::CheckCondition),
            Ok(row) => {
                let fields = Fields(&cdb);
                prop_assert_eq!(response.data_out_wanted, row.data_out(fields, &data_out.clone().into(), bench.unit.block_size()));
                prop_assert!(!changed || row.needs.writable, "{} changed the medium", row.name);
                let within = (0..row.usage.len()).all(|at| {
                    cdb.get(at).is_some_and(|byte| byte & !row.allowed_bits(at) == 0)
                });
                if !within {
                    prop_assert_eq!(response.status, Status::CheckCondition);
                    prop_assert!(!changed);
                }
                if let Data::In(field) = row.data {
                    prop_assert!(response.data_in.len() as u64 <= field.read(fields));
                }
                if response.status == Status::Good && row.layout != Layout::None {
                    let extent = row.layout.extent(fields);
                    prop_assert!(extent.lba + extent.blocks <= bench.unit.capacity());
                }
                if response.status == Status::Good && matches!(row.handler, Handler::Read) {
                    let blocks = row.layout.extent(fields).blocks;
                    prop_assert_eq!(response.data_in.len() as u64, blocks * u64::from(bench.unit.block_size()));
                }
            }
        }
        prop_assert!(response.status == Status::Good || response.data_in.is_empty());
        prop_assert!(bench.unit.tasks().is_empty());
    }
}

#[test]
fn what_limits_count() {
    let toll = |cdb: &[u8]| Table::<RamDevice>::toll(cdb);
    for opcode in [0x08, 0x28, 0xa8, 0x88, 0x2f, 0xaf, 0x8f] {
        assert_eq!(toll(&[opcode]), Toll::Read, "{opcode:02x}");
    }
    for opcode in [0x0a, 0x2a, 0xaa, 0x8a, 0x2e, 0x89, 0x8b, 0x9c, 0x41, 0x93, 0x42] {
        assert_eq!(toll(&[opcode]), Toll::Write, "{opcode:02x}");
    }
    // Copies: EXTENDED COPY, POPULATE TOKEN, WRITE USING TOKEN, COPY OPERATION ABORT.
    assert_eq!(
        [0x01, 0x10, 0x11, 0x1c].map(|action| toll(&[0x83, action])),
        [Toll::Write, Toll::Read, Toll::Write, Toll::Free]
    );
    // Flushes, formats, states, nonsense.
    for cdb in [
        &[0x35][..],
        &[0x91],
        &[0x34],
        &[0x04],
        &[0x48, 1],
        &[0x9e, 0x12],
        &[0x9e, 0x10],
        &[0xee],
        &[],
        &[0x83, 0x1f],
    ] {
        assert_eq!(toll(cdb), Toll::Free, "{cdb:02x?}");
    }
    for row in Table::<RamDevice>::FAMILIES[0].iter().chain(Table::<RamDevice>::FAMILIES[4]) {
        assert_eq!(row.toll, Toll::Free, "{}", row.name);
    }
}

/// A new command has to decide: whoever adds one reads this.
#[test]
fn where_commands_of_shared_units_are_executed() {
    let names =
        |site: Site| -> Vec<_> { Rows::rows().filter(|row| row.site == site).map(|row| row.name).collect() };
    assert_eq!(
        names(Site::Anywhere),
        [
            "INQUIRY",
            "REPORT LUNS",
            "REPORT TARGET PORT GROUPS",
            "REPORT SUPPORTED OPERATION CODES",
            "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
        ]
    );
    assert_eq!(names(Site::Probe), ["TEST UNIT READY", "REQUEST SENSE"]);
    for row in Rows::rows().filter(|row| row.site == Site::Owner { is_repeatable: true }) {
        assert!(
            !row.needs.writable && !matches!(row.data, Data::Out(_) | Data::OutBlocks(_)),
            "{}",
            row.name
        );
    }
    assert_eq!(Rows::site(&[0xff]), Site::Anywhere, "nonsense is refused where it comes in");
    assert_eq!(Rows::site(&[]), Site::Probe, "TEST UNIT READY, as any other look at it");
}
