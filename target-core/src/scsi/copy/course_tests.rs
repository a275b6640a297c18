//! Copies under way: aborted, in the background, in each other's way.

use super::lab::*;
use crate::lun::alua::AccessState;
use crate::scsi::asc;
use crate::scsi::command::{
    Command, DeviceServer, Outcome, TaskAttribute, TaskManagement, TaskManagementOutcome, TaskTag,
};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{SenseKey, Status};
use crate::testing::{finish, poll};
use proptest::prelude::*;
use std::pin::{Pin, pin};
use std::task::Poll;

#[test]
fn an_abort_waits_for_what_is_under_way_and_nothing_follows() {
    let lab = Lab::new();
    let list = a_to_b(&lab);
    let mut running = pin!(lab.start(A, &extended_copy(&list), &list));
    lab.units[B].device().hold(true);
    assert!(step(&mut running).is_pending());
    assert_eq!(lab.units[B].tasks().len(), 4, "pieces in flight");
    let function = TaskManagement::AbortTask { lun: LunAddress::from_number(0), tag: TaskTag(7) };
    let mut abort = pin!(lab.targets[0].manage(&lab.own[0], function));
    assert!(poll(abort.as_mut()).is_pending());
    assert!(step(&mut running).is_pending());
    assert!(poll(abort.as_mut()).is_pending(), "something is still being written");
    lab.units[B].device().hold(false);
    assert!(matches!(step(&mut running), Poll::Ready(Outcome::Aborted)));
    assert_eq!(poll(abort.as_mut()), Poll::Ready(TaskManagementOutcome::Complete));
    let calls = lab.units[B].device().calls.lock().unwrap().len();
    lab.crew.finish();
    assert_eq!(lab.units[B].device().calls.lock().unwrap().len(), calls);
    assert!(lab.data(B) != lab.data(A));
}

#[test]
fn a_reset_of_either_unit_ends_the_copy() {
    for (target, number, key) in [(0, 1, Some(SenseKey::CopyAborted)), (0, 0, None)] {
        let lab = Lab::new();
        let list = lid1(8, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)]);
        let mut running = pin!(lab.start(A, &extended_copy(&list), &list));
        lab.units[B].device().hold(true);
        assert!(step(&mut running).is_pending());
        let function = TaskManagement::LogicalUnitReset { lun: LunAddress::from_number(number) };
        let mut reset = pin!(lab.targets[target].manage(&lab.own[target], function));
        assert!(poll(reset.as_mut()).is_pending());
        lab.units[B].device().hold(false);
        let outcome = step(&mut running);
        match key {
            Some(key) => assert_eq!(ended(outcome), Some((key, asc::THIRD_PARTY_DEVICE_FAILURE))),
            None => assert!(matches!(outcome, Poll::Ready(Outcome::Aborted))),
        }
        assert_eq!(poll(reset.as_mut()), Poll::Ready(TaskManagementOutcome::Complete));
        assert_eq!(lab.units[A].operations().is_empty(), key.is_none(), "a reset forgets");
    }
}

#[test]
fn no_function_finds_a_step_by_its_tag() {
    let lab = Lab::new();
    let list = a_to_b(&lab);
    let mut running = pin!(lab.start(A, &extended_copy(&list), &list));
    lab.units[B].device().hold(true);
    assert!(step(&mut running).is_pending());
    let lun = LunAddress::from_number(1);
    let query = TaskManagement::QueryTask { lun, tag: TaskTag(7) };
    assert_eq!(finish(lab.targets[0].manage(&lab.own[0], query)), TaskManagementOutcome::Complete);
    let abort = TaskManagement::AbortTask { lun, tag: TaskTag(7) };
    assert_eq!(finish(lab.targets[0].manage(&lab.own[0], abort)), TaskManagementOutcome::TaskDoesNotExist);
    lab.units[B].device().hold(false);
    let Poll::Ready(Outcome::Done(response)) = step(&mut running) else { panic!("it has not ended") };
    assert_eq!(response.status, Status::Good);
}

