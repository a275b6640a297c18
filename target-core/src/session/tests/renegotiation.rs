//! Event 4: another MaxRecvDataSegmentLength than that of the login.

use super::bench::{Initiator, answer, config, good, pattern};
use super::group::Group;
use super::small_talk::told;
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::{NopOut, TextRequest};
use crate::pdu::target::TargetPdu;
use crate::scsi::lun_address::LunAddress;
use crate::session::event::{CloseReason, Leg};
use std::time::Duration;

/// That of the login.
const OLD: u32 = 256 << 10;
const NEW: u32 = 512 << 10;
const DECLARED: &str = "MaxRecvDataSegmentLength=524288 ";

#[track_caller]
fn assert_asks(pdu: TargetPdu, seconds: u16) {
    let TargetPdu::AsyncMessage(message) = pdu else { panic!("expected a message, not {pdu:?}") };
    assert_eq!((message.event, message.vendor_code, message.parameters), (4, 0, [0, 0, seconds]));
    assert_eq!((message.lun, message.data.len()), (LunAddress::default(), 0));
}

fn ask(initiator: &mut Initiator, length: u32) {
    initiator.connection.request_negotiation(Leg::FIRST, length, 7);
}

fn asked(length: u32) -> Initiator {
    let mut initiator = Initiator::new();
    ask(&mut initiator, length);
    assert_asks(initiator.only(), 7);
    initiator
}

/// A PDU with so much data that wants no answer.
fn bulk(initiator: &mut Initiator, length: u32) -> NopOut {
    NopOut { initiator_task_tag: RESERVED_TAG, ..initiator.nop(&pattern(length as usize)) }
}

fn take(initiator: &mut Initiator, length: u32) {
    let nop = bulk(initiator, length);
    initiator.send(nop);
    initiator.silence();
}

#[track_caller]
fn refuse(mut initiator: Initiator, length: u32) {
    let nop = bulk(&mut initiator, length);
    initiator.send(nop);
    assert_eq!(initiator.rejected(), 0x04);
    assert_eq!(initiator.closed(), CloseReason::ProtocolError);
}

fn declared(initiator: &Initiator) -> Option<u32> {
    let parameters = initiator.connection.parameters(Leg::FIRST);
    parameters.map(|parameters| parameters.target_max_recv_data_segment_length)
}

#[test]
fn the_answer_to_the_next_text_declares_once_and_longer_pdus_are_taken() {
    let mut initiator = Initiator::with(config(), "MaxBurstLength=1048576");
    ask(&mut initiator, NEW);
    assert_asks(initiator.only(), 7);
    assert_eq!(declared(&initiator), Some(OLD));
    assert_eq!(told(&mut initiator, ""), DECLARED);
    assert_eq!(declared(&initiator), Some(NEW));
    assert_eq!(told(&mut initiator, ""), "");
    take(&mut initiator, NEW);
    // Data that was asked for may come so too.
    let write = initiator.write(NEW);
    initiator.send(write);
    let r2t = initiator.r2t();
    assert_eq!(r2t.desired_length, NEW);
    initiator.send(answer(&r2t, &pattern(NEW as usize)));
    let (id, command) = initiator.execute();
    assert_eq!(command.data_out.len(), NEW as usize);
    initiator.complete(id, good(Vec::new(), NEW.into()));
    assert_eq!(initiator.response().status, 0);
    refuse(initiator, NEW + 1);
}

#[test]
fn the_initiators_own_keys_hold_beside_ours() {
    let mut initiator = asked(NEW);
    assert_eq!(told(&mut initiator, "MaxRecvDataSegmentLength=512"), DECLARED);
    let ping = initiator.nop(&pattern(1000));
    initiator.send(ping);
    assert!(matches!(initiator.only(), TargetPdu::NopIn(nop) if nop.data.len() == 512));
    // Its own is refused by name: no key stands twice in a text, so ours comes with the next.
    let mut initiator = asked(NEW);
    assert_eq!(told(&mut initiator, "MaxRecvDataSegmentLength=1"), "MaxRecvDataSegmentLength=Reject ");
    assert_eq!(declared(&initiator), Some(OLD));
    assert_eq!(told(&mut initiator, "X-unknown=1"), format!("X-unknown=NotUnderstood {DECLARED}"));
}

#[test]
fn before_the_answer_nothing_longer_is_taken() {
    refuse(asked(NEW), OLD + 1);
}

#[test]
fn what_was_allowed_before_stays_allowed_when_less_is_declared() {
    let mut initiator = asked(8192);
    take(&mut initiator, OLD);
    assert_eq!(told(&mut initiator, ""), "MaxRecvDataSegmentLength=8192 ");
    assert_eq!(declared(&initiator), Some(8192));
    take(&mut initiator, OLD);
    refuse(initiator, OLD + 1);
}

#[test]
fn it_is_asked_for_once() {
    let mut initiator = asked(NEW);
    ask(&mut initiator, NEW);
    initiator.silence();
    // Back to what it knows: there is nothing to be told.
    ask(&mut initiator, OLD);
    initiator.silence();
    assert_eq!(told(&mut initiator, ""), "");
    ask(&mut initiator, NEW);
    assert_asks(initiator.only(), 7);
    assert_eq!(told(&mut initiator, ""), DECLARED);
    ask(&mut initiator, NEW);
    initiator.silence();
}

