//! Copies that can't be finished, or not even begun: full and failing devices, units that change under them, limits.

use super::lab::*;
use super::limits;
use crate::device::{BlockDevice, DeviceError};
use crate::lun::copy::operations::CONCURRENT;
use crate::lun::identity::Identity;
use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::command::{DeviceServer, Outcome};
use crate::scsi::sense::{Asc, SenseKey, SenseSpecific, Status};
use crate::testing::{RamDevice, config, finish, poll, sense_of};
use SenseKey::{CopyAborted, DataProtect, IllegalRequest};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

const FAILURE: (SenseKey, Asc) = (CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE);

/// Whole blocks that are the same at the beginning of both units.
fn alike(lab: &Lab, a: usize, b: usize) -> u64 {
    let (a, b) = (lab.data(a), lab.data(b));
    a.chunks(512).zip(b.chunks(512)).take_while(|(a, b)| a == b).count() as u64
}

/// Polls until the device has begun so many calls more.
fn until_calls(running: &mut Pin<&mut impl Future<Output = Outcome>>, device: &RamDevice, calls: usize) {
    let begun = || device.calls.lock().unwrap().len();
    let wanted = begun() + calls;
    let mut tries = 0..1000;
    while begun() < wanted && tries.next().is_some() {
        assert!(poll(running.as_mut()).is_pending(), "it has ended too early");
    }
}

#[test]
fn a_device_that_fails_midway() {
    // On the side of the destination, and of the source: which descriptor is told, and how many blocks are missing.
    for (unit, error, byte) in [(B, DeviceError::NoSpace, 48), (A, DeviceError::Medium, 16)] {
        let lab = Lab::new();
        let list = lid1(4, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)]);
        let mut running = pin!(lab.start(C, &extended_copy(&list), &list));
        let device = lab.units[unit].device();
        until_calls(&mut running, device, 6);
        *device.error.lock().unwrap() = Some(error);
        let Poll::Ready(Outcome::Done(response)) = step(&mut running) else { panic!("it has not ended") };
        assert_eq!(sense_of(&response), Some(FAILURE));
        let sense = response.sense_value.unwrap();
        let pointer = SenseSpecific::Field { in_cdb: false, byte, bit: None };
        assert_eq!((sense.command_specific, sense.specific), (Some(0), Some(pointer)));
        let missing = sense.information.unwrap();
        assert!((1..20_000).contains(&missing) && alike(&lab, A, B) >= 20_000 - missing, "{missing}");
        let status = lab.good(C, &receive_4(0x05, 4), &[]);
        assert_eq!((status[5], &status[16..24]), (0x02, &((20_000 - missing) * 512).to_be_bytes()[..]));
        assert!(lab.units.iter().all(|unit| unit.tasks().is_empty()));
    }
}

#[test]
fn a_token_whose_source_or_destination_fails() {
    let lab = Lab::new();
    let list = populate(0, 300, 0, &[(0, 20_000)]);
    lab.good(A, &token_command(0x10, 1, &list), &list);
    let token = lab.good(A, &receive_4(0x07, 1), &[])[38..].to_vec();
    let list = write_using(0, 0, &token, &[(0, 20_000)]);
    let write = || lab.run(B, &token_command(0x11, 2, &list), &list);
    // What the unit itself can't take is told as for any other write; what the other one can't give, as the other's failure.
    for (unit, error, want) in [
        (B, DeviceError::NoSpace, (DataProtect, asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT)),
        (A, DeviceError::Medium, FAILURE),
    ] {
        *lab.units[unit].device().error.lock().unwrap() = Some(error);
        assert_eq!(sense_of(&write()), Some(want));
        *lab.units[unit].device().error.lock().unwrap() = None;
        assert_eq!(lab.good(B, &receive_4(0x07, 2), &[])[5], 0x02);
    }
    assert_eq!(write().status, Status::Good, "neither has cost the token");
    assert_eq!(alike(&lab, A, B), 20_000);
}

