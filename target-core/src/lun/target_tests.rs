use super::*;
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Asc, SenseKey, Status};
use crate::testing::{Bench, RamDevice, RamMemory, config, finish, nexus, sense_of};

const TUR: [u8; 6] = [0; 6];
const REPORT_LUNS: [u8; 12] = [0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0];

fn unit() -> Arc<LogicalUnit<RamDevice>> {
    Arc::new(LogicalUnit::new(config(512), RamDevice::new(1 << 16)))
}

/// Runs a command on a LUN.
fn at(bench: &Bench, lun: LunAddress, cdb: &[u8]) -> crate::scsi::command::Response {
    let mut command = Bench::command(cdb, &[]);
    command.lun = lun;
    match finish(bench.target.execute(&bench.nexus, command)) {
        Outcome::Done(response) => response,
        Outcome::Aborted => panic!("aborted"),
    }
}

fn attention(code: Asc) -> Option<(SenseKey, Asc)> {
    Some((SenseKey::UnitAttention, code))
}

#[test]
fn units_come_and_go_with_exact_unit_attentions() {
    let bench = Bench::new();
    let two = LunAddress::from_number(2);
    assert!(bench.target.add_unit(2, unit()).is_none());
    assert_eq!(sense_of(&bench.run(&TUR, &[])), attention(asc::REPORTED_LUNS_DATA_HAS_CHANGED));
    assert_eq!(bench.run(&TUR, &[]).status, Status::Good);
    assert_eq!(sense_of(&at(&bench, two, &TUR)), attention(asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED));
    assert_eq!(at(&bench, two, &TUR).status, Status::Good);

    assert!(bench.target.remove_unit(2).is_some());
    assert!(bench.target.remove_unit(2).is_none());
    assert_eq!(sense_of(&bench.run(&TUR, &[])), attention(asc::REPORTED_LUNS_DATA_HAS_CHANGED));
    assert_eq!(
        sense_of(&at(&bench, two, &TUR)),
        Some((SenseKey::IllegalRequest, asc::LOGICAL_UNIT_NOT_SUPPORTED))
    );
}

#[test]
fn a_unit_that_replaces_another_is_new() {
    let bench = Bench::new();
    let old = bench.target.add_unit(0, unit()).unwrap();
    assert!(Arc::ptr_eq(&old, &bench.unit));
    assert_eq!(sense_of(&bench.run(&TUR, &[])), attention(asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED));
    finish(old.settled());
}

