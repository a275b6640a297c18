//! What the connection sees to in a login.

use super::bench::{Initiator, TARGET, config};
use crate::login::LoginFailure;
use crate::login::parameters::Digest;
use crate::pdu::fields::{Isid, Serial};
use crate::pdu::initiator::LoginRequest;
use crate::pdu::target::TargetPdu;
use crate::session::event::{BindOutcome, CloseReason, Event, Leg, SessionType};
use bytes::Bytes;
use std::time::Duration;

fn names() -> String {
    format!("InitiatorName=iqn.x:y TargetName={TARGET}")
}

fn status(initiator: &mut Initiator) -> (u8, u8) {
    let response = initiator.login_response();
    (response.status_class, response.status_detail)
}

#[test]
fn in_several_steps() {
    let mut initiator = Initiator::connected(config());
    let request = LoginRequest {
        current_stage: 0,
        next_stage: 1,
        exp_stat_sn: Serial(40),
        ..initiator.login_request(&format!("{} AuthMethod=None", names()))
    };
    initiator.send(request);
    let response = initiator.login_response();
    assert!(response.transit && response.next_stage == 1);
    // No request of a login moves CmdSN, and the first status has the number that the initiator expects.
    assert_eq!(initiator.numbering.stat_sn, Serial(40));
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    initiator.log_in("MaxBurstLength=65536");
    assert_eq!(initiator.numbering.stat_sn, Serial(41));
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    assert_eq!(initiator.numbering.max_cmd_sn, Serial(initiator.cmd_sn).plus(15));
    let session = initiator.connection.session().expect("a session");
    assert_eq!(session.session_type, SessionType::Normal);
    assert_eq!(session.isid, Isid([0x80, 1, 2, 3, 4, 5]));
    assert_eq!(session.parameters.max_burst_length, 65536);
}

#[test]
fn digests_hold_from_the_first_pdu_after_login() {
    let mut initiator = Initiator::with(config(), "HeaderDigest=CRC32C DataDigest=CRC32C");
    let parameters = &initiator.connection.session().expect("a session").parameters;
    assert_eq!((parameters.header_digest, parameters.data_digest), (Digest::Crc32c, Digest::Crc32c));
    let ping = initiator.nop(b"are you there");
    initiator.send(ping);
    assert!(matches!(initiator.only(), TargetPdu::NopIn(nop) if &*nop.data == b"are you there"));
}

#[test]
fn byte_by_byte() {
    let mut initiator = Initiator::connected(config());
    let bytes = initiator.bytes(initiator.login_request(&names()));
    let mut input = bytes::BytesMut::new();
    for byte in bytes {
        assert!(initiator.connection.poll_event().is_none());
        input.extend_from_slice(&[byte]);
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
    }
    assert_eq!(initiator.bind_event().isid, Isid([0x80, 1, 2, 3, 4, 5]));
}

#[test]
fn what_the_driver_refuses() {
    let mut initiator = Initiator::connected(config());
    initiator.send(initiator.login_request(&names()));
    initiator.bind_event();
    initiator.connection.bound(initiator.now, BindOutcome::Refused { class: 3, detail: 2 });
    assert_eq!(status(&mut initiator), (3, 2));
    assert_eq!(initiator.closed(), CloseReason::LoginFailed);
    assert_eq!(initiator.connection.login_failure(), Some(LoginFailure::Refused(3, 2)));
}

#[test]
fn what_login_refuses() {
    let mut initiator = Initiator::connected(config());
    initiator.send(initiator.login_request("InitiatorName=iqn.x:y TargetName=iqn.no:such"));
    assert_eq!(status(&mut initiator), (2, 3));
    assert_eq!(initiator.closed(), CloseReason::LoginFailed);
}

/// Changes a request after a first one.
fn second(change: impl Fn(&mut LoginRequest)) -> (u8, u8) {
    let mut initiator = Initiator::connected(config());
    let mut request = LoginRequest { transit: false, ..initiator.login_request(&names()) };
    initiator.send(request.clone());
    assert_eq!(status(&mut initiator), (0, 0));
    request.data = Bytes::new();
    change(&mut request);
    initiator.send(request);
    let status = status(&mut initiator);
    if status != (0, 0) {
        assert_eq!(initiator.closed(), CloseReason::LoginFailed);
    }
    status
}

#[test]
fn what_has_to_stay_the_same() {
    assert_eq!(second(|_| {}), (0, 0));
    assert_eq!(second(|request| request.initiator_task_tag += 1), (2, 0));
    assert_eq!(second(|request| request.cmd_sn = request.cmd_sn.plus(1)), (2, 0));
    assert_eq!(second(|request| request.cid += 1), (2, 0));
    assert_eq!(second(|request| request.isid.0[5] += 1), (2, 0));
    assert_eq!(second(|request| request.tsih = 3), (2, 0));
}

#[test]
fn anything_else_before_login_ends_the_connection() {
    let mut initiator = Initiator::connected(config());
    let ping = initiator.nop(b"");
    initiator.send(ping);
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
    initiator.silence();
}

#[test]
fn anything_else_during_login_ends_it() {
    let mut initiator = Initiator::connected(config());
    initiator.send(LoginRequest { transit: false, ..initiator.login_request(&names()) });
    assert_eq!(status(&mut initiator), (0, 0));
    let command = initiator.read(512);
    initiator.send(command);
    assert_eq!(status(&mut initiator), (2, 0x0b));
    assert_eq!(initiator.closed(), CloseReason::LoginFailed);
}

#[test]
fn nothing_may_come_before_the_last_response() {
    let mut initiator = Initiator::connected(config());
    initiator.send(initiator.login_request(&names()));
    initiator.bind_event();
    let command = initiator.read(512);
    initiator.send(command);
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
    // The driver does not know yet.
    initiator.connection.bound(initiator.now, BindOutcome::Bound { tsih: 1 });
    initiator.silence();
}

#[test]
fn an_answer_without_a_question_does_nothing() {
    let mut initiator = Initiator::connected(config());
    initiator.connection.bound(initiator.now, BindOutcome::Bound { tsih: 1 });
    assert!(initiator.connection.session().is_none());
    initiator.silence();
}

#[test]
fn takes_its_time_and_no_more() {
    let mut initiator = Initiator::connected(config());
    initiator.send(LoginRequest { transit: false, ..initiator.login_request(&names()) });
    assert_eq!(status(&mut initiator), (0, 0));
    assert_eq!(initiator.sleep(), Duration::from_secs(15));
    assert_eq!(initiator.closed(), CloseReason::LoginTimeout);
}

#[test]
fn text_without_end_is_refused() {
    let mut initiator = Initiator::connected(config());
    let piece = Bytes::from(format!("X-knob={}", "x".repeat(8000)));
    let mut answers = 0;
    let status = loop {
        let request = LoginRequest {
            transit: false,
            continues: true,
            data: piece.clone(),
            ..initiator.login_request(&names())
        };
        initiator.send(request);
        let status = status(&mut initiator);
        if status != (0, 0) {
            break status;
        }
        answers += 1;
        assert!(answers < 10, "64 KiB are enough");
    };
    assert_eq!(status, (2, 0));
    assert_eq!(initiator.closed(), CloseReason::LoginFailed);
}

#[test]
fn asked_to_log_out_before_login() {
    let mut initiator = Initiator::connected(config());
    initiator.connection.request_logout(Leg::FIRST, initiator.now, 3);
    assert!(matches!(initiator.connection.poll_event(), Some(Event::Close(_, CloseReason::Driver))));
}
