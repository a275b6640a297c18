//! Task management functions.

use super::bench::{Initiator, answer, config, good, is_good, pattern};
use crate::pdu::fields::Serial;
use crate::pdu::initiator::{ScsiCommand, TaskManagementRequest};
use crate::pdu::target::TargetPdu;
use crate::scsi::command::{Outcome, TaskManagement, TaskManagementOutcome, TaskTag};
use crate::scsi::lun_address::LunAddress;
use crate::session::event::{CloseReason, Leg};

const UNIT: LunAddress = LunAddress([0; 8]);
const OTHER_UNIT: LunAddress = LunAddress([0, 1, 0, 0, 0, 0, 0, 0]);

/// All places in the window are free but these.
fn in_use(initiator: &mut Initiator) -> u32 {
    let ping = initiator.nop(b"");
    initiator.send(ping);
    initiator.only();
    initiator.cmd_sn.wrapping_add(15).wrapping_sub(initiator.numbering.max_cmd_sn.0)
}

#[test]
fn abort_of_a_command_that_runs() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    let (command, _) = initiator.execute();
    let abort = initiator.abort(&read);
    initiator.send(abort);
    let (id, function) = initiator.manage();
    assert_eq!(function, TaskManagement::AbortTask { lun: UNIT, tag: TaskTag(read.initiator_task_tag) });
    initiator.silence();
    initiator.connection.complete(initiator.now, command, Outcome::Aborted);
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(initiator.management_response(), 0);
    assert_eq!(in_use(&mut initiator), 0);
    // Said once.
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    initiator.silence();
}

#[test]
fn after_the_response_nothing_more_is_heard_of_an_aborted_command() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    let (command, _) = initiator.execute();
    let abort = initiator.abort(&read);
    initiator.send(abort);
    let (id, _) = initiator.manage();
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(initiator.management_response(), 0);
    // The tag is free although the driver has yet to tell the end.
    let again = ScsiCommand { initiator_task_tag: read.initiator_task_tag, ..initiator.read(512) };
    initiator.send(again);
    let (second, _) = initiator.execute();
    initiator.complete(command, good(pattern(512), 0));
    initiator.silence();
    initiator.complete(second, good(pattern(512), 0));
    assert!(matches!(initiator.only(), TargetPdu::DataIn(_)));
    assert_eq!(in_use(&mut initiator), 0);
}

#[test]
fn abort_that_comes_too_late() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    let (command, _) = initiator.execute();
    let abort = initiator.abort(&read);
    initiator.send(abort);
    let (id, _) = initiator.manage();
    initiator.complete(command, good(pattern(512), 0));
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::TaskDoesNotExist);
    let heard = initiator.heard();
    assert!(matches!(&heard[..], [TargetPdu::DataIn(_), TargetPdu::TaskManagement(it)] if it.response == 1));
    // And one that comes later still, with a RefCmdSN that is past.
    let abort = initiator.abort(&read);
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 1);
}

#[test]
fn abort_of_a_command_that_waits_for_data() {
    let mut initiator = Initiator::new();
    let write = initiator.write(4096);
    initiator.send(write.clone());
    let r2t = initiator.r2t();
    // Of another logical unit there is no such task.
    let elsewhere = TaskManagementRequest { lun: OTHER_UNIT, ..initiator.abort(&write) };
    initiator.send(elsewhere);
    assert_eq!(initiator.management_response(), 1);
    let abort = initiator.abort(&write);
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 0);
    initiator.send(answer(&r2t, &pattern(4096)));
    initiator.silence();
    assert_eq!(in_use(&mut initiator), 0);
}

#[test]
fn abort_of_a_command_that_has_yet_to_come() {
    let mut initiator = Initiator::new();
    let (lost, next) = (initiator.read(512), initiator.read(512));
    initiator.send(next.clone());
    initiator.silence();
    let abort = initiator.abort(&lost);
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 0);
    // The gap is filled, and the lost one too late.
    assert_eq!(initiator.execute().1.tag.0, next.initiator_task_tag);
    initiator.send(lost);
    initiator.silence();
    assert_eq!(in_use(&mut initiator), 1);
}

#[test]
fn abort_within_a_gap() {
    let mut initiator = Initiator::new();
    let commands: Vec<_> = (0..3).map(|_| initiator.read(512)).collect();
    // The second is lost, the third held back; both are aborted before the first comes.
    initiator.send(commands[2].clone());
    for command in &commands[1..] {
        let abort = initiator.abort(command);
        initiator.send(abort);
        assert_eq!(initiator.management_response(), 0);
    }
    initiator.silence();
    initiator.send(commands[0].clone());
    let (id, command) = initiator.execute();
    assert_eq!(command.tag.0, commands[0].initiator_task_tag);
    initiator.silence();
    initiator.complete(id, good(pattern(512), 0));
    initiator.only();
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    assert_eq!(in_use(&mut initiator), 0);
}

