//! An initiator that has several connections in one session.

use super::bench::{CID, Initiator, TARGET, TSIH, config, good};
use crate::login::parameters::Offer;
use crate::pdu::fields::{RESERVED_TAG, Serial};
use crate::pdu::frame::FrameDecoder;
use crate::pdu::initiator::{InitiatorPdu, LoginRequest, NopOut};
use crate::pdu::target::{LoginResponse, Numbering, TargetPdu};
use crate::scsi::command::TaskManagementOutcome;
use crate::session::config::ConnectionConfig;
use crate::session::event::{CloseReason, Event, Leg, SessionRequest, TaskId};
use bytes::{Buf, BytesMut};
use std::collections::BTreeMap;

/// The session; requests are made by `lead`, whose numbers and tags are those of all.
pub(super) struct Group {
    pub(super) lead: Initiator,
    ears: BTreeMap<Leg, Ear>,
}

/// What one connection hears.
struct Ear {
    decoder: FrameDecoder,
    exp_stat_sn: Option<u32>,
}

pub(super) fn group_config() -> ConnectionConfig {
    ConnectionConfig { offer: Offer { max_connections: 4, ..Offer::default() }, ..config() }
}

fn names() -> String {
    format!("InitiatorName=iqn.x:y TargetName={TARGET}")
}

impl Group {
    /// Of `count` connections, with CID 9, 10 and so on.
    pub(super) fn of(count: u16) -> Self {
        Self::with(count, "")
    }

    /// With these keys beside the usual ones.
    pub(super) fn with(count: u16, keys: &str) -> Self {
        let usual = "MaxConnections=8 InitialR2T=No MaxOutstandingR2T=1 iSCSIProtocolLevel=2";
        let lead = Initiator::with(group_config(), &format!("{usual} {keys}"));
        let mut group = Self { lead, ears: BTreeMap::new() };
        group.listen(Leg::FIRST);
        for nth in 1..count {
            group.join(CID + nth);
        }
        group
    }

    fn listen(&mut self, leg: Leg) {
        self.ears.insert(leg, Ear { decoder: FrameDecoder::new((1 << 24) - 1), exp_stat_sn: None });
    }

    /// A connection that has said all for its login but waits to be let in.
    pub(super) fn newcomer(&self, cid: u16, tsih: u16) -> (Initiator, SessionRequest) {
        let mut newcomer = Initiator::connected(group_config());
        newcomer.now = self.lead.now;
        newcomer.cmd_sn = self.lead.cmd_sn;
        let login = LoginRequest { cid, tsih, ..newcomer.login_request(&names()) };
        newcomer.send(login);
        let request = newcomer.bind_event();
        (newcomer, request)
    }

    pub(super) fn join(&mut self, cid: u16) -> (Leg, LoginResponse, Numbering) {
        let (newcomer, request) = self.newcomer(cid, TSIH);
        assert_eq!((request.cid, request.tsih), (cid, TSIH));
        let leg = self.lead.connection.join(self.lead.now, newcomer.connection).expect("to be let in");
        assert_eq!(self.lead.connection.leg_of(cid), Some(leg));
        self.listen(leg);
        match self.heard_numbered(leg).pop() {
            Some((TargetPdu::Login(response), numbering)) => {
                assert_eq!((response.status_class, response.tsih, response.transit), (0, TSIH, true));
                (leg, response, numbering)
            }
            other => panic!("expected a login response, not {other:?}"),
        }
    }

    pub(super) fn send(&mut self, leg: Leg, pdu: impl Into<InitiatorPdu>) {
        let mut bytes = self.lead.bytes(pdu);
        self.lead.connection.receive(leg, self.lead.now, &mut bytes);
    }