#[test]
fn a_text_that_breaks_the_rules_does_not_lose_it() {
    let mut initiator = asked(NEW);
    let bad = TextRequest { target_transfer_tag: 5, ..initiator.text("") };
    initiator.send(bad);
    assert_eq!(initiator.rejected(), 0x09);
    let twice = initiator.text("X-a=1 X-a=2");
    initiator.send(twice);
    assert_eq!(initiator.rejected(), 0x04);
    assert_eq!(told(&mut initiator, ""), DECLARED);
}

/// An answer that is too long for one PDU is abandoned half read: the initiator has not heard the end of it.
#[test]
fn an_answer_that_is_given_up_does_not_lose_it() {
    let mut initiator = Initiator::with(config(), "MaxRecvDataSegmentLength=512");
    ask(&mut initiator, NEW);
    assert_asks(initiator.only(), 7);
    let long: String = (0..40).map(|n| format!("X-{n}=1 ")).collect();
    let begun = |initiator: &mut Initiator| {
        let request = initiator.text(&long);
        initiator.send(request.clone());
        let TargetPdu::Text(part) = initiator.only() else { panic!("expected text") };
        assert!(part.continues);
        (request, part)
    };
    begun(&mut initiator);
    assert_eq!(declared(&initiator), Some(OLD));
    // Another value comes up while the one before is being told: that is asked for in its turn.
    let (request, part) = begun(&mut initiator);
    ask(&mut initiator, OLD);
    assert_asks(initiator.only(), 7);
    let go_on = TextRequest {
        initiator_task_tag: request.initiator_task_tag,
        target_transfer_tag: part.target_transfer_tag,
        ..initiator.text("")
    };
    let mut rest = String::new();
    loop {
        initiator.send(go_on.clone());
        let TargetPdu::Text(part) = initiator.only() else { panic!("expected text") };
        rest += &String::from_utf8_lossy(&part.data);
        if !part.continues {
            break;
        }
    }
    assert!(rest.ends_with("MaxRecvDataSegmentLength=524288\0"), "{rest:?}");
    assert_eq!(declared(&initiator), Some(NEW));
    assert_eq!(told(&mut initiator, ""), "MaxRecvDataSegmentLength=262144 ");
}

#[test]
fn silence_has_no_consequence() {
    let mut initiator = asked(NEW);
    // No timer but that of the ping.
    assert_eq!(initiator.sleep(), config().nop_interval);
    let TargetPdu::NopIn(ping) = initiator.only() else { panic!("expected a ping") };
    let pong = NopOut {
        initiator_task_tag: RESERVED_TAG,
        target_transfer_tag: ping.target_transfer_tag,
        ..initiator.nop(b"")
    };
    initiator.send(pong);
    initiator.now += Duration::from_secs(20);
    initiator.connection.handle_timeout(initiator.now);
    take(&mut initiator, OLD);
    let read = initiator.read(512);
    initiator.send(read);
    let (id, _) = initiator.execute();
    initiator.complete(id, good(pattern(512), 0));
    assert!(matches!(initiator.only(), TargetPdu::DataIn(data) if data.status.is_some()));
}

#[test]
fn each_connection_is_asked_and_told_for_itself() {
    let mut group = Group::of(2);
    let other = group.lead.connection.leg_of(super::bench::CID + 1).expect("the second");
    group.heard(Leg::FIRST);
    for leg in [Leg::FIRST, other] {
        group.lead.connection.request_negotiation(leg, NEW, 3);
        assert_asks(group.only(leg), 3);
        group.silence();
    }
    let request = group.lead.text("");
    group.send(other, request);
    assert!(matches!(group.only(other), TargetPdu::Text(answer) if answer.data.starts_with(b"MaxRecv")));
    let nop = bulk(&mut group.lead, NEW);
    group.send(other, nop.clone());
    group.silence();
    // The other one has heard nothing yet.
    group.send(Leg::FIRST, nop);
    assert!(matches!(group.heard(Leg::FIRST).as_slice(), [TargetPdu::Reject(_)]));
    assert_eq!(group.closed(), (Leg::FIRST, CloseReason::ProtocolError));
}

#[test]
fn those_who_have_no_use_for_it_are_not_asked() {
    let mut discovery = Initiator::discovery();
    ask(&mut discovery, NEW);
    discovery.silence();
    assert_eq!(told(&mut discovery, ""), "");
    // Not logged in.
    let mut newcomer = Initiator::connected(config());
    ask(&mut newcomer, NEW);
    newcomer.silence();
    // Asked to log out.
    let mut leaving = Initiator::new();
    leaving.connection.request_logout(Leg::FIRST, leaving.now, 5);
    assert!(matches!(leaving.only(), TargetPdu::AsyncMessage(message) if message.event == 1));
    ask(&mut leaving, NEW);
    leaving.silence();
}
