//! EXTENDED COPY as initiators send it, and as nobody should.

use super::lab::*;
use super::limits;
use crate::device::DeviceError;
use crate::scsi::asc;
use crate::scsi::command::DeviceServer;
use crate::scsi::sense::{Asc, SenseKey, SenseSpecific, Status};
use crate::testing::{config, sense_of};
use SenseKey::{CopyAborted, IllegalRequest};
use proptest::prelude::*;

fn pair(lab: &Lab) -> [Vec<u8>; 2] {
    [lab.cscd(A), lab.cscd(B)]
}

#[test]
fn vmware_clones_a_disk() {
    let lab = Lab::new();
    // Segments of 4 MiB, one command each; a list identifier of one byte that is of use only while it runs, low priority.
    for (at, list_id) in [(0_u64, 0x31_u8), (8192, 0x32)] {
        let list = lid1(list_id, 0x10 | 0x07, &pair(&lab), &[from_to(at, at + 4096, 8192)]);
        lab.good(A, &extended_copy(&list), &list);
        lab.fails(A, &receive_1(0, list_id), &[], IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    }
    let mut want = lab.data(B);
    lab.fill(B, 2);
    let untouched = lab.data(B);
    want[2 << 20..10 << 20].copy_from_slice(&lab.data(A)[..8 << 20]);
    let list = lid1(0, 0x18, &pair(&lab), &[from_to(0, 4096, 8192), from_to(8192, 12288, 8192)]);
    lab.good(A, &extended_copy(&list), &list);
    assert_eq!(lab.data(B), want);
    assert_eq!(lab.data(B)[..2 << 20], untouched[..2 << 20]);
    assert_eq!(lab.data(B)[10 << 20..], untouched[10 << 20..]);
    assert!(lab.units.iter().all(|unit| unit.tasks().is_empty() && unit.operations().is_empty()));
}

#[test]
fn status_of_a_copy_is_told_once() {
    let lab = Lab::new();
    let list = lid1(9, 0, &pair(&lab), &[from_to(0, 0, 8), from_to(100, 200, 4)]);
    lab.good(A, &extended_copy(&list), &list);
    let four = lab.good(A, &receive_4(0x05, 9), &[]);
    assert_eq!(four.len(), 32);
    assert_eq!(four[..6], [0, 0, 0, 28, 0x00, 0x01]);
    assert_eq!(four[8..12], 0xffff_fffe_u32.to_be_bytes());
    assert_eq!(four[12..16], [0, 0, 0, 0]);
    assert_eq!(four[16..26], [0, 0, 0, 0, 0, 0, 0x18, 0, 0, 2]);
    assert_eq!(lab.good(A, &receive_1(0x04, 9), &[]), [0; 4], "nothing has failed");
    assert_eq!(lab.good(A, &receive_1(0x00, 9), &[]), [0, 0, 0, 8, 0x01, 0, 2, 0, 0, 0, 0x18, 0]);
    lab.fails(A, &receive_1(0x00, 9), &[], IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    // Another unit, and another nexus, know nothing of it.
    lab.good(A, &extended_copy(&list), &list);
    lab.fails(B, &receive_1(0x00, 9), &[], IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    lab.targets[0].nexus_lost(&lab.own[0]);
    assert!(lab.units[A].operations().is_empty());
}

#[test]
fn operating_parameters_are_the_limits() {
    let lab = Lab::new();
    let told = lab.good(A, &receive_1(0x03, 0), &[]);
    assert_eq!(told.len(), 46);
    assert_eq!(told[..5], [0, 0, 0, 42, 1]);
    assert_eq!(told[8..12], [0, 64, 1, 0]);
    assert_eq!(told[12..16], limits::DESCRIPTOR_LIST.to_be_bytes());
    assert_eq!(told[16..20], [0x0f, 0xff, 0xf0, 0x00]);
    assert_eq!(told[20..34], [0; 14]);
    assert_eq!(told[34..], [0, 16, 16, 9, 0, 0, 0, 0, 0, 2, 0x02, 0xe4]);
}

#[test]
fn blocks_of_different_sizes() {
    let lab = Lab::new();
    let cscds = [lab.cscd(A), lab.cscd(C)];
    let one = |counts_destination, blocks| {
        segment(Blocks { source: 0, destination: 1, counts_destination, blocks, from: 3, to: 5 })
    };
    // 16 blocks of 512 bytes; then 3 of 4096, counted at the destination.
    for (counts_destination, blocks, bytes) in [(false, 16, 8192), (true, 3, 12288)] {
        let list = lid1(0, 0x18, &cscds, &[one(counts_destination, blocks)]);
        let mut want = lab.data(C);
        want[5 * 4096..][..bytes].copy_from_slice(&lab.data(A)[3 * 512..][..bytes]);
        lab.good(A, &extended_copy(&list), &list);
        assert_eq!(lab.data(C), want);
    }
    let before = lab.data(C);
    let list = lid1(0, 0x18, &cscds, &[one(false, 15)]);
    let response = lab.fails(A, &extended_copy(&list), &list, CopyAborted, asc::UNEXPECTED_INEXACT_SEGMENT);
    assert_eq!(response.sense_value.unwrap().information, None);
    assert_eq!(lab.data(C), before);
}

#[test]
fn the_unit_itself_needs_no_descriptor() {
    let lab = Lab::new();
    let own = limits::OWN_UNIT;
    let blocks = Blocks { source: own, destination: 0, counts_destination: false, blocks: 9, from: 1, to: 2 };
    let list = lid1(0, 0x18, &[lab.cscd(D)], &[segment(blocks)]);
    lab.good(B, &extended_copy(&list), &list);
    assert_eq!(lab.data(D)[2 * 512..][..9 * 512], lab.data(B)[512..][..9 * 512]);
}

#[test]
fn only_units_that_the_initiator_reaches() {
    let lab = Lab::without_login();
    let run = |nexus: &_| {
        let list = lid1(0, 0x18, &[lab.cscd(A), lab.cscd(D)], &[from_to(0, 0, 1)]);
        loop {
            let response = lab.run_as(nexus, A, &extended_copy(&list), &list);
            match sense_of(&response) {
                Some((SenseKey::UnitAttention, _)) => {}
                other => return other,
            }
        }
    };
    let refused = Some((CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE));
    let own = nexus(1, 1, 0, &[7]);
    lab.targets[0].nexus_established(&own);
    assert_eq!(run(&own), refused, "not logged in to the other target");
    let stranger = nexus(2, 2, 1, &[]);
    lab.targets[1].nexus_established(&stranger);
    assert_eq!(run(&own), refused, "another initiator is");
    let better = nexus(3, 1, 1, &[8]);
    lab.targets[1].nexus_established(&better);
    assert_eq!(run(&own), refused, "one of the same name that has proved more");
    lab.targets[1].nexus_lost(&better);
    let same = nexus(4, 1, 1, &[7, 8]);
    lab.targets[1].nexus_established(&same);
    assert_eq!(run(&own), None);
    lab.targets[1].nexus_lost(&same);
    assert_eq!(run(&own), refused);
    let open = nexus(5, 1, 1, &[]);
    lab.targets[1].nexus_established(&open);
    assert_eq!(run(&own), None, "that target asks for no proof");
    lab.targets[1].remove_unit(0);
    assert_eq!(run(&own), refused, "the unit is gone");
}

#[test]
fn reservations_of_others_hold_on_both_sides() {
    let lab = Lab::new();
    let other = nexus(9, 2, 0, &[]);
    lab.targets[0].nexus_established(&other);
    let register = |unit, action: u8, kind: u8| {
        let mut list = vec![0; 24];
        list[8 * usize::from(action == 0)..][..8].copy_from_slice(&5_u64.to_be_bytes());
        let cdb = [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0];
        let mut status = Status::CheckCondition;
        while status == Status::CheckCondition {
            status = lab.run_as(&other, unit, &cdb, &list).status;
        }
        assert_eq!(status, Status::Good);
    };
    let copy = |source, destination| {
        let list = lid1(0, 0x18, &[lab.cscd(source), lab.cscd(destination)], &[from_to(0, 8, 8)]);
        sense_of(&lab.run(C, &extended_copy(&list), &list))
    };
    let failure = Some((CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE));
    register(A, 0, 0);
    register(A, 1, 1); // WRITE EXCLUSIVE
    let (a, b) = (lab.data(A), lab.data(B));
    assert_eq!(copy(B, A), failure);
    assert_eq!(lab.data(A), a);
    assert_eq!(copy(A, B), None, "reading is free");
    register(A, 2, 1);
    register(A, 1, 3); // EXCLUSIVE ACCESS
    lab.fill(B, 2);
    assert_eq!(copy(A, B), failure);
    assert_eq!(lab.data(B), b);
    // The command itself is a write of the unit that it is sent to.
    let list = lid1(0, 0x18, &pair(&lab), &[from_to(0, 8, 8)]);
    assert_eq!(lab.run(A, &extended_copy(&list), &list).status, Status::ReservationConflict);
}

#[test]
fn units_that_do_not_take_it() {
    let lab = Lab::new();
    let copy = || {
        let list = lid1(0x44, 0, &pair(&lab), &[from_to(0, 0, 1), from_to(0, 8, 4096)]);
        lab.fails(A, &extended_copy(&list), &list, CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE)
    };
    // SWP of the Control mode page.
    let mut page = lab.good(B, &[0x1a, 0x08, 0x0a, 0, 0xff, 0], &[]);
    page[..4].fill(0);
    page[4] &= 0x3f;
    page[8] |= 0x08;
    let select = [0x15, 0x10, 0, 0, 16, 0];
    lab.good(B, &select, &page);
    let sense = copy().sense_value.unwrap();
    assert_eq!((sense.command_specific, sense.information), (Some(0), None));
    let pointer = SenseSpecific::Field { in_cdb: false, byte: 48, bit: None };
    assert_eq!(sense.specific, Some(pointer), "the destination's descriptor");
    page[8] &= !0x08;
    lab.good(B, &select, &page);
    *lab.units[A].device().error.lock().unwrap() = Some(DeviceError::Medium);
    let response = copy();
    assert_eq!(response.sense[15..18], [0x80, 0, 16], "the source's descriptor");
    // What has failed is told, with its sense data.
    assert_eq!(lab.good(A, &receive_1(0x00, 0x44), &[])[4], 0x02);
    let details = lab.good(A, &receive_1(0x04, 0x44), &[]);
    assert_eq!(details[..4], [0, 0, 0, 74]);
    assert_eq!(details[56..60], [0x02, 0, 0, 18]);
    assert_eq!(details[60..], response.sense[..]);
    lab.fails(A, &receive_1(0x04, 0x44), &[], IllegalRequest, asc::INVALID_FIELD_IN_CDB);
}

#[test]
fn what_was_written_before_a_failure_is_told() {
    let lab = Lab::new();
    let list = lid1(3, 0, &pair(&lab), &[from_to(0, 0, 16), from_to(0, 23000, 5000)]);
    let response = lab.fails(A, &extended_copy(&list), &list, CopyAborted, asc::NO_ADDITIONAL_SENSE);
    let sense = response.sense_value.unwrap();
    assert_eq!(sense.command_specific, Some(1), "the second segment");
    // DESTINATION LOGICAL BLOCK ADDRESS of the second segment.
    let pointer = SenseSpecific::Field { in_cdb: false, byte: 16 + 64 + 28 + 20, bit: None };
    assert_eq!((sense.information, sense.specific), (None, Some(pointer)));
    assert_eq!(response.sense[8..12], [0, 0, 0, 1]);
    let status = lab.good(A, &receive_4(0x05, 3), &[]);
    assert_eq!(status[5], 0x02);
    assert_eq!(status[12..16], [0x02, 20, 18, 0]);
    assert_eq!(status[16..26], [0, 0, 0, 0, 0, 0, 0x20, 0, 0, 2]);
    assert_eq!(status[32..50], response.sense[..]);
    assert_eq!(status.len(), 52);
}

/// What is wrong with a list, and how that is told.
#[test]
fn lists_that_are_wrong() {
    let lab = Lab::new();
    let good = lid1(1, 0, &pair(&lab), &[from_to(0, 8, 8)]);
    let with = |at: usize, value: &[u8]| {
        let mut list = good.clone();
        list[at..at + value.len()].copy_from_slice(value);
        list
    };
    let many = |cscds: u16, segments: u16| {
        let cscds = vec![lab.cscd(A); cscds.into()];
        lid1(1, 0, &cscds, &vec![from_to(0, 8, 8); segments.into()])
    };
    let (cscd, second) = (16, 16 + 64);
    let before = lab.data(B);
    let parameters = asc::INVALID_FIELD_IN_PARAMETER_LIST;
    let length = asc::PARAMETER_LIST_LENGTH_ERROR;
    let cases: Vec<(&str, Vec<u8>, SenseKey, Asc)> = vec![
        ("too short for a header", vec![1; 15], IllegalRequest, length),
        ("reserved usage", with(1, &[0x08]), IllegalRequest, parameters),
        ("a name that is not to be", with(1, &[0x18]), IllegalRequest, parameters),
        ("half a descriptor", with(2, &[0, 60]), IllegalRequest, length),
        ("more than there is", with(8, &[0, 0, 0, 29]), IllegalRequest, length),
        ("far more than there is", with(8, &[0xff; 4]), IllegalRequest, length),
        ("too long together", with(12, &[0xff; 4]), IllegalRequest, length),
        ("another type", with(cscd, &[0xe0]), IllegalRequest, asc::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE),
        ("too long a designator", with(cscd + 7, &[21]), IllegalRequest, parameters),
        ("stream", with(second, &[0x03]), IllegalRequest, asc::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE),
        ("descriptor length", with(second + 3, &[23]), IllegalRequest, parameters),
        ("CSCDs", many(limits::CSCDS + 1, 1), IllegalRequest, asc::TOO_MANY_TARGET_DESCRIPTORS),
        ("segments", many(1, limits::SEGMENTS + 1), IllegalRequest, asc::TOO_MANY_SEGMENT_DESCRIPTORS),
        ("both", many(limits::CSCDS + 1, limits::SEGMENTS + 1), IllegalRequest, length),
        ("NUL", with(cscd + 1, &[0x20]), CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        ("a port", with(cscd + 5, &[0x13]), CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        ("nobody", with(cscd + 15, &[0]), CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        ("shorter name", with(cscd + 7, &[7]), CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        ("a tape", with(cscd + 1, &[0x01]), CopyAborted, asc::INCORRECT_COPY_TARGET_DEVICE_TYPE),
        ("block length", with(cscd + 29, &[0, 0x10, 0]), CopyAborted, parameters),
        ("no such CSCD", with(second + 7, &[2]), CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        ("source beyond", with(second + 12, &[1]), CopyAborted, asc::NO_ADDITIONAL_SENSE),
        ("destination beyond", with(second + 20, &[0xff; 8]), CopyAborted, asc::NO_ADDITIONAL_SENSE),
    ];
    for (what, list, key, code) in cases {
        let response = lab.run(A, &extended_copy(&list), &list);
        assert_eq!(sense_of(&response), Some((key, code)), "{what}");
    }
    let mut inline = with(15, &[4]);
    inline.extend_from_slice(&[0; 4]);
    lab.fails(A, &extended_copy(&inline), &inline, IllegalRequest, asc::INLINE_DATA_LENGTH_EXCEEDED);
    // Less than was announced, and nothing at all.
    lab.fails(A, &extended_copy(&good), &good[..good.len() - 1], IllegalRequest, length);
    lab.good(A, &extended_copy(&[]), &[]);
    assert_eq!(lab.data(B), before);
    // The same list is good, and so is one without a block length, and one with a LU ID TYPE.
    lab.good(A, &extended_copy(&good), &good);
    for list in [with(cscd + 29, &[0, 0, 0]), with(cscd + 1, &[0xc0])] {
        lab.good(A, &extended_copy(&list), &list);
    }
}

#[test]
fn lists_of_the_long_form_that_are_wrong() {
    let lab = Lab::new();
    let good = lid4(1, false, &pair(&lab), &[from_to(0, 8, 8)]);
    for (at, byte) in [(0, 0), (3, 0x1f), (15, 0x02), (16, 0xfe), (1, 0x08), (1, 0x18)] {
        let mut list = good.clone();
        list[at] = byte;
        let parameters = asc::INVALID_FIELD_IN_PARAMETER_LIST;
        lab.fails(A, &extended_copy_4(&list), &list, IllegalRequest, parameters);
    }
    let mut nameless = lid4(0, true, &pair(&lab), &[]);
    nameless[1] = 0x18;
    lab.fails(A, &extended_copy_4(&nameless), &nameless, IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    lab.good(A, &extended_copy_4(&good), &good);
    assert_eq!(lab.data(B)[8 * 512..16 * 512], lab.data(A)[..8 * 512]);
}

#[test]
fn a_read_only_unit_can_be_copied_from() {
    let lab = Lab::new();
    let mut config = config(512);
    config.read_only = true;
    config.identity = crate::lun::identity::Identity::new("read-only");
    let unit = crate::lun::unit::LogicalUnit::new(config, crate::testing::RamDevice::new(1 << 20));
    unit.device().data.lock().unwrap().fill(0x5a);
    let mut cscd = lab.cscd(A);
    cscd[8..16].copy_from_slice(&unit.config().identity.naa());
    lab.targets[1].add_unit(3, std::sync::Arc::new(unit));
    let list = lid1(0, 0x18, &[cscd.clone(), lab.cscd(B)], &[from_to(0, 0, 2)]);
    lab.good(C, &extended_copy(&list), &list);
    assert_eq!(lab.data(B)[..1024], [0x5a; 1024]);
    let list = lid1(0, 0x18, &[lab.cscd(B), cscd], &[from_to(0, 0, 2)]);
    lab.fails(C, &extended_copy(&list), &list, CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE);
}

fn descriptor() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![4 => 0..3_u16, 1 => Just(0xffff), 1 => any::<u16>()];
    let lba = prop_oneof![6 => 0..200_u64, 1 => 24000..24600_u64, 1 => any::<u64>()];
    let counted = any::<bool>();
    let blocks = prop_oneof![6 => 0..64_u16, 1 => any::<u16>()];
    (id.clone(), id, counted, blocks, lba.clone(), lba).prop_map(
        |(source, destination, counts_destination, blocks, from, to)| {
            segment(Blocks { source, destination, counts_destination, blocks, from, to })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Lists that are right but for a few bytes, and lists of noise: an answer, and no more left behind than a result.
    #[test]
    fn any_list_is_answered(
        segments in prop::collection::vec(descriptor(), 0..4),
        noise in prop::collection::vec((0..200_usize, any::<u8>()), 0..4),
        cut in prop_oneof![4 => Just(usize::MAX), 1 => 0..200_usize],
        form in 0..3_u8,
    ) {
        let lab = Lab::new();
        let cscds = [lab.cscd(A), lab.cscd(C), lab.cscd(D)];
        let mut list = match form {
            0 => lid4(5, false, &cscds, &segments),
            _ => lid1(5, 0, &cscds, &segments),
        };
        for (at, byte) in noise {
            if let Some(place) = list.get_mut(at) {
                *place = byte;
            }
        }
        list.truncate(cut);
        let cdb = if form == 0 { extended_copy_4(&list) } else { extended_copy(&list) };
        let response = lab.run(A, &cdb, &list);
        sense_of(&response);
        lab.crew.finish();
        for unit in &lab.units {
            prop_assert!(unit.tasks().is_empty());
            prop_assert!(unit.operations().len() <= 1);
        }
        prop_assert_eq!(lab.data(B), { lab.fill(B, 2); lab.data(B) }, "a unit that nobody named");
    }

    /// Segments within a unit, whose ends overlap as they like, against the same done with slices.
    #[test]
    fn segments_are_copied_one_after_the_other(
        moves in prop::collection::vec((0..9000_u64, 0..9000_u64, 0..9000_u16), 1..4),
    ) {
        let lab = Lab::new();
        let mut want = lab.data(A);
        let segments: Vec<_> = moves.iter().map(|(from, to, blocks)| {
            let (from, to, blocks) = (*from, *to, *blocks);
            let bytes = |lba: u64| lba as usize * 512;
            want.copy_within(bytes(from)..bytes(from + u64::from(blocks)), bytes(to));
            segment(Blocks { source: 0, destination: 0, counts_destination: false, blocks, from, to })
        }).collect();
        let list = lid1(0, 0x18, &[lab.cscd(A)], &segments);
        lab.good(A, &extended_copy(&list), &list);
        prop_assert!(lab.data(A) == want);
    }
}