#[test]
fn abort_of_what_never_was() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    // Not before the request itself.
    let abort = TaskManagementRequest { ref_cmd_sn: Serial(initiator.cmd_sn), ..initiator.abort(&read) };
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 1);
    let far =
        TaskManagementRequest { ref_cmd_sn: Serial(initiator.cmd_sn).plus(100), ..initiator.abort(&read) };
    initiator.send(far);
    assert_eq!(initiator.management_response(), 1);
    // A function is no task.
    let mut initiator = Initiator::new();
    let reset = initiator.management(5);
    initiator.send(reset.clone());
    initiator.manage();
    let abort = TaskManagementRequest {
        referenced_task_tag: reset.initiator_task_tag,
        ref_cmd_sn: Serial(initiator.cmd_sn),
        ..initiator.management(1)
    };
    initiator.send(abort);
    assert_eq!(initiator.management_response(), 1);
}

#[test]
fn functions_end_what_waits_for_data() {
    let here = TaskManagement::AbortTaskSet { lun: UNIT };
    // Function, what the driver is asked, and whether it concerns the other logical unit.
    let table = [
        (2, here, false),
        (4, TaskManagement::ClearTaskSet { lun: UNIT }, false),
        (5, TaskManagement::LogicalUnitReset { lun: UNIT }, false),
        (6, TaskManagement::TargetWarmReset, true),
        (7, TaskManagement::TargetColdReset, true),
        (11, TaskManagement::ITNexusReset, true),
    ];
    for (code, expected, everywhere) in table {
        let mut initiator = Initiator::with(config(), "iSCSIProtocolLevel=2");
        let runs = initiator.read(512);
        initiator.send(runs);
        let (running, _) = initiator.execute();
        let waits = initiator.write(4096);
        let elsewhere = ScsiCommand { lun: OTHER_UNIT, ..initiator.write(4096) };
        initiator.send(waits);
        let first = initiator.r2t();
        initiator.send(elsewhere);
        let second = initiator.r2t();
        let request = initiator.management(code);
        initiator.send(request);
        let (id, function) = initiator.manage();
        assert_eq!(function, expected);
        initiator.send(answer(&first, &pattern(4096)));
        initiator.silence();
        initiator.send(answer(&second, &pattern(4096)));
        match everywhere {
            true => initiator.silence(),
            false => assert_eq!(initiator.execute().1.lun, OTHER_UNIT),
        }
        initiator.connection.complete(initiator.now, running, Outcome::Aborted);
        initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
        assert_eq!(initiator.management_response(), 0);
        if code == 7 {
            assert_eq!(initiator.closed(), CloseReason::TargetReset);
        } else {
            assert_eq!(in_use(&mut initiator), u32::from(!everywhere));
        }
    }
}

#[test]
fn outcomes() {
    let table = [
        (TaskManagementOutcome::Complete, 0),
        (TaskManagementOutcome::TaskDoesNotExist, 1),
        (TaskManagementOutcome::LunDoesNotExist, 2),
        (TaskManagementOutcome::NotSupported, 5),
        (TaskManagementOutcome::Succeeded, 7),
        (TaskManagementOutcome::Rejected, 255),
    ];
    for (outcome, response) in table {
        let mut initiator = Initiator::new();
        let request = TaskManagementRequest {
            immediate: false,
            cmd_sn: initiator.take_cmd_sn(),
            ..initiator.management(3)
        };
        initiator.send(request);
        let (id, function) = initiator.manage();
        assert_eq!(function, TaskManagement::ClearAca { lun: UNIT });
        initiator.connection.managed(initiator.now, id, outcome);
        assert_eq!(initiator.management_response(), response);
        assert_eq!(in_use(&mut initiator), 0);
    }
}

#[test]
fn a_failed_cold_reset_closes_nothing() {
    let mut initiator = Initiator::new();
    let request = initiator.management(7);
    initiator.send(request);
    let (id, _) = initiator.manage();
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::NotSupported);
    assert_eq!(initiator.management_response(), 5);
    assert!(!initiator.connection.is_closing(Leg::FIRST));
}

#[test]
fn what_is_not_supported() {
    let mut initiator = Initiator::new();
    for (function, response) in [(8, 4), (0, 5), (9, 5), (10, 5), (11, 5), (12, 5), (13, 5), (127, 5)] {
        let request = initiator.management(function);
        initiator.send(request);
        assert_eq!(initiator.management_response(), response, "function {function}");
    }
    let mut newer = Initiator::with(config(), "iSCSIProtocolLevel=2");
    let request = newer.management(12);
    newer.send(request);
    assert_eq!(newer.manage().1, TaskManagement::QueryAsyncEvent { lun: UNIT });
}