    /// All that was said on a connection, with its numbers, which are checked.
    fn heard_numbered(&mut self, leg: Leg) -> Vec<(TargetPdu, Numbering)> {
        let ear = self.ears.get_mut(&leg).expect("a connection that there was");
        let Some(queue) = self.lead.connection.transmit(leg) else { return Vec::new() };
        let mut bytes = BytesMut::from(&*queue.copy_to_bytes(queue.remaining()));
        let mut heard = Vec::new();
        while let Some(frame) = ear.decoder.decode(&mut bytes).expect("a good frame") {
            let (pdu, numbering) = TargetPdu::parse(frame).expect("a good PDU");
            let (tells, counts) = match &pdu {
                TargetPdu::DataIn(data) => (data.status.is_some(), data.status.is_some()),
                TargetPdu::ReadyToTransfer(_) => (true, false),
                TargetPdu::NopIn(nop) => (true, nop.initiator_task_tag != RESERVED_TAG),
                _ => (true, true),
            };
            if tells {
                let expected = *ear.exp_stat_sn.get_or_insert(numbering.stat_sn.0);
                assert_eq!(numbering.stat_sn.0, expected, "StatSN");
                ear.exp_stat_sn = Some(expected.wrapping_add(u32::from(counts)));
            }
            heard.push((pdu, numbering));
        }
        assert!(bytes.is_empty(), "half a PDU");
        heard
    }

    pub(super) fn heard(&mut self, leg: Leg) -> Vec<TargetPdu> {
        self.heard_numbered(leg).into_iter().map(|(pdu, _)| pdu).collect()
    }

    pub(super) fn only(&mut self, leg: Leg) -> TargetPdu {
        let mut heard = self.heard(leg);
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    pub(super) fn silence(&mut self) {
        let legs: Vec<_> = self.ears.keys().copied().collect();
        for leg in legs {
            assert_eq!(self.heard(leg), [], "on {leg:?}");
        }
        assert!(self.lead.connection.poll_event().is_none());
    }

    /// The command that is to be executed next.
    pub(super) fn executed(&mut self) -> (TaskId, u32) {
        let (id, command) = self.lead.execute();
        (id, command.tag.0)
    }

    pub(super) fn complete(&mut self, id: TaskId) {
        self.lead.complete(id, good(Vec::new(), 0));
    }

    pub(super) fn managed(&mut self, id: TaskId) {
        self.lead.connection.managed(self.lead.now, id, TaskManagementOutcome::Complete);
    }

    /// What was answered on a connection, by tag.
    pub(super) fn answered(&mut self, leg: Leg) -> Vec<u32> {
        let tag = |pdu| match pdu {
            TargetPdu::ScsiResponse(response) => response.initiator_task_tag,
            other => panic!("expected a response, not {other:?}"),
        };
        self.heard(leg).into_iter().map(tag).collect()
    }

    /// Answers the ping on a connection, and acknowledges thereby all that was said there.
    pub(super) fn acknowledge(&mut self, leg: Leg) {
        let target_transfer_tag = match self.only(leg) {
            TargetPdu::NopIn(nop) if nop.initiator_task_tag == RESERVED_TAG => nop.target_transfer_tag,
            other => panic!("expected a ping, not {other:?}"),
        };
        let expected = self.ears.get(&leg).and_then(|ear| ear.exp_stat_sn).expect("something was said");
        let pong = NopOut {
            initiator_task_tag: RESERVED_TAG,
            target_transfer_tag,
            exp_stat_sn: Serial(expected),
            ..self.lead.nop(b"")
        };
        self.send(leg, pong);
    }

    pub(super) fn closed(&mut self) -> (Leg, CloseReason) {
        match self.lead.connection.poll_event() {
            Some(Event::Close(leg, reason)) => (leg, reason),
            other => panic!("expected an end, not {other:?}"),
        }
    }

    /// The driver finds that a connection has gone.
    pub(super) fn part(&mut self, leg: Leg) {
        assert!(self.lead.connection.part(leg, self.lead.now).is_some());
        assert!(self.lead.connection.is_closing(leg));
    }
}