#[test]
fn report_luns_lists_and_takes_back_the_attention() {
    let bench = Bench::new();
    bench.target.add_unit(300, unit());
    let data = bench.good(&REPORT_LUNS, &[]);
    assert_eq!(data[..], [0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0x2c, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bench.run(&TUR, &[]).status, Status::Good);
    let cut = bench.good(&[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0], &[]);
    assert_eq!(cut, data[..16]);
}

#[test]
fn request_sense_tells_it_for_all_units_as_well() {
    let bench = Bench::new();
    bench.target.add_unit(300, unit());
    at(&bench, LunAddress::from_number(300), &TUR);
    bench.target.add_unit(301, unit());
    let sense = at(&bench, LunAddress::from_number(300), &[0x03, 0, 0, 0, 18, 0]).data_in.to_bytes();
    assert_eq!((sense[2], sense[12], sense[13]), (6, 0x3f, 0x0e));
    bench.good(&TUR, &[]);
}

#[test]
fn a_list_that_is_refused_takes_nothing_back() {
    let bench = Bench::new();
    bench.target.add_unit(300, unit());
    let unknown = [0xa0, 0, 3, 0, 0, 0, 0, 0, 0, 64, 0, 0];
    bench.fails(&unknown, &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    bench.fails(&TUR, &[], SenseKey::UnitAttention, asc::REPORTED_LUNS_DATA_HAS_CHANGED);
}

#[test]
fn select_report() {
    let bench = Bench::new();
    let well_known = [0xc1, 1, 0, 0, 0, 0, 0, 0];
    let list = |select| bench.good(&[0xa0, 0, select, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[])[8..].to_vec();
    assert_eq!(list(0x00), [0; 8]);
    assert_eq!(list(0x01), well_known);
    assert_eq!(list(0x02), [[0; 8], well_known].concat());
    assert_eq!(list(0x10), [0_u8; 0]);
    assert_eq!(list(0x11), [0; 8]);
    assert_eq!(list(0x12), [0_u8; 0]);
    bench.fails(
        &[0xa0, 0, 0x03, 0, 0, 0, 0, 0, 0, 64, 0, 0],
        &[],
        SenseKey::IllegalRequest,
        asc::INVALID_FIELD_IN_CDB,
    );
}

#[test]
fn where_no_unit_is() {
    let bench = Bench::new();
    for lun in [LunAddress::from_number(7), LunAddress([0xff; 8]), LunAddress([0, 0, 0, 1, 0, 0, 0, 0])] {
        let inquiry = at(&bench, lun, &[0x12, 0, 0, 0, 36, 0]);
        assert_eq!(inquiry.status, Status::Good);
        let data = inquiry.data_in.to_bytes();
        assert_eq!((data[0], data.len()), (0x7f, 36));
        let sense = at(&bench, lun, &[0x03, 0, 0, 0, 252, 0]);
        assert_eq!(sense.status, Status::Good);
        assert_eq!(sense.data_in.to_bytes()[12..14], [0x25, 0]);
        assert_eq!(at(&bench, lun, &REPORT_LUNS).data_in.len(), 16);
        for cdb in [&TUR[..], &[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[0xee; 16], &[]] {
            assert_eq!(
                sense_of(&at(&bench, lun, cdb)),
                Some((SenseKey::IllegalRequest, asc::LOGICAL_UNIT_NOT_SUPPORTED))
            );
        }
    }
}

#[test]
fn the_well_known_unit() {
    let bench = Bench::new();
    let lun = LunAddress::REPORT_LUNS;
    let mut standard = b"\x1e\0\x06\x02\x5b\x30\0\x02GLINT   Block volume    0.1 ".to_vec();
    standard.resize(58, 0);
    standard.extend_from_slice(&[0x00, 0xa0, 0x09, 0x60, 0x04, 0x60, 0x05, 0xc0]);
    standard.resize(96, 0);
    let data = |cdb: &[u8]| at(&bench, lun, cdb).data_in.to_bytes();
    assert_eq!(data(&[0x12, 0, 0, 0, 255, 0]), standard);
    assert_eq!(data(&[0x12, 1, 0, 0, 96, 0])[..], [0x1e, 0, 0, 2, 0, 0x83]);
    let mut names = vec![0x1e, 0x83, 0, 88, 0x51, 0x94, 0, 4, 0, 0, 0, 1, 0x51, 0x95, 0, 4, 0, 0, 0, 1];
    names.extend_from_slice(b"\x53\x98\0\x24iqn.2026-12.io.glint:demo,t,0x0001\0\0");
    names.extend_from_slice(b"\x53\xa8\0\x1ciqn.2026-12.io.glint:demo\0\0\0");
    assert_eq!(data(&[0x12, 1, 0x83, 0, 255, 0]), names);
    assert_eq!(data(&REPORT_LUNS).len(), 16);
    assert_eq!(at(&bench, lun, &TUR).status, Status::Good);
    assert_eq!(data(&[0x03, 1, 0, 0, 255, 0])[..], [0x72, 0, 0, 0, 0, 0, 0, 0]);
    for (cdb, code) in [
        (&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], asc::INVALID_COMMAND_OPERATION_CODE),
        (&[], asc::INVALID_COMMAND_OPERATION_CODE),
        (&[0x12, 1, 0x80, 0, 255, 0], asc::INVALID_FIELD_IN_CDB),
        (&[0x12, 2, 0, 0, 255, 0], asc::INVALID_FIELD_IN_CDB),
        (&[0, 0, 0, 0, 0, 4], asc::INVALID_FIELD_IN_CDB),
        (&[0, 0, 0, 0, 0], asc::INVALID_FIELD_IN_CDB),
    ] {
        assert_eq!(sense_of(&at(&bench, lun, cdb)), Some((SenseKey::IllegalRequest, code)), "{cdb:x?}");
    }
}

#[test]
fn growth_is_told_to_every_nexus() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    finish(crate::device::BlockDevice::resize(bench.device(), 2 << 20)).unwrap();
    bench.unit.capacity_changed();
    for nexus in [&bench.nexus, &other] {
        assert_eq!(sense_of(&bench.run_as(nexus, &TUR, &[])), attention(asc::CAPACITY_DATA_HAS_CHANGED));
        let capacity = bench.run_as(nexus, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
        assert_eq!(capacity.data_in.to_bytes()[..4], [0, 0, 0x0f, 0xff]);
    }
}

/// This node takes a volume over: its reservations are what the owner before it has kept, for the nexuses that are there already.
#[test]
fn a_unit_that_takes_the_place_of_another_is_the_same_to_its_nexuses() {
    let memory = Arc::new(RamMemory::default());
    let before = Bench::remembering(config(512), RamDevice::new(1 << 20), memory.clone());
    let other = nexus(2);
    before.login(&other);
    // REGISTER with APTPL, RESERVE for write exclusive.
    let mut list = [0; 24];
    list[15] = 7;
    list[20] = 1;
    before.good(&[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], &list);
    list = [0; 24];
    list[7] = 7;
    before.good(&[0x5f, 1, 1, 0, 0, 0, 0, 0, 24, 0], &list);

    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_memory(memory);
    let unit = Arc::new(unit);
    finish(unit.recall()).unwrap();
    let after = Bench::new();
    after.login(&other);
    let old = after.target.replace_unit(0, unit, asc::ASYMMETRIC_ACCESS_STATE_CHANGED);
    assert!(old.is_some_and(|old| Arc::ptr_eq(&old, &after.unit)));
    let told = |nexus| sense_of(&after.run_as(nexus, &[0; 6], &[]));
    for nexus in [&after.nexus, &other] {
        assert_eq!(told(nexus), attention(asc::ASYMMETRIC_ACCESS_STATE_CHANGED));
        assert_eq!(told(nexus), None, "and nothing else");
    }
    let write = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    assert_eq!(after.run_as(&after.nexus, &write, &[1; 512]).status, Status::Good);
    assert_eq!(after.run_as(&other, &write, &[1; 512]).status, Status::ReservationConflict);
    assert!(after.target.replace_unit(1, self::unit(), asc::ASYMMETRIC_ACCESS_STATE_CHANGED).is_none());
}