#[test]
fn in_the_background_until_it_is_aborted() {
    let lab = Lab::new();
    let list = lid4(0x1234_5678, true, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)]);
    lab.good(A, &extended_copy_4(&list), &list);
    let status = |lab: &Lab| lab.good(A, &receive_4(0x05, 0x1234_5678), &[]);
    assert_eq!(status(&lab)[4..6], [0x01, 0x12]);
    lab.units[B].device().hold(true);
    for _ in 0..20 {
        lab.crew.step();
    }
    let told = status(&lab);
    assert_eq!((told[5], told[25]), (0x12, 1));
    assert_eq!(told[8..12], 100_u32.to_be_bytes());
    // The name is in use, for the one as for the other form of the command.
    let refused = SenseKey::IllegalRequest;
    lab.fails(A, &extended_copy_4(&list), &list, refused, asc::OPERATION_IN_PROGRESS);
    let mut abort = pin!(lab.start(A, &abort(0x1234_5678), &[]));
    assert!(step(&mut abort).is_pending());
    lab.crew.step();
    assert!(step(&mut abort).is_pending(), "something is still being written");
    lab.units[B].device().hold(false);
    lab.crew.finish();
    assert!(matches!(poll(abort.as_mut()), Poll::Ready(Outcome::Done(_))));
    let told = status(&lab);
    assert_eq!((told[5], told[12]), (0x60, 0x40));
    let again = super::lab::abort(0x1234_5678);
    lab.fails(A, &again, &[], refused, asc::INVALID_FIELD_IN_CDB);
    // Again, to its end.
    lab.good(A, &extended_copy_4(&list), &list);
    lab.crew.finish();
    assert_eq!(status(&lab)[5], 0x01);
    assert!(lab.data(B)[..20_000 * 512] == lab.data(A)[..20_000 * 512]);
    assert!(lab.units.iter().all(|unit| unit.tasks().is_empty()));
}

#[test]
fn a_copy_that_waits_is_aborted_with_its_own_sense() {
    let lab = Lab::new();
    let list = lid1(6, 0, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)]);
    let mut running = pin!(lab.start(A, &extended_copy(&list), &list));
    lab.units[B].device().hold(true);
    assert!(step(&mut running).is_pending());
    let mut abort = pin!(lab.start(A, &abort(6), &[]));
    assert!(step(&mut abort).is_pending());
    lab.units[B].device().hold(false);
    let cleared = (SenseKey::CopyAborted, asc::COMMANDS_CLEARED_BY_DEVICE_SERVER);
    assert_eq!(ended(step(&mut running)), Some(cleared));
    assert!(step(&mut abort).is_ready());
}

#[test]
fn a_unit_that_is_closed_ends_copies_in_the_background() {
    for unit in [A, B] {
        let lab = Lab::new();
        let list = lid4(1, true, &[lab.cscd(A), lab.cscd(B)], &[from_to(0, 0, 20_000)]);
        lab.good(A, &extended_copy_4(&list), &list);
        lab.units[B].device().hold(true);
        (0..20).for_each(|_| _ = lab.crew.step());
        assert!(!lab.units[B].tasks().is_empty(), "something is being written");
        let removed = lab.targets[0].remove_unit(place(unit).1).unwrap();
        let mut settled = pin!(removed.settled());
        assert!(poll(settled.as_mut()).is_pending());
        lab.units[B].device().hold(false);
        lab.crew.finish();
        assert!(poll(settled.as_mut()).is_ready());
        assert!(lab.data(B)[..20_000 * 512] != lab.data(A)[..20_000 * 512]);
    }
}

#[test]
fn access_states_are_asked_for_each_piece() {
    let lab = Lab::new();
    let list = a_to_b(&lab);
    let mut running = pin!(lab.start(A, &extended_copy(&list), &list));
    lab.units[B].device().hold(true);
    assert!(step(&mut running).is_pending());
    lab.units[B].set_access_state(AccessState::Standby);
    lab.units[B].device().hold(false);
    let failure = (SenseKey::CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE);
    assert_eq!(ended(step(&mut running)), Some(failure));
}

