//! Task management seen from a target with commands in flight.

use super::manage;
use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::command::{
    DeviceServer, Outcome, TaskAttribute, TaskManagement, TaskManagementOutcome, TaskTag,
};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{SenseKey, Status};
use crate::testing::{Bench, RamDevice, config, finish, nexus, poll, sense_of};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll::{Pending, Ready};

const LUN: LunAddress = LunAddress([0; 8]);
const TUR: [u8; 6] = [0; 6];
const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];

#[test]
fn abort_task_waits_for_the_backend() {
    let bench = Bench::new();
    bench.device().hold(true);
    let mut command = Bench::command(&READ, &[]);
    command.tag = TaskTag(9);
    let mut task = pin!(bench.target.execute(&bench.nexus, command));
    assert!(poll(task.as_mut()).is_pending());
    assert_eq!(bench.device().inside.load(Ordering::SeqCst), 1);

    let query = TaskManagement::QueryTask { lun: LUN, tag: TaskTag(9) };
    assert_eq!(finish(bench.target.manage(&bench.nexus, query)), TaskManagementOutcome::Succeeded);
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(finish(bench.target.manage(&other, query)), TaskManagementOutcome::Complete);
    let abort = TaskManagement::AbortTask { lun: LUN, tag: TaskTag(9) };
    assert_eq!(
        finish(bench.target.manage(&other, abort)),
        TaskManagementOutcome::TaskDoesNotExist,
        "tags of another nexus are other tags"
    );

    let mut abort = pin!(bench.target.manage(&bench.nexus, abort));
    assert!(poll(abort.as_mut()).is_pending());
    assert!(poll(task.as_mut()).is_pending(), "the read is still with the backend");
    bench.device().hold(false);
    assert!(matches!(poll(task.as_mut()), Ready(Outcome::Aborted)));
    assert_eq!(poll(abort.as_mut()), Ready(TaskManagementOutcome::Complete));
    assert!(bench.unit.tasks().is_empty());
}

#[test]
fn a_dropped_task_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.device().hold(true);
    {
        let mut task = pin!(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
        assert!(poll(task.as_mut()).is_pending());
        assert_eq!(bench.unit.tasks().len(), 1);
    }
    assert!(bench.unit.tasks().is_empty());
}

