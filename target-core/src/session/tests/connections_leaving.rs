//! Logout among several connections, asked for by either side (RFC 7143 §11.14, §11.15).

use super::bench::CID;
use super::group::Group;
use crate::pdu::initiator::LogoutRequest;
use crate::pdu::target::TargetPdu;
use crate::scsi::command::{Outcome, TaskManagement};
use crate::session::event::{CloseReason, Event, Leg, TaskId};
use std::time::Duration;

const A: Leg = Leg::FIRST;
const B: Leg = Leg(1);
const C: Leg = Leg(2);

fn logout_response(group: &mut Group, leg: Leg) -> u8 {
    match group.only(leg) {
        TargetPdu::Logout(response) => response.response,
        other => panic!("expected a logout response, not {other:?}"),
    }
}

fn logout(group: &mut Group, reason: u8, cid: u16) -> LogoutRequest {
    LogoutRequest { cid, ..group.lead.logout(reason) }
}

/// A command of a connection that the driver has.
fn running(group: &mut Group, leg: Leg) -> TaskId {
    let command = group.lead.command();
    group.send(leg, command);
    group.executed().0
}

fn write_begun(group: &mut Group, leg: Leg) {
    let write = group.lead.write(4096);
    group.send(leg, write);
    assert!(matches!(group.only(leg), TargetPdu::ReadyToTransfer(_)));
}

fn aborted(group: &mut Group) {
    match group.lead.connection.poll_event() {
        Some(Event::Manage(id, TaskManagement::AbortTask { .. })) => group.managed(id),
        other => panic!("expected an abort, not {other:?}"),
    }
}

fn ended(group: &mut Group, id: TaskId) {
    group.lead.connection.complete(group.lead.now, id, Outcome::Aborted);
}

#[test]
fn a_connection_logs_out_and_the_others_go_on() {
    let mut group = Group::of(2);
    let (on_a, on_b, running) = (group.lead.write(4096), group.lead.command(), group.lead.command());
    group.send(A, on_a);
    group.only(A);
    group.send(B, on_b.clone());
    let (id, _) = group.executed();
    group.send(A, running.clone());
    let (slow, _) = group.executed();
    let request = logout(&mut group, 1, CID);
    group.send(A, request);
    group.silence();
    // Its own command is waited for, and no other.
    let nop = group.lead.nop(b"");
    group.send(A, nop);
    assert!(matches!(group.only(A), TargetPdu::Reject(reject) if reject.reason == 0x0c));
    group.complete(slow);
    let said = group.heard(A);
    assert!(matches!(&said[..], [TargetPdu::ScsiResponse(_), TargetPdu::Logout(it)] if it.response == 0));
    assert_eq!(group.closed(), (A, CloseReason::LogoutRequested));
    group.part(A);
    group.complete(id);
    assert_eq!(group.answered(B), [on_b.initiator_task_tag]);
    let next = group.lead.command();
    group.send(B, next.clone());
    assert_eq!(group.executed().1, next.initiator_task_tag);
    assert_eq!(group.lead.connection.leg_of(CID), None);
}

#[test]
fn a_connection_is_logged_out_on_another() {
    let mut group = Group::of(2);
    write_begun(&mut group, B);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 0);
    assert_eq!(group.closed(), (B, CloseReason::LogoutRequested));
    group.part(B);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 1, "there is none of this CID any more");
    group.silence();
}

#[test]
fn a_connection_is_not_removed_for_recovery() {
    let mut group = Group::of(2);
    let request = logout(&mut group, 2, CID + 1);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 2);
    let request = logout(&mut group, 2, CID + 7);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 1);
    group.silence();
}

#[test]
fn the_session_is_logged_out_on_any_connection() {
    let mut group = Group::of(3);
    let id = running(&mut group, A);
    write_begun(&mut group, B);
    let request = logout(&mut group, 0, CID + 1);
    group.send(B, request);
    group.silence();
    let late = group.lead.command();
    group.send(C, late);
    assert!(matches!(group.only(C), TargetPdu::Reject(reject) if reject.reason == 0x0c));
    group.complete(id);
    assert_eq!(group.answered(A).len(), 1);
    assert_eq!(logout_response(&mut group, B), 0);
    for leg in [A, B, C] {
        assert_eq!(group.closed(), (leg, CloseReason::LogoutRequested));
    }
    assert!(group.lead.connection.next_timeout().is_none());
}

/// As initiators do with one of whose loss they know before we do.
#[test]
fn the_answer_does_not_go_with_the_connection_that_is_logged_out_on_another() {
    let mut group = Group::of(2);
    let id = running(&mut group, B);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    group.silence();
    group.part(B);
    aborted(&mut group);
    group.silence();
    ended(&mut group, id);
    assert_eq!(logout_response(&mut group, A), 0);
    group.silence();
}