#[test]
fn queries() {
    let mut initiator = Initiator::with(config(), "iSCSIProtocolLevel=2");
    let write = initiator.write(4096);
    let query = |initiator: &mut Initiator, function, tag| {
        let request = TaskManagementRequest { referenced_task_tag: tag, ..initiator.management(function) };
        initiator.send(request);
    };
    query(&mut initiator, 9, write.initiator_task_tag);
    assert_eq!(initiator.management_response(), 0);
    initiator.send(write.clone());
    let r2t = initiator.r2t();
    for function in [9, 10] {
        query(&mut initiator, function, write.initiator_task_tag);
        assert_eq!(initiator.management_response(), 7);
    }
    initiator.send(answer(&r2t, &pattern(4096)));
    let (command, _) = initiator.execute();
    query(&mut initiator, 9, write.initiator_task_tag);
    let tag = TaskTag(write.initiator_task_tag);
    let (id, function) = initiator.manage();
    assert_eq!(function, TaskManagement::QueryTask { lun: UNIT, tag });
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Succeeded);
    assert_eq!(initiator.management_response(), 7);
    query(&mut initiator, 10, 0);
    assert_eq!(initiator.manage().1, TaskManagement::QueryTaskSet { lun: UNIT });
    // A query ends nothing.
    initiator.complete(command, good(vec![], 4096));
    assert!(is_good(&initiator.response()));
}

#[test]
fn an_immediate_reset_waits_for_the_commands_before_it() {
    let mut initiator = Initiator::new();
    let (first, second) = (initiator.write(4096), initiator.read(512));
    let reset = initiator.management(5);
    let after = initiator.write(4096);
    initiator.send(second.clone());
    initiator.send(reset);
    initiator.send(after.clone());
    initiator.silence();
    initiator.send(first);
    // Asked for before the reset had its turn.
    assert_eq!(initiator.heard().len(), 2, "R2Ts");
    let (command, _) = initiator.execute();
    let (id, function) = initiator.manage();
    assert_eq!(function, TaskManagement::LogicalUnitReset { lun: UNIT });
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(initiator.management_response(), 0);
    // Both are gone, and the command after the reset is not.
    initiator.complete(command, good(pattern(512), 0));
    initiator.silence();
    assert_eq!(in_use(&mut initiator), 1);
}

#[test]
fn a_function_with_a_tag_in_use_is_refused() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read.clone());
    initiator.execute();
    let request =
        TaskManagementRequest { initiator_task_tag: read.initiator_task_tag, ..initiator.management(5) };
    initiator.send(request);
    assert_eq!(initiator.rejected(), 0x07);
}

/// Both names of a unit, by peripheral and by flat addressing, are those of the same task set (SAM-5 4.7.7).
#[test]
fn a_unit_has_one_task_set_under_all_its_names() {
    const FLAT: LunAddress = LunAddress([0x40, 0, 0, 0, 0, 0, 0, 0]);
    let mut initiator = Initiator::with(config(), "iSCSIProtocolLevel=2");
    let write = ScsiCommand { lun: FLAT, ..initiator.write(4096) };
    let read = ScsiCommand { lun: FLAT, ..initiator.read(512) };
    initiator.send(write.clone());
    let r2t = initiator.r2t();
    let query = TaskManagementRequest { lun: UNIT, ..initiator.management(10) };
    initiator.send(query);
    assert_eq!(initiator.management_response(), 7, "it is there");
    initiator.send(read.clone());
    let (running, _) = initiator.execute();
    let abort = TaskManagementRequest { lun: UNIT, ..initiator.abort(&read) };
    initiator.send(abort);
    let (id, _) = initiator.manage();
    initiator.connection.complete(initiator.now, running, Outcome::Aborted);
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(initiator.management_response(), 0);
    let reset = TaskManagementRequest { lun: UNIT, ..initiator.management(5) };
    initiator.send(reset);
    let (id, _) = initiator.manage();
    initiator.connection.managed(initiator.now, id, TaskManagementOutcome::Complete);
    assert_eq!(initiator.management_response(), 0);
    initiator.send(answer(&r2t, &pattern(4096)));
    initiator.silence();
    // No unit, and no other one.
    for other in [OTHER_UNIT, LunAddress([0x80, 0, 0, 0, 0, 0, 0, 0])] {
        let write = initiator.write(64);
        initiator.send(write.clone());
        initiator.r2t();
        let abort = TaskManagementRequest { lun: other, ..initiator.abort(&write) };
        initiator.send(abort);
        assert_eq!(initiator.management_response(), 1);
    }
}
