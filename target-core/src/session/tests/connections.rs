//! Several connections in one session: joining, numbering, allegiance, task management (RFC 7143 §4.2.2, §4.2.5.1, §6.3.4).

use super::bench::{CID, answer, pattern};
use super::group::Group;
use crate::pdu::fields::Serial;
use crate::pdu::initiator::ScsiCommand;
use crate::pdu::target::{ReadyToTransfer, TargetPdu};
use crate::scsi::command::{Outcome, TaskManagement, TaskManagementOutcome};
use crate::session::event::{CloseReason, Leg};

const A: Leg = Leg::FIRST;
const B: Leg = Leg(1);
const C: Leg = Leg(2);

fn r2t(group: &mut Group, leg: Leg) -> ReadyToTransfer {
    match group.only(leg) {
        TargetPdu::ReadyToTransfer(r2t) => r2t,
        other => panic!("expected an R2T, not {other:?}"),
    }
}

fn management_response(group: &mut Group, leg: Leg) -> u8 {
    match group.only(leg) {
        TargetPdu::TaskManagement(response) => response.response,
        other => panic!("expected a task management response, not {other:?}"),
    }
}

#[test]
fn the_login_of_a_further_connection_has_the_numbers_of_the_session() {
    let mut group = Group::of(1);
    let (first, second) = (group.lead.command(), group.lead.command());
    group.send(A, first.clone());
    let (id, _) = group.executed();
    let (leg, response, numbering) = group.join(CID + 1);
    assert_eq!(leg, B);
    assert_eq!(response.tsih, 77);
    assert_eq!(numbering.exp_cmd_sn, second.cmd_sn, "what has come, not what the initiator has sent");
    assert_eq!(numbering.max_cmd_sn, Serial(first.cmd_sn.0.wrapping_add(15)), "one is under way");
    group.complete(id);
    assert_eq!(group.answered(A), [first.initiator_task_tag]);
}

#[test]
fn before_it_is_let_in_a_connection_tells_numbers_that_nobody_heeds() {
    let group = Group::of(1);
    let (newcomer, _) = group.newcomer(CID + 1, 77);
    let mut refused = newcomer;
    let outcome = crate::session::event::BindOutcome::Refused { class: 2, detail: 6 };
    refused.connection.bound(refused.now, outcome);
    assert_eq!(refused.login_response().status_detail, 6);
    let told = refused.numbering;
    assert!(told.max_cmd_sn.is_before(Serial(refused.cmd_sn)));
    assert!(told.exp_cmd_sn.is_before(Serial(refused.cmd_sn)));
}

#[test]
fn only_who_asks_for_the_session_joins_it() {
    let mut group = Group::of(1);
    let (stranger, request) = group.newcomer(CID + 1, 78);
    assert_eq!(request.tsih, 78);
    assert_eq!(group.lead.connection.join(group.lead.now, stranger.connection), None);
    let (late, _) = group.newcomer(CID + 1, 77);
    let mut late = late;
    late.sleep();
    assert_eq!(group.lead.connection.join(group.lead.now, late.connection), None, "its time is over");
    assert_eq!(group.lead.connection.leg_of(CID + 1), None);
}

#[test]
fn commands_have_their_turn_in_order_and_are_answered_where_they_came() {
    let mut group = Group::of(3);
    let commands: Vec<_> = (0..6).map(|_| group.lead.command()).collect();
    let legs = [B, A, C, A, B, C];
    // Each connection in order, but none waits for another.
    for nth in [2, 5, 1, 3] {
        group.send(legs[nth], commands[nth].clone());
    }
    group.silence();
    group.send(B, commands[0].clone());
    let mut ids = Vec::new();
    for command in &commands[..4] {
        let (id, tag) = group.executed();
        assert_eq!(tag, command.initiator_task_tag);
        ids.push(id);
    }
    group.silence();
    group.send(B, commands[4].clone());
    for command in &commands[4..] {
        let (id, tag) = group.executed();
        assert_eq!(tag, command.initiator_task_tag);
        ids.push(id);
    }
    ids.into_iter().rev().for_each(|id| group.complete(id));
    let tag = |nth: usize| commands[nth].initiator_task_tag;
    assert_eq!(group.answered(A), [tag(3), tag(1)]);
    assert_eq!(group.answered(B), [tag(4), tag(0)]);
    assert_eq!(group.answered(C), [tag(5), tag(2)]);
}

