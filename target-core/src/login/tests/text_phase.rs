//! Text Requests of the full feature phase.

use super::bench::{CHAP, Lab, ONE_WAY, OPEN, PRIVATE, SHARED, pairs, text};
use crate::login::parameters::Parameters;
use crate::login::text::{MAX_TEXT_LEN, TextError};
use crate::login::{TextPhase, TextReject};
use crate::pdu::fields::{Isid, RESERVED_TAG, Serial};
use crate::pdu::initiator::TextRequest;
use crate::pdu::target::TextResponse;
use crate::scsi::lun_address::LunAddress;
use crate::session::event::{SessionRequest, SessionType};
use bytes::Bytes;
use std::sync::Arc;

pub(super) struct Talk {
    phase: TextPhase,
    parameters: Parameters,
}

impl Talk {
    pub(super) fn new(lab: Lab, initiator: &str, target: Option<&str>) -> Self {
        let session = SessionRequest {
            session_type: if target.is_some() { SessionType::Normal } else { SessionType::Discovery },
            initiator_name: initiator.into(),
            isid: Isid::default(),
            tsih: 0,
            cid: 0,
            target_name: target.map(Into::into),
            portal_group_tag: 0,
            relative_port: 0,
            parameters: Parameters::default(),
        };
        Self { phase: TextPhase::new(Arc::new(lab), &session), parameters: Parameters::default() }
    }

    fn discovery() -> Self {
        Self::new(Lab::new(), "iqn.x:y", None)
    }

    fn normal() -> Self {
        Self::new(Lab::new(), "iqn.x:y", Some(CHAP))
    }

    fn send(&mut self, request: TextRequest) -> Result<TextResponse, TextReject> {
        self.phase.handle(&request, &mut self.parameters)
    }

    /// One request, one final answer.
    pub(super) fn ask(&mut self, said: &str) -> String {
        let response = self.send(request(said)).expect("an answer");
        assert!(response.is_final && !response.continues);
        assert_eq!(response.target_transfer_tag, RESERVED_TAG);
        pairs(&response.data)
    }
}

fn request(said: &str) -> TextRequest {
    TextRequest {
        immediate: true,
        is_final: true,
        continues: false,
        lun: LunAddress([0; 8]),
        initiator_task_tag: 5,
        target_transfer_tag: RESERVED_TAG,
        cmd_sn: Serial(1),
        exp_stat_sn: Serial(1),
        data: text(said).into(),
    }
}