/// Whoever hears that there is no such connection may send its commands anew elsewhere.
#[test]
fn a_connection_is_gone_when_its_commands_have_ended() {
    let mut group = Group::of(2);
    let id = running(&mut group, B);
    group.part(B);
    aborted(&mut group);
    for reason in [1, 2] {
        let request = logout(&mut group, reason, CID + 1);
        group.send(A, request);
    }
    group.silence();
    ended(&mut group, id);
    let heard = group.heard(A);
    assert!(
        matches!(&heard[..], [TargetPdu::Logout(one), TargetPdu::Logout(two)] if (one.response, two.response) == (1, 1))
    );
    group.silence();
}

#[test]
fn nobody_waits_for_ever_for_a_connection_that_has_gone() {
    let mut group = Group::of(2);
    running(&mut group, B);
    group.part(B);
    aborted(&mut group);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    assert_eq!(group.lead.sleep(), Duration::from_secs(5));
    assert_eq!(logout_response(&mut group, A), 3);
    group.silence();
}

/// Else it would be neither of use nor over.
#[test]
fn a_session_ends_though_the_connection_that_asked_for_it_has_gone() {
    let mut group = Group::of(2);
    let id = running(&mut group, A);
    let request = logout(&mut group, 0, CID + 1);
    group.send(B, request);
    group.silence();
    group.part(B);
    group.complete(id);
    assert_eq!(group.answered(A).len(), 1);
    assert_eq!(group.closed(), (A, CloseReason::LogoutRequested));
}

#[test]
fn each_request_is_answered() {
    let mut group = Group::of(3);
    let (on_a, on_c) = (running(&mut group, A), running(&mut group, C));
    let request = logout(&mut group, 1, CID + 2);
    group.send(B, request);
    let request = logout(&mut group, 1, CID + 2);
    group.send(A, request);
    let request = logout(&mut group, 0, CID);
    group.send(A, request);
    group.silence();
    group.complete(on_c);
    group.heard(C);
    assert_eq!(logout_response(&mut group, B), 0);
    assert_eq!(group.closed(), (C, CloseReason::LogoutRequested));
    assert_eq!(logout_response(&mut group, A), 0);
    group.part(C);
    group.complete(on_a);
    let heard = group.heard(A);
    assert!(matches!(&heard[..], [TargetPdu::ScsiResponse(_), TargetPdu::Logout(it)] if it.response == 0));
}

#[test]
fn requests_that_wait_are_bounded() {
    let mut group = Group::of(2);
    running(&mut group, B);
    for _ in 0..100 {
        let request = logout(&mut group, 1, CID + 1);
        group.send(A, request);
    }
    let rejects = group.heard(A);
    assert!((60..100).contains(&rejects.len()), "{}", rejects.len());
    assert!(rejects.iter().all(|pdu| matches!(pdu, TargetPdu::Reject(reject) if reject.reason == 0x06)));
}

/// What was to be closed is not closed again, least of all another in its place.
#[test]
fn nothing_is_asked_for_a_connection_that_has_gone() {
    let mut group = Group::of(2);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 0);
    // The driver sees that it has gone before it has looked at what is to be done.
    group.part(B);
    group.silence();
}

/// The driver may be held up, and then it would wake for nothing again and again.
#[test]
fn no_time_is_kept_for_a_connection_that_is_to_be_closed() {
    let mut group = Group::of(2);
    running(&mut group, B);
    let request = logout(&mut group, 1, CID + 1);
    group.send(A, request);
    group.lead.sleep();
    assert_eq!(logout_response(&mut group, A), 3);
    let next = group.lead.connection.next_timeout();
    assert!(next.is_none_or(|next| next > group.lead.now), "{:?}", next.map(|next| group.lead.now - next));
    let mut group = Group::of(2);
    group.lead.connection.request_logout(B, group.lead.now, 3);
    group.heard(B);
    group.lead.sleep();
    let next = group.lead.connection.next_timeout();
    assert!(next.is_none_or(|next| next > group.lead.now), "{:?}", next.map(|next| group.lead.now - next));
}

#[test]
fn a_session_that_is_to_end_is_asked_to_on_all_connections() {
    let mut group = Group::of(3);
    group.lead.connection.request_logout(B, group.lead.now, 2);
    group.only(B);
    assert!(!group.lead.connection.is_ending());
    group.lead.connection.request_end(group.lead.now, 3);
    for leg in [A, C] {
        assert!(
            matches!(group.only(leg), TargetPdu::AsyncMessage(it) if (it.event, it.parameters) == (1, [0, 0, 3]))
        );
    }
    group.silence();
    assert!(group.lead.connection.is_ending(), "nobody joins it any more");
    let request = logout(&mut group, 1, CID);
    group.send(A, request);
    assert_eq!(logout_response(&mut group, A), 0);
    assert_eq!(group.closed(), (A, CloseReason::LogoutRequested));
    group.part(A);
    for leg in [B, C] {
        group.lead.sleep();
        assert!(matches!(group.only(leg), TargetPdu::AsyncMessage(message) if message.event == 3));
        assert_eq!(group.closed(), (leg, CloseReason::LogoutTimeout));
    }
}
