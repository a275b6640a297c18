//! NOP-Out, Text, and sessions for discovery.

use super::bench::{Initiator, TARGET, config, pattern};
use crate::pdu::fields::{RESERVED_TAG, Serial};
use crate::pdu::initiator::{InitiatorPdu, NopOut, TextRequest};
use crate::pdu::target::TargetPdu;
use crate::session::event::CloseReason;

pub(super) fn told(initiator: &mut Initiator, said: &str) -> String {
    let request = initiator.text(said);
    initiator.send(request);
    match initiator.only() {
        TargetPdu::Text(response) => String::from_utf8_lossy(&response.data).replace('\0', " "),
        other => panic!("expected text, not {other:?}"),
    }
}

#[test]
fn a_ping_comes_back_as_far_as_it_fits() {
    let mut initiator = Initiator::with(config(), "MaxRecvDataSegmentLength=512");
    for immediate in [true, false] {
        let mut ping = NopOut { immediate, ..initiator.nop(&pattern(2000)) };
        if !immediate {
            ping.cmd_sn = initiator.take_cmd_sn();
        }
        initiator.send(ping.clone());
        let TargetPdu::NopIn(nop) = initiator.only() else { panic!("expected a NOP-In") };
        assert_eq!(
            (nop.initiator_task_tag, nop.target_transfer_tag),
            (ping.initiator_task_tag, RESERVED_TAG)
        );
        assert_eq!(nop.data, pattern(512));
        assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    }
}

#[test]
fn a_nop_that_wants_no_answer_gets_none() {
    let mut initiator = Initiator::new();
    let nop = NopOut { initiator_task_tag: RESERVED_TAG, ..initiator.nop(b"") };
    initiator.send(nop);
    initiator.silence();
}

#[test]
fn text_in_a_normal_session() {
    let mut initiator = Initiator::new();
    let own = format!("TargetName={TARGET} TargetAddress=192.0.2.1:3260,1 ");
    assert_eq!(told(&mut initiator, "SendTargets="), own);
    assert_eq!(told(&mut initiator, "MaxRecvDataSegmentLength=512"), "");
    let ping = initiator.nop(&pattern(1000));
    initiator.send(ping);
    assert!(matches!(initiator.only(), TargetPdu::NopIn(nop) if nop.data.len() == 512));
    // In the order of commands, and with a bad tag.
    let bad = TextRequest {
        immediate: false,
        cmd_sn: initiator.take_cmd_sn(),
        target_transfer_tag: 5,
        ..initiator.text("")
    };
    initiator.send(bad);
    assert_eq!(initiator.rejected(), 0x09);
    assert_eq!(initiator.numbering.exp_cmd_sn, Serial(initiator.cmd_sn));
    let read = initiator.read(512);
    initiator.send(read.clone());
    initiator.execute();
    let tag_in_use = TextRequest { initiator_task_tag: read.initiator_task_tag, ..initiator.text("") };
    initiator.send(tag_in_use);
    assert_eq!(initiator.rejected(), 0x07);
}

#[test]
fn a_discovery_session_is_for_discovery() {
    let mut initiator = Initiator::discovery();
    assert!(told(&mut initiator, "SendTargets=All").starts_with(&format!("TargetName={TARGET} ")));
    let ping = initiator.nop(b"x");
    initiator.send(ping);
    assert!(matches!(initiator.only(), TargetPdu::NopIn(_)));
    let (early, command) = (initiator.read(512), initiator.read(512));
    let management = initiator.management(5);
    let refused: [InitiatorPdu; 2] = [early.into(), management.into()];
    for pdu in refused {
        initiator.send(pdu);
        assert_eq!(initiator.rejected(), 0x05);
    }
    initiator.send(command);
    assert_eq!(initiator.rejected(), 0x05);
    let logout = initiator.logout(0);
    initiator.send(logout);
    assert!(matches!(initiator.only(), TargetPdu::Logout(response) if response.response == 0));
    assert_eq!(initiator.closed(), CloseReason::LogoutRequested);
}
