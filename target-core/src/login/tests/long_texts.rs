//! Texts that span PDUs, in both directions.

use super::bench::{OPEN, Play, pairs, request};
use crate::login::failure::Misbehaviour;
use crate::login::text::{MAX_TEXT_LEN, TextError};
use crate::login::{LoginFailure, Step};
use crate::pdu::initiator::LoginRequest;
use crate::session::event::BindOutcome;
use bytes::Bytes;

fn part(data: &[u8], continues: bool) -> LoginRequest {
    LoginRequest {
        continues,
        transit: !continues,
        next_stage: 3,
        data: Bytes::copy_from_slice(data),
        ..request(1, None, "")
    }
}

#[test]
fn a_text_may_be_cut_anywhere() {
    let whole = format!("InitiatorName=iqn.x:y\0TargetName={OPEN}\0ErrorRecoveryLevel=0\0");
    for cut in 0..=whole.len() {
        let (head, tail) = whole.as_bytes().split_at(cut);
        let mut play = Play::new();
        let response = play.send(part(head, true));
        assert!(response.data.is_empty() && !response.transit && !response.continues);
        match play.login.handle(part(tail, false)) {
            Step::Bind(session) => assert_eq!(session.target_name.as_deref(), Some(OPEN)),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_last_zero_byte_may_be_missing() {
    let mut play = Play::new();
    let said = format!("InitiatorName=iqn.x:y\0TargetName={OPEN}");
    assert!(matches!(play.login.handle(part(said.as_bytes(), false)), Step::Bind(_)));
}

#[test]
fn a_text_without_end_ends_the_login() {
    let mut play = Play::new();
    let piece = [b'x'; 8192];
    for _ in 0..MAX_TEXT_LEN / piece.len() {
        play.send(part(&piece, true));
    }
    assert_eq!(play.fail_with(part(b"x", true)), (2, 0));
    let expected = LoginFailure::Misbehaviour(Misbehaviour::Text(TextError::TextTooLong));
    assert_eq!(play.login.failure(), Some(expected));
}

/// Enough unknown keys that the answers need several PDUs.
fn many_keys() -> String {
    let unknown: String = (0..200).map(|n| format!(" X-{n:055}=1")).collect();
    format!("InitiatorName=iqn.x:y TargetName={OPEN}{unknown}")
}

#[test]
fn a_long_answer_is_fetched_piece_by_piece() {
    let mut play = Play::new();
    let mut heard = Vec::new();
    let mut response = play.say(1, Some(3), &many_keys());
    while response.continues {
        assert_eq!(response.data.len(), 8192);
        assert!(!response.transit);
        heard.extend_from_slice(&response.data);
        match play.login.handle(request(1, Some(3), "")) {
            Step::Reply(next) => response = next,
            Step::Bind(_) => match play.login.bound(BindOutcome::Bound { tsih: 1 }) {
                Some(Step::Reply(last)) => response = last,
                other => panic!("expected the last reply, not {other:?}"),
            },
            Step::Fail(_) => panic!("{:?}", play.login.failure()),
        }
    }
    assert!(response.transit);
    heard.extend_from_slice(&response.data);
    let heard = pairs(&heard);
    assert_eq!(heard.matches("=NotUnderstood").count(), 200);
    assert_eq!(heard.matches("TargetPortalGroupTag=3").count(), 1);
}

#[test]
fn nobody_speaks_while_the_other_has_not_finished() {
    let mut play = Play::new();
    assert!(play.say(1, Some(3), &many_keys()).continues);
    assert_eq!(play.fail(1, Some(3), "ErrorRecoveryLevel=0"), (2, 0));
    assert_eq!(play.login.failure(), Some(Misbehaviour::TextWithinAnswer.into()));
}