pub(super) fn told(names: &[&str]) -> String {
    let addresses = "TargetAddress=192.0.2.1:3260,1 TargetAddress=[2001:db8::1]:3260,3";
    names.iter().map(|name| format!("TargetName={name} {addresses}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn discovery_tells_all_that_admit_the_initiator() {
    assert_eq!(Talk::discovery().ask("SendTargets=All"), told(&[OPEN, CHAP, ONE_WAY, SHARED]));
    let mut admitted = Talk::new(Lab::new(), "iqn.2026-12.bar:vm", None);
    assert_eq!(admitted.ask("SendTargets=All"), told(&[OPEN, CHAP, ONE_WAY, SHARED, PRIVATE]));
}

#[test]
fn discovery_tells_one_by_name() {
    let mut talk = Talk::discovery();
    assert_eq!(talk.ask(&format!("SendTargets={CHAP}")), told(&[CHAP]));
    assert_eq!(talk.ask("SendTargets=iqn.no:such"), "");
    assert_eq!(talk.ask(&format!("SendTargets={PRIVATE}")), "");
    assert_eq!(talk.ask("SendTargets="), "SendTargets=Reject");
}

#[test]
fn a_normal_session_hears_of_its_own_target_only() {
    let mut talk = Talk::normal();
    assert_eq!(talk.ask("SendTargets="), told(&[CHAP]));
    assert_eq!(talk.ask(&format!("SendTargets={}", CHAP.to_uppercase())), told(&[CHAP]));
    assert_eq!(talk.ask(&format!("SendTargets={OPEN}")), "");
    assert_eq!(talk.ask("SendTargets=All"), "SendTargets=Reject");
}

#[test]
fn other_keys() {
    let mut talk = Talk::normal();
    assert_eq!(talk.ask(""), "");
    assert_eq!(talk.ask("MaxRecvDataSegmentLength=1024"), "");
    assert_eq!(talk.parameters.initiator_max_recv_data_segment_length, 1024);
    assert_eq!(talk.ask("MaxRecvDataSegmentLength=1"), "MaxRecvDataSegmentLength=Reject");
    assert_eq!(talk.parameters.initiator_max_recv_data_segment_length, 1024);
    assert_eq!(talk.ask("InitiatorAlias=me"), "");
    assert_eq!(talk.parameters.initiator_alias.as_deref(), Some("me"));
    assert_eq!(talk.ask("X-a=1 HeaderDigest=CRC32C"), "X-a=NotUnderstood HeaderDigest=Reject");
    assert_eq!(talk.ask("TargetAlias=x"), "TargetAlias=Reject");
    assert_eq!(talk.ask("InitiatorName=iqn.x:z"), "InitiatorName=Reject");
    assert_eq!(talk.parameters.header_digest, Parameters::default().header_digest);
}

#[test]
fn a_long_list_comes_in_pieces() {
    let mut talk = Talk::new(Lab::with_targets(100), "iqn.x:y", None);
    talk.parameters.initiator_max_recv_data_segment_length = 1000;
    let mut response = talk.send(request("SendTargets=All")).expect("an answer");
    let tag = response.target_transfer_tag;
    let mut heard = Vec::new();
    loop {
        assert!(response.data.len() <= 1000);
        heard.extend_from_slice(&response.data);
        if response.is_final {
            break;
        }
        assert!(response.continues);
        assert_eq!(response.target_transfer_tag, tag);
        response = talk.send(TextRequest { target_transfer_tag: tag, ..request("") }).expect("an answer");
    }
    assert_eq!(response.target_transfer_tag, RESERVED_TAG);
    assert_eq!(pairs(&heard).matches("TargetName=").count(), 100);
    // The exchange is over, and so is its tag.
    let late = TextRequest { target_transfer_tag: tag, ..request("") };
    assert_eq!(talk.send(late).err(), Some(TextReject::UnknownTag));
}

#[test]
fn a_request_may_come_in_pieces() {
    let mut talk = Talk::discovery();
    let first =
        TextRequest { is_final: false, continues: true, data: Bytes::from_static(b"SendTar"), ..request("") };
    let response = talk.send(first).expect("an answer");
    assert!(!response.is_final && !response.continues && response.data.is_empty());
    let rest = TextRequest {
        target_transfer_tag: response.target_transfer_tag,
        data: Bytes::from_static(b"gets=All\0"),
        ..request("")
    };
    let response = talk.send(rest).expect("an answer");
    assert!(response.is_final);
    assert_eq!(pairs(&response.data), told(&[OPEN, CHAP, ONE_WAY, SHARED]));
}

#[test]
fn the_initiator_may_keep_the_exchange_open() {
    let mut talk = Talk::normal();
    let response = talk.send(TextRequest { is_final: false, ..request("X-a=1") }).expect("an answer");
    assert!(!response.is_final);
    let last = TextRequest { target_transfer_tag: response.target_transfer_tag, ..request("") };
    assert!(talk.send(last).expect("an answer").is_final);
}

#[test]
fn a_new_exchange_drops_the_old_one() {
    let mut talk = Talk::discovery();
    let half = TextRequest { is_final: false, continues: true, ..request("X-a=1") };
    let old = talk.send(half).expect("an answer").target_transfer_tag;
    assert_eq!(talk.ask("X-b=1"), "X-b=NotUnderstood");
    let late = TextRequest { target_transfer_tag: old, ..request("") };
    assert_eq!(talk.send(late).err(), Some(TextReject::UnknownTag));
}

#[test]
fn what_is_rejected() {
    let many: String = (0..257).map(|n| format!("X-{n}=1 ")).collect();
    let table = [
        (TextRequest { continues: true, ..request("") }, TextReject::FinalWithinText, 0x04),
        (TextRequest { target_transfer_tag: 1, ..request("") }, TextReject::UnknownTag, 0x09),
        (request("word"), TextReject::Text(TextError::NoEquals), 0x04),
        (request("X-a=1 X-a=2"), TextReject::Repeated, 0x04),
        (request("SendTargets=All SendTargets=All"), TextReject::Repeated, 0x04),
        (request(&many), TextReject::TooManyKeys, 0x04),
        (
            TextRequest { data: vec![b'a'; MAX_TEXT_LEN + 1].into(), ..request("") },
            TextReject::Text(TextError::TextTooLong),
            0x04,
        ),
    ];
    for (request, why, reason) in table {
        let mut talk = Talk::discovery();
        assert_eq!(talk.send(request).err(), Some(why));
        assert_eq!(why.reason(), reason);
        // And the next exchange is none the worse for it.
        assert_eq!(talk.ask("X-b=1"), "X-b=NotUnderstood");
    }
}

#[test]
fn the_task_tag_belongs_to_the_exchange() {
    let mut talk = Talk::normal();
    let response = talk.send(TextRequest { is_final: false, ..request("X-a=1") }).expect("an answer");
    let other = TextRequest {
        initiator_task_tag: 6,
        target_transfer_tag: response.target_transfer_tag,
        ..request("")
    };
    assert_eq!(talk.send(other).err(), Some(TextReject::UnknownTag));
}

#[test]
fn an_answer_is_not_interrupted() {
    let mut talk = Talk::new(Lab::with_targets(100), "iqn.x:y", None);
    let response = talk.send(request("SendTargets=All")).expect("an answer");
    assert!(response.continues);
    let more = TextRequest { target_transfer_tag: response.target_transfer_tag, ..request("X-a=1") };
    assert_eq!(talk.send(more).err(), Some(TextReject::TextWithinAnswer));
}
