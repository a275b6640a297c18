//! Keepalive.

use super::bench::{Initiator, config, good, pattern};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::NopOut;
use crate::pdu::target::{NopIn, TargetPdu};
use crate::session::config::ConnectionConfig;
use crate::session::event::{CloseReason, Leg};
use bytes::BytesMut;
use std::time::Duration;

fn ping(initiator: &mut Initiator) -> NopIn {
    match initiator.only() {
        TargetPdu::NopIn(nop) => nop,
        other => panic!("expected a ping, not {other:?}"),
    }
}

fn pong(initiator: &mut Initiator, ping: &NopIn) {
    let pong = NopOut {
        initiator_task_tag: RESERVED_TAG,
        target_transfer_tag: ping.target_transfer_tag,
        ..initiator.nop(b"")
    };
    initiator.send(pong);
}

#[test]
fn a_silent_initiator_is_asked_and_lives() {
    let mut initiator = Initiator::new();
    for _ in 0..3 {
        assert_eq!(initiator.sleep(), Duration::from_secs(30));
        let nop = ping(&mut initiator);
        assert_eq!(nop.initiator_task_tag, RESERVED_TAG);
        assert_ne!(nop.target_transfer_tag, RESERVED_TAG);
        initiator.now += Duration::from_secs(9);
        pong(&mut initiator, &nop);
        initiator.silence();
    }
}

#[test]
fn a_silent_initiator_that_stays_silent_is_gone() {
    let mut initiator = Initiator::new();
    assert_eq!(initiator.sleep(), Duration::from_secs(30));
    ping(&mut initiator);
    assert_eq!(initiator.sleep(), Duration::from_secs(10));
    assert_eq!(initiator.closed(), CloseReason::NopTimeout);
}

#[test]
fn whatever_it_says_is_a_sign_of_life() {
    let mut initiator = Initiator::new();
    initiator.sleep();
    ping(&mut initiator);
    let command = initiator.command();
    initiator.send(command);
    let (id, _) = initiator.execute();
    initiator.complete(id, good(vec![], 0));
    initiator.response();
    assert_eq!(initiator.sleep(), Duration::from_secs(30));
    ping(&mut initiator);
}

#[test]
fn a_long_pdu_may_take_its_time() {
    let mut initiator = Initiator::new();
    let nop = initiator.nop(&pattern(100_000));
    let bytes = initiator.bytes(nop);
    let mut input = BytesMut::new();
    initiator.sleep();
    ping(&mut initiator);
    for part in bytes.chunks(20_000) {
        initiator.now += Duration::from_secs(9);
        input.extend_from_slice(part);
        initiator.connection.receive(Leg::FIRST, initiator.now, &mut input);
        initiator.connection.handle_timeout(initiator.now);
    }
    assert_eq!(ping(&mut initiator).data, pattern(100_000));
    assert_eq!(initiator.sleep(), Duration::from_secs(30));
}

#[test]
fn an_early_call_does_nothing() {
    let mut initiator = Initiator::new();
    initiator.now += Duration::from_secs(29);
    initiator.connection.handle_timeout(initiator.now);
    initiator.silence();
}

#[test]
fn one_who_waits_for_us_is_not_asked() {
    let mut initiator = Initiator::new();
    let read = initiator.read(512);
    initiator.send(read);
    let (id, _) = initiator.execute();
    for _ in 0..5 {
        assert_eq!(initiator.sleep(), Duration::from_secs(30));
        initiator.silence();
    }
    initiator.complete(id, good(pattern(512), 0));
    // The answer has not been fetched: the driver knows more about the peer than we do.
    assert_eq!(initiator.sleep(), Duration::from_secs(30));
    assert!(matches!(initiator.only(), TargetPdu::DataIn(_)));
    assert_eq!(initiator.sleep(), Duration::from_secs(30));
    ping(&mut initiator);
}

#[test]
fn it_can_be_switched_off() {
    let off = ConnectionConfig { nop_interval: Duration::ZERO, ..config() };
    assert_eq!(Initiator::with(off, "").connection.next_timeout(), None);
    let ages = ConnectionConfig { nop_interval: Duration::MAX, login_timeout: Duration::MAX, ..config() };
    assert_eq!(Initiator::with(ages, "").connection.next_timeout(), None);
}