#[test]
fn a_unit_that_is_cut_short_midway() {
    for unit in [A, B] {
        let lab = Lab::new();
        let list = a_to_b(&lab);
        let mut running = pin!(lab.start(C, &extended_copy(&list), &list));
        let device = lab.units[B].device();
        until_calls(&mut running, device, 2);
        finish(lab.units[unit].device().resize(8 << 20)).unwrap();
        lab.targets[0].capacity_changed(place(unit).1);
        assert_eq!(ended(step(&mut running)), Some(FAILURE));
        assert_eq!(lab.units[unit].capacity(), 16_384);
    }
}

#[test]
fn what_was_cut_off_and_comes_back_is_not_what_the_token_stood_for() {
    let lab = Lab::new();
    let token_of = |of: &[(u64, u32)]| {
        let list = populate(0, 0, 0, of);
        lab.good(A, &token_command(0x10, 1, &list), &list);
        lab.good(A, &receive_4(0x07, 1), &[])[38..].to_vec()
    };
    let cut = token_of(&[(0, 8), (20_000, 8)]);
    let kept = token_of(&[(0, 8), (16_376, 8)]);
    for size in [8 << 20, SIZE as u64] {
        finish(lab.units[A].device().resize(size)).unwrap();
        lab.targets[0].capacity_changed(0);
    }
    let write = |token: &[u8]| {
        let list = write_using(0, 0, token, &[(0, 16)]);
        sense_of(&lab.run(B, &token_command(0x11, 2, &list), &list))
    };
    assert_eq!(write(&cut), Some((IllegalRequest, asc::TOKEN_REVOKED)));
    assert_eq!(write(&kept), None);
}

#[test]
fn a_token_is_not_made_of_what_was_cut_off_meanwhile() {
    let lab = Lab::new();
    let list = populate(0x01, 0, 0, &[(0, 8), (20_000, 8)]);
    lab.good(A, &token_command(0x10, 1, &list), &list);
    finish(lab.units[A].device().resize(8 << 20)).unwrap();
    lab.targets[0].capacity_changed(0);
    lab.crew.finish();
    lab.settle();
    assert_eq!(lab.good(A, &receive_4(0x07, 1), &[])[5], 0x02);
    assert!(lab.targets[0].copies().tokens().is_empty() && !lab.units[A].watches().any());
}

#[test]
fn a_copy_in_the_background_ends_with_its_nexus() {
    for lost in [0, 1] {
        let lab = Lab::new();
        let list = lid4(1, true, &[lab.cscd(A), lab.cscd(D)], &[from_to(0, 0, 20_000)]);
        lab.good(A, &extended_copy_4(&list), &list);
        (0..3).for_each(|_| _ = lab.crew.step());
        // The one that sent the command, or the one through which it writes.
        lab.targets[lost].nexus_lost(&lab.own[lost]);
        lab.crew.finish();
        assert!(alike(&lab, A, D) < 20_000);
        assert!(lab.units.iter().all(|unit| unit.tasks().is_empty()));
        assert_eq!(lab.units[A].operations().is_empty(), lost == 0);
    }
}