/// Runs a function while a read of each of two nexuses is in flight; gives what became of the reads.
fn with_reads_in_flight(bench: &Bench, function: TaskManagement) -> [Outcome; 2] {
    let other = nexus(2);
    bench.login(&other);
    bench.device().hold(true);
    let mut own = pin!(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
    let mut others = pin!(bench.target.execute(&other, Bench::command(&READ, &[])));
    assert!(poll(own.as_mut()).is_pending() && poll(others.as_mut()).is_pending());
    let mut managed = pin!(bench.target.manage(&bench.nexus, function));
    assert_eq!(poll(managed.as_mut()), Pending);
    bench.device().hold(false);
    let outcomes = [finish(own), finish(others)];
    assert_eq!(poll(managed.as_mut()), Ready(TaskManagementOutcome::Complete));
    outcomes
}

fn status(outcome: &Outcome) -> Option<Status> {
    match outcome {
        Outcome::Done(response) => Some(response.status),
        Outcome::Aborted => None,
    }
}

#[test]
fn abort_task_set_spares_other_nexuses() {
    let outcomes = with_reads_in_flight(&Bench::new(), TaskManagement::AbortTaskSet { lun: LUN });
    assert_eq!(outcomes.each_ref().map(status), [None, Some(Status::Good)]);
}

#[test]
fn clear_task_set_tells_the_others_by_task_aborted() {
    let bench = Bench::new();
    let outcomes = with_reads_in_flight(&bench, TaskManagement::ClearTaskSet { lun: LUN });
    assert_eq!(outcomes.each_ref().map(status), [None, Some(Status::TaskAborted)]);
    assert_eq!(bench.run_as(&nexus(2), &TUR, &[]).status, Status::Good);
}

#[test]
fn clear_task_set_without_tas_tells_the_others_by_unit_attention() {
    let bench = Bench::new();
    let mut values = bench.unit.modes().get();
    values.tas = false;
    bench.unit.modes().set(values);
    let outcomes = with_reads_in_flight(&bench, TaskManagement::ClearTaskSet { lun: LUN });
    assert_eq!(outcomes.each_ref().map(status), [None, None]);
    assert_eq!(
        sense_of(&bench.run_as(&nexus(2), &TUR, &[])),
        Some((SenseKey::UnitAttention, asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR))
    );
    assert_eq!(bench.run(&TUR, &[]).status, Status::Good);
}

#[test]
fn resets_end_all_and_tell_all() {
    for (function, condition) in [
        (TaskManagement::LogicalUnitReset { lun: LUN }, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED),
        (TaskManagement::TargetWarmReset, asc::SCSI_BUS_RESET_OCCURRED),
        (TaskManagement::TargetColdReset, asc::POWER_ON_OCCURRED),
    ] {
        let bench = Bench::new();
        let mut values = bench.unit.modes().get();
        values.swp = true;
        bench.unit.modes().set(values);
        let outcomes = with_reads_in_flight(&bench, function);
        assert_eq!(outcomes.each_ref().map(status), [None, Some(Status::TaskAborted)], "{function:?}");
        for nexus in [bench.nexus.clone(), nexus(2)] {
            let response = bench.run_as(&nexus, &TUR, &[]);
            assert_eq!(sense_of(&response), Some((SenseKey::UnitAttention, condition)));
            assert_eq!(bench.run_as(&nexus, &TUR, &[]).status, Status::Good);
        }
        assert!(!bench.unit.modes().get().swp);
    }
}

#[test]
fn resets_end_reservations_and_prevention() {
    let mut config = crate::testing::config(512);
    config.removable = true;
    let bench = Bench::with(config, crate::testing::RamDevice::new(1 << 20));
    let other = nexus(2);
    bench.login(&other);
    bench.good(&[0x16, 0, 0, 0, 0, 0], &[]);
    bench.good(&[0x1e, 0, 0, 0, 1, 0], &[]);
    assert_eq!(bench.run_as(&other, &TUR, &[]).status, Status::ReservationConflict);
    let reset = TaskManagement::LogicalUnitReset { lun: LUN };
    assert_eq!(finish(bench.target.manage(&other, reset)), TaskManagementOutcome::Complete);
    for nexus in [&bench.nexus, &other] {
        assert_eq!(bench.run_as(nexus, &TUR, &[]).status, Status::CheckCondition);
    }
    assert_eq!(bench.run_as(&other, &[0x1b, 0, 0, 0, 2, 0], &[]).status, Status::Good);
}

#[test]
fn a_lost_nexus_takes_its_tasks_and_holds_along() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    bench.good(&[0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    bench.device().hold(true);
    let mut task = pin!(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
    assert!(poll(task.as_mut()).is_pending());
    bench.target.nexus_lost(&bench.nexus);
    bench.device().hold(false);
    assert!(matches!(finish(task), Outcome::Aborted));
    assert_eq!(bench.run_as(&other, &TUR, &[]).status, Status::Good);
}

#[test]
fn nexus_reset_is_told_to_that_nexus_alone() {
    let bench = Bench::new();
    let outcomes = with_reads_in_flight(&bench, TaskManagement::ITNexusReset);
    assert_eq!(outcomes.each_ref().map(status), [None, Some(Status::Good)]);
    assert_eq!(
        sense_of(&bench.run(&TUR, &[])),
        Some((SenseKey::UnitAttention, asc::I_T_NEXUS_LOSS_OCCURRED))
    );
    assert_eq!(bench.run_as(&nexus(2), &TUR, &[]).status, Status::Good);
}

#[test]
fn functions_for_all_units_take_hold_of_all_of_them_at_once() {
    for function in
        [TaskManagement::ITNexusReset, TaskManagement::TargetWarmReset, TaskManagement::TargetColdReset]
    {
        let bench = Bench::new();
        let second = Arc::new(LogicalUnit::new(config(512), RamDevice::new(1 << 16)));
        bench.target.add_unit(1, second.clone());
        let mut read = Bench::command(&READ, &[]);
        read.lun = LunAddress::from_number(1);
        // Its two unit attentions.
        finish(bench.target.execute(&bench.nexus, read.clone()));
        finish(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
        bench.device().hold(true);
        second.device().hold(true);
        let mut first = pin!(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
        let mut before = pin!(bench.target.execute(&bench.nexus, read.clone()));
        assert!(poll(first.as_mut()).is_pending() && poll(before.as_mut()).is_pending());
        let mut managed = pin!(bench.target.manage(&bench.nexus, function));
        assert!(poll(managed.as_mut()).is_pending());
        second.device().hold(false);
        assert!(matches!(poll(before.as_mut()), Ready(Outcome::Aborted)), "{function:?}");
        let after = finish(bench.target.execute(&bench.nexus, read));
        assert_eq!(status(&after), Some(Status::CheckCondition), "told, not aborted");
        assert!(poll(managed.as_mut()).is_pending());
        bench.device().hold(false);
        assert!(matches!(finish(first), Outcome::Aborted));
        assert_eq!(finish(managed), TaskManagementOutcome::Complete);
    }
}

#[test]
fn what_is_not_there_or_not_supported() {
    use TaskManagementOutcome::{Complete, LunDoesNotExist, NotSupported, Succeeded};
    let bench = Bench::new();
    let run = |function| finish(manage(&bench.target, bench.nexus.id, function));
    let nowhere = LunAddress::from_number(5);
    assert_eq!(run(TaskManagement::LogicalUnitReset { lun: nowhere }), LunDoesNotExist);
    assert_eq!(run(TaskManagement::AbortTask { lun: nowhere, tag: TaskTag(1) }), LunDoesNotExist);
    assert_eq!(run(TaskManagement::ClearAca { lun: LUN }), NotSupported);
    assert_eq!(run(TaskManagement::QueryTaskSet { lun: LUN }), Complete);
    assert_eq!(run(TaskManagement::QueryAsyncEvent { lun: LUN }), Complete);
    bench.unit.capacity_changed();
    assert_eq!(run(TaskManagement::QueryAsyncEvent { lun: LUN }), Succeeded);
}

#[test]
fn an_aborted_long_command_stops_half_way() {
    let bench = Bench::new();
    let block: Vec<u8> = vec![7; 512];
    let cdb = [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0];
    let mut task = pin!(bench.target.execute(&bench.nexus, Bench::command(&cdb, &block)));
    for _ in 0..4 {
        assert!(poll(task.as_mut()).is_pending());
    }
    let mut abort = pin!(bench.target.manage(&bench.nexus, TaskManagement::AbortTaskSet { lun: LUN }));
    assert!(poll(abort.as_mut()).is_pending());
    assert!(matches!(finish(task), Outcome::Aborted));
    assert_eq!(finish(abort), TaskManagementOutcome::Complete);
    let data = bench.device().data.lock().unwrap();
    assert_eq!(data.first(), Some(&7));
    assert_eq!(data.last(), Some(&0));
}

#[test]
fn a_waiting_command_is_aborted_without_running() {
    let bench = Bench::new();
    bench.device().hold(true);
    let mut first = pin!(bench.target.execute(&bench.nexus, Bench::command(&READ, &[])));
    assert!(poll(first.as_mut()).is_pending());
    let mut ordered = Bench::command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
    ordered.attribute = TaskAttribute::Ordered;
    ordered.tag = TaskTag(2);
    let mut second = pin!(bench.target.execute(&bench.nexus, ordered));
    assert!(poll(second.as_mut()).is_pending());
    let abort = TaskManagement::AbortTask { lun: LUN, tag: TaskTag(2) };
    let mut abort = pin!(bench.target.manage(&bench.nexus, abort));
    assert!(poll(abort.as_mut()).is_pending());
    assert!(matches!(poll(second.as_mut()), Ready(Outcome::Aborted)));
    assert_eq!(poll(abort.as_mut()), Ready(TaskManagementOutcome::Complete));
    bench.device().hold(false);
    assert_eq!(status(&finish(first)), Some(Status::Good));
    assert_eq!(*bench.device().calls.lock().unwrap(), ["read 0 512"]);
}

/// SPC-2 5.5.1, and as it is with persistent reservations: what runs when a reservation is made comes to its end, what has not begun by
/// then and what comes later meets it.
#[test]
fn a_reservation_holds_for_what_has_not_begun() {
    let persistent: [(&[u8], Vec<u8>); 2] = [
        (&[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], [&[0; 8][..], &7u64.to_be_bytes(), &[0; 8]].concat()),
        (&[0x5f, 1, 1, 0, 0, 0, 0, 0, 24, 0], [&7u64.to_be_bytes()[..], &[0; 16]].concat()),
    ];
    let by_reserve: [(&[u8], Vec<u8>); 1] = [(&[0x16, 0, 0, 0, 0, 0], vec![])];
    for reserve in [&by_reserve[..], &persistent[..]] {
        let bench = Bench::new();
        let other = nexus(2);
        bench.login(&other);
        let write = |tag, value: u8, attribute| {
            let mut write = Bench::command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[value; 512]);
            (write.tag, write.attribute) = (TaskTag(tag), attribute);
            write
        };
        bench.device().hold(true);
        let mut runs = pin!(bench.target.execute(&other, write(1, 1, TaskAttribute::Simple)));
        assert!(poll(runs.as_mut()).is_pending());
        for (cdb, parameters) in reserve {
            assert_eq!(bench.run(cdb, parameters).status, Status::Good, "{cdb:02x?}");
        }
        let mut waits = pin!(bench.target.execute(&other, write(2, 2, TaskAttribute::Ordered)));
        assert!(poll(waits.as_mut()).is_pending(), "the first is in its way");
        bench.device().hold(false);
        assert_eq!(status(&finish(runs)), Some(Status::Good));
        assert_eq!(status(&finish(waits)), Some(Status::ReservationConflict));
        let late = finish(bench.target.execute(&other, write(3, 3, TaskAttribute::Simple)));
        assert_eq!(status(&late), Some(Status::ReservationConflict));
        assert_eq!(bench.device().data.lock().unwrap().first(), Some(&1));
    }
}

/// One that waits when the reservation is made has not begun either.
#[test]
fn a_reservation_holds_for_what_waits_already() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    bench.device().hold(true);
    let mut runs = pin!(bench.target.execute(&other, Bench::command(&READ, &[])));
    assert!(poll(runs.as_mut()).is_pending());
    let mut ordered = Bench::command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
    (ordered.tag, ordered.attribute) = (TaskTag(2), TaskAttribute::Ordered);
    let mut waits = pin!(bench.target.execute(&other, ordered));
    assert!(poll(waits.as_mut()).is_pending());
    let mut reserve = Bench::command(&[0x16, 0, 0, 0, 0, 0], &[]);
    reserve.attribute = TaskAttribute::HeadOfQueue;
    // Head of queue: before all that has not begun, without waiting for what runs.
    assert_eq!(status(&finish(bench.target.execute(&bench.nexus, reserve))), Some(Status::Good));
    bench.device().hold(false);
    assert_eq!(status(&finish(runs)), Some(Status::Good));
    assert_eq!(status(&finish(waits)), Some(Status::ReservationConflict));
}
