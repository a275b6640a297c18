//! Every way in which a login fails, by its status (RFC 7143 §11.13.5).

use super::bench::{Lab, OPEN, PRIVATE, Play, login_to, request};
use crate::login::failure::{LoginFailure, Misbehaviour};
use crate::login::parameters::Offer;
use crate::login::{Login, Step};
use crate::pdu::fields::Isid;
use crate::pdu::initiator::LoginRequest;
use crate::session::event::BindOutcome;
use bytes::Bytes;

fn names() -> String {
    format!("InitiatorName=iqn.x:y TargetName={OPEN}")
}

/// What the very first text can be wrong about: (CSG, text, class and detail).
#[test]
fn first_text() {
    let table = [
        (1, "".to_owned(), (2, 0x07)),
        (1, format!("TargetName={OPEN}"), (2, 0x07)),
        (1, "InitiatorName=iqn.x:y".into(), (2, 0x07)),
        (1, "SessionType=Discovery".into(), (2, 0x07)),
        (1, "InitiatorName=iqn.x:y TargetName=iqn.no:such".into(), (2, 0x03)),
        (1, format!("InitiatorName=iqn.x:y TargetName={PRIVATE}"), (2, 0x02)),
        (1, format!("{} SessionType=Boot", names()), (2, 0x09)),
        (1, format!("{} SessionType=discovery", names()), (2, 0x09)),
        (1, format!("InitiatorName= TargetName={OPEN}"), (2, 0x00)),
        (1, format!("InitiatorName={} TargetName={OPEN}", "n".repeat(224)), (2, 0x00)),
        (1, format!("{} InitiatorName=iqn.x:y", names()), (2, 0x00)),
        (1, format!("{} MaxBurstLength=512 MaxBurstLength=512", names()), (2, 0x00)),
        (1, format!("{} X-glint=1 X-glint=1", names()), (2, 0x00)),
        (1, format!("{} AuthMethod=None", names()), (2, 0x00)),
        (0, format!("{} HeaderDigest=None", names()), (2, 0x00)),
        (0, format!("{} MaxRecvDataSegmentLength=8192", names()), (2, 0x00)),
        (1, format!("{} SendTargets=All", names()), (2, 0x00)),
        (1, format!("{} TargetAlias=mine", names()), (2, 0x00)),
        (1, format!("{} TargetPortalGroupTag=1", names()), (2, 0x00)),
        (1, format!("{} TargetAddress=192.0.2.1:3260,1", names()), (2, 0x00)),
        (1, format!("{} MaxRecvDataSegmentLength=511", names()), (2, 0x00)),
        (1, format!("{} MaxRecvDataSegmentLength=16777216", names()), (2, 0x00)),
        (1, format!("{} MaxRecvDataSegmentLength=lots", names()), (2, 0x00)),
        (1, format!("{} MaxBurstLength={}", names(), "0".repeat(256)), (2, 0x00)),
        (1, format!("{} InitiatorAlias={}", names(), "a".repeat(256)), (2, 0x00)),
        (1, format!("{} word", names()), (2, 0x00)),
        (1, format!("{} =value", names()), (2, 0x00)),
        (1, format!("{} {}=1", names(), "K".repeat(64)), (2, 0x00)),
        (1, format!("{} Kéy=1", names()), (2, 0x00)),
    ];
    for (csg, said, status) in table {
        assert_eq!(Play::new().fail(csg, None, &said), status, "{said}");
    }
}

#[test]
fn initiators_are_admitted_by_name() {
    let mut play = Play::new();
    play.finish(1, &format!("InitiatorName=IQN.2026-12.Bar:vm TargetName={}", PRIVATE.to_uppercase()));
}

/// What a header can be wrong about.
#[test]
fn header() {
    let with = |change: fn(&mut LoginRequest)| {
        let mut request = request(1, Some(3), &names());
        change(&mut request);
        Play::new().fail_with(request)
    };
    assert_eq!(with(|r| (r.version_min, r.version_max) = (1, 2)), (2, 0x05));
    assert_eq!(with(|r| r.current_stage = 2), (2, 0x00));
    assert_eq!(with(|r| r.current_stage = 3), (2, 0x00));
    assert_eq!(with(|r| r.next_stage = 0), (2, 0x00));
    assert_eq!(with(|r| r.next_stage = 1), (2, 0x00));
    assert_eq!(with(|r| r.next_stage = 2), (2, 0x00));
    assert_eq!(with(|r| (r.current_stage, r.next_stage) = (0, 0)), (2, 0x00));
    assert_eq!(with(|r| r.continues = true), (2, 0x00));
    assert_eq!(with(|r| r.data = Bytes::from_static(b"\xff=1\0")), (2, 0x00));
}

#[test]
fn a_higher_version_max_is_no_reason_to_refuse() {
    let mut play = Play::new();
    let response = play.send(LoginRequest { version_max: 5, ..request(1, None, &names()) });
    assert_eq!((response.version_max, response.version_active), (0, 0));
}

#[test]
fn next_stage_means_nothing_without_transit() {
    let mut play = Play::new();
    let response = play.send(LoginRequest { next_stage: 2, ..request(1, None, &names()) });
    assert!(!response.transit);
    play.finish(1, "");
}

