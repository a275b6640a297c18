//! Logout, asked for by either side.

use super::bench::{Initiator, answer, good, is_good, pattern};
use crate::pdu::initiator::LogoutRequest;
use crate::pdu::target::{AsyncMessage, LogoutResponse, TargetPdu};
use crate::session::event::{CloseReason, Leg};
use std::time::Duration;

fn logged_out(initiator: &mut Initiator) -> LogoutResponse {
    match initiator.only() {
        TargetPdu::Logout(response) => response,
        other => panic!("expected a logout response, not {other:?}"),
    }
}

fn told(initiator: &mut Initiator) -> AsyncMessage {
    match initiator.only() {
        TargetPdu::AsyncMessage(message) => message,
        other => panic!("expected a message, not {other:?}"),
    }
}

#[test]
fn closes_the_session_or_its_connection() {
    for reason in [0, 1] {
        let mut initiator = Initiator::new();
        let logout =
            LogoutRequest { immediate: false, cmd_sn: initiator.take_cmd_sn(), ..initiator.logout(reason) };
        initiator.send(logout.clone());
        let response = logged_out(&mut initiator);
        assert_eq!((response.response, response.initiator_task_tag), (0, logout.initiator_task_tag));
        assert_eq!((response.time2wait, response.time2retain), (2, 20));
        assert_eq!(initiator.closed(), CloseReason::LogoutRequested);
        // Nothing more is listened to.
        let late = initiator.read(512);
        initiator.send(late);
        initiator.silence();
    }
}

#[test]
fn what_cannot_be_done() {
    let mut initiator = Initiator::new();
    let other_cid = |reason, initiator: &mut Initiator| LogoutRequest { cid: 1, ..initiator.logout(reason) };
    for (reason, response) in [(1, 1), (2, 1)] {
        let logout = other_cid(reason, &mut initiator);
        initiator.send(logout);
        assert_eq!(logged_out(&mut initiator).response, response);
    }
    let recovery = initiator.logout(2);
    initiator.send(recovery);
    assert_eq!(logged_out(&mut initiator).response, 2);
    let nonsense = initiator.logout(3);
    initiator.send(nonsense);
    assert_eq!(initiator.rejected(), 0x09);
    assert!(!initiator.connection.is_closing(Leg::FIRST));
    // The CID is of no importance when the session is to end.
    let logout = other_cid(0, &mut initiator);
    initiator.send(logout);
    assert_eq!(logged_out(&mut initiator).response, 0);
}

#[test]
fn waits_for_what_runs_and_drops_what_does_not() {
    let mut initiator = Initiator::new();
    let (write, read) = (initiator.write(4096), initiator.read(512));
    initiator.send(write);
    let r2t = initiator.r2t();
    initiator.send(read);
    let (id, _) = initiator.execute();
    let logout = initiator.logout(0);
    initiator.send(logout);
    initiator.send(answer(&r2t, &pattern(4096)));
    initiator.silence();
    let late = initiator.read(512);
    initiator.send(late);
    assert_eq!(initiator.rejected(), 0x0c);
    // One that comes early is refused when its turn comes.
    let (before, early) = (initiator.read(512), initiator.read(512));
    initiator.send(early);
    initiator.silence();
    initiator.send(before);
    assert_eq!(initiator.heard().len(), 2, "rejects");
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 1);
    initiator.silence();
    initiator.complete(id, good(pattern(512), 0));
    let heard = initiator.heard();
    assert!(matches!(&heard[..], [TargetPdu::DataIn(_), TargetPdu::Logout(it)] if it.response == 0));
    assert_eq!(initiator.closed(), CloseReason::LogoutRequested);
}

#[test]
fn does_not_wait_for_ever() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read);
    initiator.execute();
    let logout = initiator.logout(0);
    initiator.send(logout);
    assert_eq!(initiator.sleep(), Duration::from_secs(5));
    assert_eq!(logged_out(&mut initiator).response, 3);
    assert_eq!(initiator.closed(), CloseReason::LogoutRequested);
}

#[test]
fn asked_for_and_done() {
    let mut initiator = Initiator::new();
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 3);
    let message = told(&mut initiator);
    assert_eq!((message.event, message.parameters), (1, [0, 0, 3]));
    // There is time to end what is under way.
    let command = initiator.command();
    initiator.send(command);
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 0));
    assert!(is_good(&initiator.response()));
    let logout = initiator.logout(0);
    initiator.send(logout);
    assert_eq!(logged_out(&mut initiator).response, 0);
    assert_eq!(initiator.closed(), CloseReason::LogoutRequested);
}

#[test]
fn asked_for_in_vain() {
    let mut initiator = Initiator::new();
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 3);
    told(&mut initiator);
    assert_eq!(initiator.sleep(), Duration::from_secs(3));
    let message = told(&mut initiator);
    assert_eq!((message.event, message.parameters), (3, [0, 2, 20]));
    assert_eq!(initiator.closed(), CloseReason::LogoutTimeout);
}