#[test]
fn data_is_asked_for_and_taken_on_the_connection_of_its_command() {
    let mut group = Group::of(2);
    let data = pattern(300_000);
    let (on_a, on_b) = (group.lead.write(300_000), group.lead.write(300_000));
    group.send(B, on_b.clone());
    group.silence();
    group.send(A, on_a.clone());
    let (for_a, for_b) = (r2t(&mut group, A), r2t(&mut group, B));
    assert_eq!(for_a.initiator_task_tag, on_a.initiator_task_tag);
    assert_eq!(for_b.initiator_task_tag, on_b.initiator_task_tag);
    // Not by way of the other.
    group.send(A, answer(&for_b, &data));
    assert!(matches!(group.only(A), TargetPdu::Reject(_)));
    group.send(B, answer(&for_b, &data));
    group.send(A, answer(&for_a, &data));
    for leg in [B, A] {
        let rest = r2t(&mut group, leg);
        group.send(leg, answer(&rest, &data));
        let (id, command) = group.lead.execute();
        assert_eq!(command.data_out.to_bytes(), data);
        group.complete(id);
        assert_eq!(group.answered(leg).len(), 1);
    }
    group.silence();
}

/// The order of one connection is that of the session.
#[test]
fn an_ordered_command_waits_for_writes_of_other_connections() {
    let mut group = Group::of(2);
    let write = group.lead.write(4096);
    let ordered =
        ScsiCommand { attribute: crate::scsi::command::TaskAttribute::Ordered, ..group.lead.command() };
    group.send(A, write.clone());
    let asked = r2t(&mut group, A);
    group.send(B, ordered.clone());
    group.silence();
    group.send(A, answer(&asked, &pattern(4096)));
    assert_eq!(group.executed().1, write.initiator_task_tag);
    assert_eq!(group.executed().1, ordered.initiator_task_tag);
}

#[test]
fn a_tag_is_in_use_on_all_connections() {
    let mut group = Group::of(2);
    let first = group.lead.command();
    group.send(A, first.clone());
    let (id, _) = group.executed();
    let same = ScsiCommand { initiator_task_tag: first.initiator_task_tag, ..group.lead.command() };
    group.send(B, same);
    assert!(matches!(group.only(B), TargetPdu::Reject(reject) if reject.reason == 0x07));
    group.complete(id);
    assert_eq!(group.answered(A), [first.initiator_task_tag]);
}

#[test]
fn talk_goes_on_on_each_connection() {
    let mut group = Group::of(2);
    for leg in [A, B] {
        let nop = group.lead.nop(b"there?");
        group.send(leg, nop);
        assert!(matches!(group.only(leg), TargetPdu::NopIn(nop) if &*nop.data == b"there?"));
        let text = group.lead.text("SendTargets=");
        group.send(leg, text);
        assert!(matches!(group.only(leg), TargetPdu::Text(text) if text.data.starts_with(b"TargetName=")));
    }
    // What one connection can take is its own affair.
    let text = group.lead.text("MaxRecvDataSegmentLength=512");
    group.send(B, text);
    group.heard(B);
    let (on_a, on_b) = (group.lead.read(2048), group.lead.read(2048));
    group.send(A, on_a);
    group.send(B, on_b);
    for (leg, pdus) in [(A, 1), (B, 4)] {
        let (id, _) = group.executed();
        group.lead.complete(id, super::bench::good(pattern(2048), 0));
        assert_eq!(group.heard(leg).len(), pdus);
    }
}

#[test]
fn task_management_reaches_the_tasks_of_all_connections() {
    let mut group = Group::of(2);
    let (running, collecting) = (group.lead.command(), group.lead.write(4096));
    group.send(A, running.clone());
    group.send(B, collecting.clone());
    let (id, _) = group.executed();
    let asked = r2t(&mut group, B);
    let abort = group.lead.management(2);
    group.send(B, abort);
    let (function, what) = group.lead.manage();
    assert!(matches!(what, TaskManagement::AbortTaskSet { .. }));
    group.managed(function);
    assert_eq!(management_response(&mut group, B), 0);
    group.lead.connection.complete(group.lead.now, id, Outcome::Aborted);
    group.send(B, answer(&asked, &pattern(4096)));
    group.silence();
}

/// Commands that an immediate function affects may still be on their way on another connection (RFC 7143 §4.2.3.3 b).
#[test]
fn task_management_waits_for_the_commands_before_it_on_other_connections() {
    let mut group = Group::of(2);
    let write = group.lead.write(4096);
    let reset = group.lead.management(5);
    group.send(B, reset);
    group.silence();
    group.send(A, write);
    r2t(&mut group, A);
    let (function, _) = group.lead.manage();
    group.managed(function);
    assert_eq!(management_response(&mut group, B), 0);
    group.silence();
}