#[test]
fn stages_only_go_on_when_agreed() {
    // Not agreed: the request had no T.
    let mut play = Play::new();
    play.say(0, None, &names());
    assert_eq!(play.fail(1, Some(3), ""), (2, 0));
    // Not back.
    let mut play = Play::new();
    play.say(0, Some(1), &names());
    assert_eq!(play.fail(0, Some(1), ""), (2, 0));
}

#[test]
fn who_one_is_stays_the_same() {
    for change in [
        |r: &mut LoginRequest| r.isid = Isid([9; 6]),
        |r: &mut LoginRequest| r.tsih = 1,
        |r: &mut LoginRequest| r.cid = 1,
    ] {
        let mut play = Play::new();
        play.say(1, None, &names());
        let mut next = request(1, Some(3), "");
        change(&mut next);
        assert_eq!(play.fail_with(next), (2, 0));
        assert_eq!(play.login.failure(), Some(Misbehaviour::IdentityChanged.into()));
    }
}

#[test]
fn what_was_said_in_one_request_may_not_be_said_in_the_next() {
    let mut play = Play::new();
    play.say(0, Some(1), &names());
    assert_eq!(play.fail(1, Some(3), "InitiatorName=iqn.x:y"), (2, 0));
    let mut play = Play::new();
    play.say(1, None, &format!("{} ErrorRecoveryLevel=0 X-a=1", names()));
    assert_eq!(play.fail(1, Some(3), "ErrorRecoveryLevel=0"), (2, 0));
}

#[test]
fn unknown_keys_are_counted() {
    let unknown: String = (0..257).map(|n| format!(" X-{n}=1")).collect();
    let mut play = Play::new();
    assert_eq!(play.fail(1, None, &(names() + &unknown)), (2, 0));
    assert_eq!(play.login.failure(), Some(Misbehaviour::TooManyUnknown.into()));
}

fn bind(login: &mut Login) {
    match login.handle(request(1, Some(3), &names())) {
        Step::Bind(_) => {}
        other => panic!("expected to bind, not {other:?}"),
    }
}

#[test]
fn the_driver_may_refuse() {
    for refusal in [
        LoginFailure::TooManyConnections,
        LoginFailure::SessionDoesNotExist,
        LoginFailure::CannotIncludeInSession,
        LoginFailure::ServiceUnavailable,
        LoginFailure::OutOfResources,
        LoginFailure::TargetError,
        LoginFailure::TargetRemoved,
    ] {
        let (class, detail) = refusal.status();
        let mut login = login_to(Lab::new(), Offer::default());
        bind(&mut login);
        match login.bound(BindOutcome::Refused { class, detail }) {
            Some(Step::Fail(response)) => {
                assert_eq!((response.status_class, response.status_detail), (class, detail));
                assert!(!response.transit);
                assert_eq!(response.tsih, 0);
            }
            other => panic!("expected a failure, not {other:?}"),
        }
    }
}

#[test]
fn no_answer_without_a_question() {
    let mut login = login_to(Lab::new(), Offer::default());
    assert!(login.bound(BindOutcome::Bound { tsih: 1 }).is_none());
    bind(&mut login);
    assert!(login.bound(BindOutcome::Bound { tsih: 1 }).is_some());
    assert!(login.bound(BindOutcome::Bound { tsih: 1 }).is_none());
}

#[test]
fn the_initiator_waits_while_the_driver_is_asked() {
    let mut play = Play::new();
    bind(&mut play.login);
    assert_eq!(play.fail(1, Some(3), ""), (2, 0));
    assert!(play.login.bound(BindOutcome::Bound { tsih: 1 }).is_none());
}

#[test]
fn each_failure_has_its_status() {
    let table = [
        (LoginFailure::Misbehaviour(Misbehaviour::BadStage), (2, 0x00)),
        (LoginFailure::NotAdmitted, (2, 0x02)),
        (LoginFailure::TargetNotFound, (2, 0x03)),
        (LoginFailure::TargetRemoved, (2, 0x04)),
        (LoginFailure::UnsupportedVersion, (2, 0x05)),
        (LoginFailure::TooManyConnections, (2, 0x06)),
        (LoginFailure::MissingParameter("InitiatorName"), (2, 0x07)),
        (LoginFailure::CannotIncludeInSession, (2, 0x08)),
        (LoginFailure::SessionTypeUnsupported, (2, 0x09)),
        (LoginFailure::SessionDoesNotExist, (2, 0x0a)),
        (LoginFailure::InvalidDuringLogin, (2, 0x0b)),
        (LoginFailure::TargetError, (3, 0x00)),
        (LoginFailure::ServiceUnavailable, (3, 0x01)),
        (LoginFailure::OutOfResources, (3, 0x02)),
    ];
    for (failure, status) in table {
        let response = failure.answer(&request(1, Some(3), ""));
        assert_eq!((response.status_class, response.status_detail), status);
        assert_eq!((response.transit, response.initiator_task_tag), (false, 0x1234));
    }
}
