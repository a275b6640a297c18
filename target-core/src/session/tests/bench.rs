//! An initiator of few words, joined with a connection in virtual time.

use crate::login::catalog::{AuthPolicy, Catalog, InitiatorList, TargetEntry, Whereabouts};
use crate::login::parameters::{Digest, Offer};
use crate::payload::Payload;
use crate::pdu::fields::{Isid, RESERVED_TAG, Serial};
use crate::pdu::frame::FrameDecoder;
use crate::pdu::initiator::{
    DataOut, InitiatorPdu, LoginRequest, LogoutRequest, NopOut, ScsiCommand, TaskManagementRequest,
    TextRequest,
};
use crate::pdu::target::{LoginResponse, Numbering, ReadyToTransfer, Residual, ScsiResponse, TargetPdu};
use crate::scsi::command::{Command, Outcome, Response, TaskAttribute, TaskManagement};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Status;
use crate::session::config::ConnectionConfig;
use crate::session::connection::Connection;
use crate::session::event::{BindOutcome, CloseReason, Event, Leg, SessionRequest, TaskId};
use bytes::{Buf, Bytes, BytesMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const TARGET: &str = "iqn.2026-12.lab:tgt";
pub(super) const CID: u16 = 9;
pub(super) const TSIH: u16 = 77;
const LOGIN_TAG: u32 = 0x1234;

/// One target that lets everyone in.
struct Lab;

impl Catalog for Lab {
    fn target(&self, name: &str) -> Option<Arc<TargetEntry>> {
        self.targets().into_iter().find(|target| *target.name == *name)
    }

    fn targets(&self) -> Vec<Arc<TargetEntry>> {
        vec![Arc::new(TargetEntry {
            name: TARGET.into(),
            alias: None,
            portal_group_tag: 1,
            relative_port: 1,
            addresses: vec![("192.0.2.1:3260".into(), 1)],
            initiators: InitiatorList::default(),
            lets_in_network: true,
            served_here: true,
            whereabouts: Whereabouts::Here,
            auth: AuthPolicy::Open,
        })]
    }

    fn discovery_auth(&self) -> AuthPolicy {
        AuthPolicy::Open
    }
}

pub(super) fn config() -> ConnectionConfig {
    ConnectionConfig {
        offer: Offer::default(),
        login_timeout: Duration::from_secs(15),
        nop_interval: Duration::from_secs(30),
        nop_timeout: Duration::from_secs(10),
        logout_timeout: Duration::from_secs(5),
        command_window: 16,
        max_command_bytes: 16 << 20,
        data_out_budget: 4 << 20,
        entropy: |buffer| buffer.fill(0x5a),
    }
}

pub(super) struct Initiator {
    pub(super) connection: Connection,
    pub(super) now: Instant,
    decoder: FrameDecoder,
    digests: (Digest, Digest),
    pub(super) cmd_sn: u32,
    /// StatSN of the next status, once there was one.
    exp_stat_sn: Option<u32>,
    pub(super) numbering: Numbering,
    next_tag: u32,
}

impl Initiator {
    /// Connected, nothing said.
    pub(super) fn connected(config: ConnectionConfig) -> Self {
        let now = Instant::now();
        Self {
            connection: Connection::new(Arc::new(config), Arc::new(Lab), now),
            now,
            decoder: FrameDecoder::new((1 << 24) - 1),
            digests: (Digest::None, Digest::None),
            cmd_sn: 0xffff_fffe,
            exp_stat_sn: None,
            numbering: Numbering::default(),
            next_tag: 1,
        }
    }

    /// Logged in with these keys beside the names.
    pub(super) fn with(config: ConnectionConfig, keys: &str) -> Self {
        let mut initiator = Self::connected(config);
        let names = format!("InitiatorName=iqn.x:y TargetName={TARGET}");
        initiator.log_in(&format!("{names} {keys}"));
        initiator
    }

    /// Logged in with what Linux would say.
    pub(super) fn new() -> Self {
        Self::with(
            config(),
            "InitialR2T=No ImmediateData=Yes MaxRecvDataSegmentLength=262144 MaxOutstandingR2T=1",
        )
    }

    pub(super) fn discovery() -> Self {
        let mut initiator = Self::connected(config());
        initiator.log_in("InitiatorName=iqn.x:y SessionType=Discovery");
        initiator
    }

    pub(super) fn log_in(&mut self, keys: &str) {
        self.send(self.login_request(keys));
        let session = self.bind_event();
        assert!(self.heard().is_empty());
        assert!(self.connection.session().is_none());
        self.connection.bound(self.now, BindOutcome::Bound { tsih: TSIH });
        let response = self.login_response();
        assert_eq!((response.status_class, response.status_detail), (0, 0));
        assert!(response.transit);
        assert_eq!((response.tsih, response.initiator_task_tag), (TSIH, LOGIN_TAG));
        self.digests = (session.parameters.header_digest, session.parameters.data_digest);
        self.decoder.set_digests(self.digests.0, self.digests.1);
        assert_eq!(self.connection.session().map(|session| session.tsih), Some(TSIH));
    }

    pub(super) fn bind_event(&mut self) -> SessionRequest {
        match self.connection.poll_event() {
            Some(Event::Bind(session)) => session,
            other => panic!("expected to bind, not {other:?}"),
        }
    }

    pub(super) fn login_response(&mut self) -> LoginResponse {
        match self.only() {
            TargetPdu::Login(response) => response,
            other => panic!("expected a login response, not {other:?}"),
        }
    }

    /// Straight from the operational stage to the full feature phase.
    pub(super) fn login_request(&self, keys: &str) -> LoginRequest {
        LoginRequest {
            transit: true,
            continues: false,
            current_stage: 1,
            next_stage: 3,
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 1, 2, 3, 4, 5]),
            tsih: 0,
            initiator_task_tag: LOGIN_TAG,
            cid: CID,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: text(keys),
        }
    }

    /// The bytes of a PDU as this connection has them.
    pub(super) fn bytes(&self, pdu: impl Into<InitiatorPdu>) -> BytesMut {
        let mut bytes = BytesMut::new();
        pdu.into().encode(self.digests.0, self.digests.1, &mut bytes);
        bytes
    }

    pub(super) fn send(&mut self, pdu: impl Into<InitiatorPdu>) {
        let bytes = self.bytes(pdu);
        self.send_bytes(bytes);
    }

    /// The bytes arrive; what makes no whole PDU is lost.
    pub(super) fn send_bytes(&mut self, mut bytes: BytesMut) {
        self.connection.receive(Leg::FIRST, self.now, &mut bytes);
    }

    /// All that the target has said, numbers checked.
    pub(super) fn heard(&mut self) -> Vec<TargetPdu> {
        let transmit = self.connection.transmit(Leg::FIRST).expect("the connection");
        let mut bytes = BytesMut::from(&*transmit.copy_to_bytes(transmit.remaining()));
        let mut heard = Vec::new();
        while let Some(frame) = self.decoder.decode(&mut bytes).expect("a good frame") {
            let (pdu, numbering) = TargetPdu::parse(frame).expect("a good PDU");
            self.check_numbers(&pdu, numbering);
            heard.push(pdu);
        }
        assert!(bytes.is_empty(), "half a PDU");
        heard
    }

    fn check_numbers(&mut self, pdu: &TargetPdu, numbering: Numbering) {
        let is_status = match pdu {
            TargetPdu::DataIn(data) => data.status.is_some(),
            TargetPdu::ReadyToTransfer(_) => false,
            TargetPdu::NopIn(nop) => nop.initiator_task_tag != RESERVED_TAG,
            _ => true,
        };
        let told = match pdu {
            TargetPdu::DataIn(data) => data.status.is_some(),
            _ => true,
        };
        let expected = *self.exp_stat_sn.get_or_insert(numbering.stat_sn.0);
        if told {
            assert_eq!(numbering.stat_sn.0, expected, "StatSN of {pdu:?}");
        }
        if is_status {
            self.exp_stat_sn = Some(expected.wrapping_add(1));
        }
        if self.numbering != Numbering::default() {
            let back = numbering.max_cmd_sn.is_before(self.numbering.max_cmd_sn);
            assert!(!back, "MaxCmdSN went back");
        }
        self.numbering = numbering;
    }

    pub(super) fn only(&mut self) -> TargetPdu {
        let mut heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    pub(super) fn silence(&mut self) {
        assert_eq!(self.heard(), []);
        assert!(self.connection.poll_event().is_none());
    }

    /// The reason of a Reject that gives back `header`'s first byte.
    pub(super) fn rejected(&mut self) -> u8 {
        match self.only() {
            TargetPdu::Reject(reject) => reject.reason,
            other => panic!("expected a reject, not {other:?}"),
        }
    }

    pub(super) fn r2t(&mut self) -> ReadyToTransfer {
        match self.only() {
            TargetPdu::ReadyToTransfer(r2t) => r2t,
            other => panic!("expected an R2T, not {other:?}"),
        }
    }

    pub(super) fn response(&mut self) -> ScsiResponse {
        match self.only() {
            TargetPdu::ScsiResponse(response) => response,
            other => panic!("expected a response, not {other:?}"),
        }
    }

    /// ASC and ASCQ of a response with CHECK CONDITION, ABORTED COMMAND.
    pub(super) fn condition(&mut self) -> (u8, u8) {
        let response = self.response();
        assert_eq!(response.status, Status::CheckCondition as u8);
        assert_eq!(response.sense[2], 0x0b);
        (response.sense[12], response.sense[13])
    }

    pub(super) fn management_response(&mut self) -> u8 {
        match self.only() {
            TargetPdu::TaskManagement(response) => response.response,
            other => panic!("expected a task management response, not {other:?}"),
        }
    }

    pub(super) fn execute(&mut self) -> (TaskId, Command) {
        match self.connection.poll_event() {
            Some(Event::Execute(id, command)) => (id, command),
            other => panic!("expected a command, not {other:?}"),
        }
    }

    pub(super) fn manage(&mut self) -> (TaskId, TaskManagement) {
        match self.connection.poll_event() {
            Some(Event::Manage(id, function)) => (id, function),
            other => panic!("expected a function, not {other:?}"),
        }
    }

    pub(super) fn closed(&mut self) -> CloseReason {
        match self.connection.poll_event() {
            Some(Event::Close(_, reason)) => {
                assert!(self.connection.is_closing(Leg::FIRST) && !self.connection.wants_input(Leg::FIRST));
                assert_eq!(self.connection.next_timeout(), None);
                reason
            }
            other => panic!("expected the end, not {other:?}"),
        }
    }

    pub(super) fn complete(&mut self, id: TaskId, response: Response) {
        self.connection.complete(self.now, id, Outcome::Done(response));
    }

    /// Lets time pass to the next timeout and tells how long that was.
    pub(super) fn sleep(&mut self) -> Duration {
        let due = self.connection.next_timeout().expect("a timer");
        let slept = due.saturating_duration_since(self.now);
        self.now = self.now.max(due);
        self.connection.handle_timeout(self.now);
        slept
    }

    pub(super) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// A number for a command that is not immediate.
    pub(super) fn take_cmd_sn(&mut self) -> Serial {
        let cmd_sn = Serial(self.cmd_sn);
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        cmd_sn
    }

    /// A command that moves nothing, in order.
    pub(super) fn command(&mut self) -> ScsiCommand {
        ScsiCommand {
            immediate: false,
            is_final: true,
            read: false,
            write: false,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.tag(),
            expected_data_transfer_length: 0,
            bidirectional_read_length: 0,
            cmd_sn: self.take_cmd_sn(),
            exp_stat_sn: Serial(self.exp_stat_sn.unwrap_or(0)),
            cdb: smallvec::SmallVec::from_buf([0; 16]),
            immediate_data: Bytes::new(),
        }
    }

    pub(super) fn read(&mut self, length: u32) -> ScsiCommand {
        ScsiCommand { read: true, expected_data_transfer_length: length, ..self.command() }
    }

    /// A write of `length` bytes, all to be asked for.
    pub(super) fn write(&mut self, length: u32) -> ScsiCommand {
        ScsiCommand { write: true, expected_data_transfer_length: length, ..self.command() }
    }

    pub(super) fn management(&mut self, function: u8) -> TaskManagementRequest {
        TaskManagementRequest {
            immediate: true,
            function,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.tag(),
            referenced_task_tag: RESERVED_TAG,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            ref_cmd_sn: Serial(0),
            exp_data_sn: 0,
        }
    }

    pub(super) fn abort(&mut self, command: &ScsiCommand) -> TaskManagementRequest {
        TaskManagementRequest {
            referenced_task_tag: command.initiator_task_tag,
            ref_cmd_sn: command.cmd_sn,
            ..self.management(1)
        }
    }

    pub(super) fn nop(&mut self, data: &[u8]) -> NopOut {
        NopOut {
            immediate: true,
            lun: LunAddress::default(),
            initiator_task_tag: self.tag(),
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: Bytes::copy_from_slice(data),
        }
    }

    pub(super) fn text(&mut self, said: &str) -> TextRequest {
        TextRequest {
            immediate: true,
            is_final: true,
            continues: false,
            lun: LunAddress::default(),
            initiator_task_tag: self.tag(),
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: text(said),
        }
    }

    pub(super) fn logout(&mut self, reason: u8) -> LogoutRequest {
        LogoutRequest {
            immediate: true,
            reason,
            initiator_task_tag: self.tag(),
            cid: CID,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
        }
    }
}