#[test]
fn as_many_descriptors_as_are_told() {
    let lab = Lab::new();
    // The last descriptor of each kind counts too.
    let mut cscds = vec![lab.cscd(A); limits::CSCDS.into()];
    *cscds.last_mut().unwrap() = lab.cscd(B);
    let one = |at: u16| {
        segment(Blocks {
            source: 0,
            destination: limits::CSCDS - 1,
            counts_destination: false,
            blocks: 2,
            from: u64::from(at) * 2,
            to: u64::from(at) * 2,
        })
    };
    let segments: Vec<_> = (0..limits::SEGMENTS).map(one).collect();
    let list = lid1(2, 0, &cscds, &segments);
    assert_eq!(list.len() as u32, 16 + limits::DESCRIPTOR_LIST);
    lab.good(A, &extended_copy(&list), &list);
    assert_eq!(alike(&lab, A, B), 512);
    assert_eq!(lab.good(A, &receive_1(0x00, 2), &[])[5..7], limits::SEGMENTS.to_be_bytes());
    // A segment of nothing, even at the very end, and as much as a segment can say.
    let end = (SIZE / 512) as u64;
    let list = lid1(2, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(end, end, 0)]);
    lab.good(A, &extended_copy(&list), &list);
    let list = lid1(2, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, u16::MAX)]);
    lab.fails(A, &extended_copy(&list), &list, CopyAborted, asc::NO_ADDITIONAL_SENSE);
    let list = lid1(2, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(end - 1, end - 1, 1)]);
    lab.good(A, &extended_copy(&list), &list);
    assert!(lab.data(B).ends_with(&lab.data(A)[SIZE - 512..]));
}

#[test]
fn as_much_for_one_token_as_is_told() {
    let lab = Lab::new();
    let mut config = config(512);
    config.identity = Identity::new("large");
    let unit = Arc::new(LogicalUnit::new(config, RamDevice::new(300 << 20)));
    lab.targets[0].add_unit(9, unit);
    lab.settle();
    let most = (limits::TOKEN_BYTES / 512) as u32;
    let populate = |of: &[(u64, u32)]| {
        let list = populate(0, 0, 0, of);
        let mut command = Lab::command(A, &token_command(0x10, 1, &list), &list);
        command.lun = crate::scsi::lun_address::LunAddress::from_number(9);
        match finish(lab.targets[0].execute(&lab.own[0], command)) {
            Outcome::Done(response) => sense_of(&response),
            Outcome::Aborted => panic!("aborted"),
        }
    };
    let mut tries = 0..5;
    while tries.next().is_some() && populate(&[(0, 1)]).is_some() {}
    assert_eq!(populate(&[(0, most)]), None);
    let refused = Some((IllegalRequest, asc::INVALID_FIELD_IN_PARAMETER_LIST));
    assert_eq!(populate(&[(0, most + 1)]), refused);
    assert_eq!(populate(&[(0, most), (u64::from(most), 1)]), refused);
}

#[test]
fn names_are_each_nexus_own_and_copies_are_counted() {
    let lab = Lab::new();
    lab.units[B].device().hold(true);
    let run = |list_id: u8| {
        let list = lid1(list_id, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 8)]);
        Box::pin(lab.start(A, &extended_copy(&list), &list))
    };
    let mut running: Vec<_> = (0..CONCURRENT as u8).map(run).collect();
    assert!(running.iter_mut().all(|copy| step(&mut copy.as_mut()).is_pending()));
    assert_eq!(ended(step(&mut run(3).as_mut())), Some((IllegalRequest, asc::OPERATION_IN_PROGRESS)));
    // By the other kind of command too; and one name more is too many.
    let list = populate(0, 0, 0, &[(0, 8)]);
    let in_use = lab.run(A, &token_command(0x10, 3, &list), &list);
    assert_eq!(sense_of(&in_use), Some((IllegalRequest, asc::OPERATION_IN_PROGRESS)));
    let one_more = run(CONCURRENT as u8);
    assert_eq!(ended(step(&mut pin!(one_more))), Some((IllegalRequest, asc::INSUFFICIENT_RESOURCES)));
    // Another initiator has names of its own.
    let other = nexus(20, 2, 0, &[]);
    lab.targets[0].nexus_established(&other);
    let list = populate(0, 0, 0, &[(0, 8)]);
    while lab.run_as(&other, A, &token_command(0x10, 3, &list), &list).status != Status::Good {}
    lab.units[B].device().hold(false);
    for copy in &mut running {
        assert_eq!(ended(step(&mut copy.as_mut())), None);
    }
    let again = run(3);
    assert_eq!(ended(step(&mut pin!(again))), None, "the name is free again");
}