/// Ends all tasks of the unit by way of B; what was said on A is not acknowledged.
fn fenced() -> Group {
    let mut group = Group::of(2);
    let command = group.lead.command();
    group.send(A, command.clone());
    let (id, _) = group.executed();
    group.complete(id);
    assert_eq!(group.answered(A), [command.initiator_task_tag]);
    let reset = group.lead.management(5);
    group.send(B, reset);
    let (function, _) = group.lead.manage();
    group.managed(function);
    assert_eq!(group.heard(B), []);
    group
}

/// RFC 7143 §4.2.2.3.3: the response fence.
#[test]
fn the_answer_to_a_function_comes_after_the_statuses_of_other_connections() {
    let mut group = fenced();
    group.acknowledge(A);
    assert_eq!(management_response(&mut group, B), 0);
    // What is acknowledged already needs no question.
    let reset = group.lead.management(5);
    group.send(B, reset);
    let (function, _) = group.lead.manage();
    group.managed(function);
    assert_eq!(management_response(&mut group, B), 0);
    group.silence();
}

/// The answer to an older question may have been sent before what is to be acknowledged had come.
#[test]
fn a_fence_asks_though_an_answer_is_awaited_already() {
    let mut group = Group::of(2);
    group.lead.now += std::time::Duration::from_secs(30);
    group.lead.connection.handle_timeout(group.lead.now);
    assert!(matches!(group.only(A), TargetPdu::NopIn(_)));
    group.heard(B);
    let old = group.lead.nop(b"");
    let command = group.lead.command();
    let reset = group.lead.management(5);
    // In one go, so that nothing has been heard of A between the question and the command's status.
    group.send(B, command);
    let (id, _) = group.executed();
    group.complete(id);
    group.heard(B);
    group.send(B, reset);
    let (function, _) = group.lead.manage();
    group.managed(function);
    assert!(matches!(group.only(A), TargetPdu::NopIn(_)), "asked again");
    group.send(A, old);
    assert_eq!(group.heard(B), []);
}

#[test]
fn a_fence_falls_with_the_connection_that_it_waits_for() {
    let mut group = fenced();
    group.part(A);
    assert_eq!(management_response(&mut group, B), 0);
    group.silence();
}

#[test]
fn a_fence_does_not_stand_for_ever() {
    let mut group = fenced();
    assert!(matches!(group.only(A), TargetPdu::NopIn(_)));
    let asked = group.lead.now;
    while group.lead.now < asked + std::time::Duration::from_secs(10) {
        // There, but acknowledging nothing.
        group.lead.now += std::time::Duration::from_secs(2);
        let nop = group.lead.nop(b"");
        group.send(A, nop);
        group.heard(A);
        assert_eq!(group.heard(B), []);
    }
    group.lead.connection.handle_timeout(group.lead.now);
    assert_eq!(management_response(&mut group, B), 0);
}

#[test]
fn a_task_is_aborted_from_any_connection() {
    let mut group = Group::of(2);
    let (write, running) = (group.lead.write(4096), group.lead.command());
    group.send(A, write.clone());
    r2t(&mut group, A);
    group.send(A, running.clone());
    group.executed();
    let abort = group.lead.abort(&write);
    group.send(B, abort);
    assert_eq!(management_response(&mut group, B), 0);
    let abort = group.lead.abort(&running);
    group.send(B, abort);
    let (function, what) = group.lead.manage();
    assert!(matches!(what, TaskManagement::AbortTask { tag, .. } if tag.0 == running.initiator_task_tag));
    group.lead.connection.managed(group.lead.now, function, TaskManagementOutcome::Complete);
    assert_eq!(management_response(&mut group, B), 0);
    group.silence();
}

#[test]
fn a_cold_reset_ends_all_connections() {
    let mut group = Group::of(3);
    let reset = group.lead.management(7);
    group.send(C, reset);
    let (function, _) = group.lead.manage();
    group.managed(function);
    group.acknowledge(A);
    assert_eq!(group.heard(C), []);
    group.acknowledge(B);
    assert_eq!(management_response(&mut group, C), 0);
    for leg in [A, B, C] {
        assert_eq!(group.closed(), (leg, CloseReason::TargetReset));
    }
}