#[test]
fn an_ordered_copy_does_not_wait_for_those_that_wait_for_it() {
    let lab = Lab::new();
    let list = lid1(0, 0x18, &[lab.cscd(A), lab.cscd(A)], &[from_to(0, 10_000, 4)]);
    lab.units[A].device().hold(true);
    let ordered =
        Command { attribute: TaskAttribute::Ordered, ..Lab::command(A, &extended_copy(&list), &list) };
    let mut copy = pin!(lab.targets[0].execute(&lab.own[0], ordered));
    assert!(step(&mut copy).is_pending());
    // WRITE SAME over everything that is copied: exclusive, and behind an ordered task.
    let mut same = pin!(lab.start(A, &[0x41, 0, 0, 0, 0, 0, 0, 0x40, 0, 0], &[0x11; 512]));
    assert!(step(&mut same).is_pending());
    lab.units[A].device().hold(false);
    assert_eq!(ended(step(&mut copy)), None);
    assert_eq!(ended(step(&mut same)), None);
}

/// What goes on at a time.
#[derive(Clone, Debug)]
enum Job {
    Copy { from: usize, to: usize, at: u64, lands: u64, blocks: u16, ordered: bool },
    WriteSame { unit: usize, at: u32, blocks: u16 },
    Compare { unit: usize, at: u64 },
}

fn job() -> impl Strategy<Value = Job> {
    let unit = || prop_oneof![Just(A), Just(B), Just(D)];
    let lba = || 0..4000_u64;
    prop_oneof![
        4 => (unit(), unit(), lba(), lba(), 1..6000_u16, any::<bool>()).prop_map(
            |(from, to, at, lands, blocks, ordered)| Job::Copy { from, to, at, lands, blocks, ordered },
        ),
        2 => (unit(), 0..6000_u32, 1..3000_u16).prop_map(|(unit, at, blocks)| Job::WriteSame { unit, at, blocks }),
        1 => (unit(), lba()).prop_map(|(unit, at)| Job::Compare { unit, at }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Copies in all directions, with commands between them that want blocks for themselves, in any order of polls: all come to an end.
    #[test]
    fn nobody_waits_for_ever(jobs in prop::collection::vec(job(), 2..12), order in prop::collection::vec(0..12_usize, 400)) {
        let lab = Lab::new();
        let mut running: Vec<Pin<Box<dyn Future<Output = Outcome> + '_>>> = jobs.iter().map(|job| match *job {
            Job::Copy { from, to, at, lands, blocks, ordered } => {
                let list = lid1(0, 0x18, &[lab.cscd(from), lab.cscd(to)], &[from_to(at, lands, blocks)]);
                let attribute = if ordered { TaskAttribute::Ordered } else { TaskAttribute::Simple };
                let command = Command { attribute, ..Lab::command(from, &extended_copy(&list), &list) };
                let target = place(from).0;
                Box::pin(lab.targets[target].execute(&lab.own[target], command)) as Pin<Box<dyn Future<Output = _>>>
            }
            Job::WriteSame { unit, at, blocks } => {
                let (at, blocks) = (at.to_be_bytes(), blocks.to_be_bytes());
                let cdb = [0x41, 0, at[0], at[1], at[2], at[3], 0, blocks[0], blocks[1], 0];
                Box::pin(lab.start(unit, &cdb, &[0; 512]))
            }
            Job::Compare { unit, at } => {
                let mut cdb = [0; 16];
                cdb[0] = 0x89;
                cdb[2..10].copy_from_slice(&at.to_be_bytes());
                cdb[13] = 1;
                Box::pin(lab.start(unit, &cdb, &[0; 1024]))
            }
        }).collect();
        for at in order {
            if !running.is_empty() {
                let at = at % running.len();
                if poll(running[at].as_mut()).is_ready() {
                    drop(running.remove(at));
                }
            }
        }
        let mut rounds = 0;
        while !running.is_empty() {
            running.retain_mut(|future| poll(future.as_mut()).is_pending());
            rounds += 1;
            prop_assert!(rounds < 10_000, "{} wait for each other", running.len());
        }
        prop_assert!(lab.units.iter().all(|unit| unit.tasks().is_empty() && unit.operations().is_empty()));
    }
}