/// Unsolicited data of a command.
pub(super) fn unsolicited(command: &ScsiCommand, offset: u32, data: &[u8], is_final: bool) -> DataOut {
    DataOut {
        is_final,
        lun: command.lun,
        initiator_task_tag: command.initiator_task_tag,
        target_transfer_tag: RESERVED_TAG,
        exp_stat_sn: Serial(0),
        data_sn: 0,
        buffer_offset: offset,
        data: Bytes::copy_from_slice(data),
    }
}

/// All that an R2T asks for, in one PDU.
pub(super) fn answer(r2t: &ReadyToTransfer, all: &[u8]) -> DataOut {
    let start = r2t.buffer_offset as usize;
    DataOut {
        is_final: true,
        lun: r2t.lun,
        initiator_task_tag: r2t.initiator_task_tag,
        target_transfer_tag: r2t.target_transfer_tag,
        exp_stat_sn: Serial(0),
        data_sn: 0,
        buffer_offset: r2t.buffer_offset,
        data: Bytes::copy_from_slice(&all[start..start + r2t.desired_length as usize]),
    }
}

pub(super) fn text(pairs: &str) -> Bytes {
    pairs.split_whitespace().map(|pair| format!("{pair}\0")).collect::<String>().into()
}

/// Bytes of which no stretch is like another.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n ^ (n >> 8).wrapping_mul(31) ^ (n >> 16).wrapping_mul(17)) as u8).collect()
}

pub(super) fn good(data_in: impl Into<Payload>, data_out_wanted: u64) -> Response {
    Response {
        status: Status::Good,
        sense: smallvec::SmallVec::new(),
        sense_value: None,
        data_in: data_in.into(),
        data_in_beyond: 0,
        data_out_wanted,
    }
}

pub(super) fn is_good(response: &ScsiResponse) -> bool {
    (response.response, response.status, response.residual) == (0, 0, Residual::None)
}

macro_rules! into_initiator_pdu {
    ($($kind:ident($pdu:ty)),*) => {
        $(impl From<$pdu> for InitiatorPdu {
            fn from(pdu: $pdu) -> Self {
                Self::$kind(pdu)
            }
        })*
    };
}

into_initiator_pdu!(
    Login(LoginRequest),
    ScsiCommand(ScsiCommand),
    DataOut(DataOut),
    TaskManagement(TaskManagementRequest),
    NopOut(NopOut),
    Text(TextRequest),
    Logout(LogoutRequest)
);
