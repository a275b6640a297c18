use super::*;
use crate::device::Discard;
use crate::scsi::sense::{Asc, SenseKey, Status};
use crate::testing::{Bench, RamDevice, config, nexus, sense_of};

const MIB: u64 = 1 << 20;
/// THIN PROVISIONING SOFT THRESHOLD REACHED.
const TOLD: Option<(SenseKey, Asc)> = Some((SenseKey::UnitAttention, Asc(0x38, 0x07)));
const READY: [u8; 6] = [0; 6];
/// MODE SENSE(10) of 1Ch/02h, without block descriptor.
const PAGE: [u8; 10] = [0x5a, 0x08, 0x1c, 0x02, 0, 0, 0, 0, 255, 0];
const LOG: [u8; 10] = [0x4d, 0, 0x4c, 0, 0, 0, 0, 0, 255, 0];

fn left(free: u64) -> Option<Space> {
    Some(Space { total: 100 * MIB, free, used: 3 * MIB, shared: true })
}

#[test]
fn every_nexus_is_told_once_until_there_is_enough_again() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    bench.unit.space().set_threshold(Some(LowSpace::Percent(8)));
    assert_eq!(bench.unit.space_seen(left(9 * MIB)), None);
    bench.good(&READY, &[]);
    assert_eq!(bench.unit.space_seen(left(8 * MIB)), Some(Crossing::Low(100 * MIB / 100 * 8)));
    for nexus in [&bench.nexus, &other] {
        let response = bench.run_as(nexus, &READY, &[]);
        assert_eq!(sense_of(&response), TOLD);
        // INFORMATION: the offset of the threshold descriptor.
        assert_eq!(response.sense_value.unwrap().information, Some(16));
        assert_eq!(bench.run_as(nexus, &READY, &[]).status, Status::Good);
    }
    // Neither less nor a little more is told.
    for free in [MIB, 0, 8 * MIB + 1, 9 * MIB] {
        assert_eq!(bench.unit.space_seen(left(free)), None, "{free}");
        bench.good(&READY, &[]);
    }
    // A nexus that comes while it is low learns of it too.
    let late = nexus(3);
    bench.login(&late);
    assert_eq!(sense_of(&bench.run_as(&late, &READY, &[])), TOLD);
    assert_eq!(bench.unit.space_seen(left(9 * MIB + 1)), Some(Crossing::Enough));
    assert_eq!(bench.unit.space_seen(left(0)), Some(Crossing::Low(8 * MIB)));
    assert_eq!(sense_of(&bench.run(&READY, &[])), TOLD);
}

#[test]
fn without_a_threshold_nobody_is_told() {
    let bench = Bench::new();
    assert_eq!(bench.unit.space_seen(left(0)), None);
    bench.good(&READY, &[]);
    bench.unit.space().set_threshold(Some(LowSpace::Bytes(MIB)));
    assert_eq!(bench.unit.space_seen(None), None, "the device cannot tell");
    assert_eq!(bench.unit.space_seen(left(MIB)), Some(Crossing::Low(MIB)));
    // Taking the threshold away ends it.
    bench.unit.space().set_threshold(None);
    assert_eq!(bench.unit.space_seen(left(MIB)), None);
    assert!(!bench.unit.space().is_low());
}

#[test]
fn a_fully_provisioned_unit_has_no_threshold() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.discard = None::<Discard>;
    let bench = Bench::with(config(512), device);
    bench.unit.space().set_threshold(Some(LowSpace::Percent(50)));
    assert_eq!(bench.unit.space_seen(left(0)), None);
    assert_eq!(bench.good(&PAGE, &[])[8 + 16], 0);
    assert_eq!(
        bench.good(&LOG, &[]),
        [0x8c, 0, 0, 24, 0, 1, 0x23, 8, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0x23, 8, 0, 0, 0, 1, 1, 0, 0, 0][..]
    );
}

#[test]
fn pages_tell_thresholds_and_resources_in_threshold_sets() {
    for (block_size, exponent) in [(512, 11), (4096, 8)] {
        let bench = Bench::with(config(block_size), RamDevice::new(1 << 20));
        let vpd = |at: usize| bench.good(&[0x12, 1, 0xb2, 0, 64, 0], &[])[at];
        assert_eq!(vpd(4), 0, "nothing is known yet");
        assert_eq!(
            bench.good(&PAGE, &[])[8..],
            [0x5c, 2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        );
        bench.unit.space().set_threshold(Some(LowSpace::Bytes(5 * MIB)));
        bench.unit.space_seen(left(77 * MIB));
        assert_eq!(vpd(4), exponent);
        for page_control in [0x00, 0x80] {
            let mut cdb = PAGE;
            cdb[2] |= page_control;
            assert_eq!(bench.good(&cdb, &[])[8 + 16..], [0x80, 1, 0, 0, 0, 0, 0, 5], "{page_control:x}");
        }
        let mut changeable = PAGE;
        changeable[2] |= 0x40;
        assert_eq!(bench.good(&changeable, &[])[12..], [0; 20], "nothing can be changed");
        let log = bench.good(&LOG, &[]);
        assert_eq!(log[..16], [0x8c, 0, 0, 24, 0, 1, 0x23, 8, 0, 0, 0, 77, 2, 0, 0, 0]);
        assert_eq!(log[16..], [0, 2, 0x23, 8, 0, 0, 0, 3, 1, 0, 0, 0]);
    }
}

#[test]
fn the_sets_of_a_huge_unit_still_fit_a_count() {
    let bench = Bench::new();
    bench.device().geometry.lock().unwrap().size = 1 << 62;
    let exponent = limits::threshold_exponent(&bench.unit);
    assert!(bench.unit.capacity() >> exponent <= u64::from(u32::MAX), "{exponent}");
    assert_eq!(limits::resource_count(&bench.unit, u64::MAX), u32::MAX);
}
