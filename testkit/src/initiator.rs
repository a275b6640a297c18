//! An initiator over a plain socket that does exactly what a test tells it: with what name and ISID it logs in, which command goes out when,
//! and whether the data of a write follows. Every wait has its limit.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{
    DataOut, InitiatorPdu, LoginRequest, LogoutRequest, NopOut, ScsiCommand, TaskManagementRequest,
};
use glint_target_core::pdu::target::{ReadyToTransfer, TargetPdu};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;

/// What it takes in one PDU.
const MOST_DATA: u32 = 256 << 10;
/// What it sends in one PDU: every target takes so much (RFC 7143 §13.12).
const CHUNK: usize = 8 << 10;
/// The time that an answer may take.
const LIMIT: Duration = Duration::from_secs(20);

/// SAM status codes.
pub const GOOD: u8 = 0x00;
#[allow(missing_docs)]
pub const CHECK_CONDITION: u8 = 0x02;
#[allow(missing_docs)]
pub const RESERVATION_CONFLICT: u8 = 0x18;
#[allow(missing_docs)]
pub const TASK_ABORTED: u8 = 0x40;

/// Functions of task management requests (RFC 7143 §11.5.1).
pub const ABORT_TASK: u8 = 1;
#[allow(missing_docs)]
pub const LOGICAL_UNIT_RESET: u8 = 5;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// SAM status.
    pub status: u8,
    /// Sense data.
    pub sense: Vec<u8>,
    /// What was read.
    pub data: Vec<u8>,
}

impl Answer {
    /// Sense key, additional sense code and its qualifier, of either format; zero without sense data.
    pub fn sense(&self) -> (u8, u8, u8) {
        let at = |place: usize| self.sense.get(place).copied().unwrap_or(0);
        match at(0) & 0x7f {
            0x72 | 0x73 => (at(1) & 0xf, at(2), at(3)),
            _ => (at(2) & 0xf, at(12), at(13)),
        }
    }

    /// What was read, if the status is GOOD; panics otherwise.
    #[track_caller]
    pub fn good(self) -> Vec<u8> {
        assert_eq!(self.status, GOOD, "{self:02x?}");
        self.data
    }
}

/// A command under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(u32);

struct Pending {
    tag: u32,
    /// What a write carries; none when it is not to be sent.
    data_out: Option<Vec<u8>>,
    data_in: Vec<u8>,
    /// What the target has asked for while the data was not to be sent.
    asked: Vec<ReadyToTransfer>,
    answer: Option<Answer>,
}

/// A session of one connection, logged in.
pub struct Initiator {
    stream: TcpStream,
    decoder: FrameDecoder,
    received: BytesMut,
    cmd_sn: Serial,
    exp_stat_sn: Serial,
    next_tag: u32,
    pending: Vec<Pending>,
    managed: Vec<(u32, u8)>,
}

impl Initiator {
    /// Log in to a target as the initiator port with this name and this ISID, of which only the last byte counts. Panics when that fails.
    #[track_caller]
    pub fn login(portal: SocketAddr, name: &str, isid: u8, target: &str) -> Self {
        let stream = TcpStream::connect(portal).expect("glint takes connections");
        stream.set_nodelay(true).expect("a socket can be set");
        let mut initiator = Self {
            stream,
            decoder: FrameDecoder::new(MOST_DATA),
            received: BytesMut::new(),
            cmd_sn: Serial(1),
            exp_stat_sn: Serial(0),
            next_tag: 1,
            pending: Vec::new(),
            managed: Vec::new(),
        };
        let keys = [
            format!("InitiatorName={name}"),
            format!("TargetName={target}"),
            "SessionType=Normal".into(),
            "AuthMethod=None".into(),
            "HeaderDigest=None".into(),
            "DataDigest=None".into(),
            "InitialR2T=Yes".into(),
            "ImmediateData=Yes".into(),
            format!("MaxRecvDataSegmentLength={MOST_DATA}"),
        ];
        let (operational, security): (Vec<_>, Vec<_>) = keys.iter().partition(|key| {
            ["Digest", "R2T", "ImmediateData", "MaxRecv"].iter().any(|name| key.contains(name))
        });
        for (stage, next_stage, keys) in [(0, 1, security), (1, 3, operational)] {
            let text: String = keys.iter().flat_map(|key| [key.as_str(), "\0"]).collect();
            initiator.send(&InitiatorPdu::Login(LoginRequest {
                transit: true,
                continues: false,
                current_stage: stage,
                next_stage,
                version_max: 0,
                version_min: 0,
                isid: Isid([0x80, 0, 0, 0, 0, isid]),
                tsih: 0,
                initiator_task_tag: 0,
                cid: 0,
                cmd_sn: initiator.cmd_sn,
                exp_stat_sn: initiator.exp_stat_sn,
                data: text.into(),
            }));
            let deadline = Instant::now() + LIMIT;
            match initiator.receive(deadline) {
                Some(TargetPdu::Login(answer)) => {
                    assert_eq!((answer.status_class, answer.status_detail), (0, 0), "{name} is not let in");
                    assert!(answer.transit && answer.next_stage == next_stage, "{answer:?}");
                }
                other => panic!("no answer to a login: {other:?}"),
            }
        }
        initiator
    }

    /// As [`Initiator::login`], and take the unit attention that a new nexus has of LUN 0.
    #[track_caller]
    pub fn ready(portal: SocketAddr, name: &str, isid: u8, target: &str) -> Self {
        let mut initiator = Self::login(portal, name, isid, target);
        assert_eq!(initiator.command(0, &[0; 6]).sense(), (6, 0x29, 0));
        initiator
    }

    /// Run a command that has no data, or reads it.
    #[track_caller]
    pub fn command(&mut self, lun: u16, cdb: &[u8]) -> Answer {
        let tag = self.start(lun, cdb, false, None, 64 << 10);
        self.finish(tag)
    }

    /// Run a command that carries data.
    #[track_caller]
    pub fn write(&mut self, lun: u16, cdb: &[u8], data: &[u8]) -> Answer {
        let tag = self.start_write(lun, cdb, data);
        self.finish(tag)
    }

    /// Send a command that carries data, and do not wait for its end.
    pub fn start_write(&mut self, lun: u16, cdb: &[u8], data: &[u8]) -> Tag {
        self.start(lun, cdb, true, Some(data.to_vec()), data.len() as u32)
    }

    /// Send a command that is to carry so many bytes, none of which are sent before [`Initiator::supply`].
    pub fn start_withheld(&mut self, lun: u16, cdb: &[u8], length: u32) -> Tag {
        self.start(lun, cdb, true, None, length)
    }

    fn start(&mut self, lun: u16, cdb: &[u8], write: bool, data_out: Option<Vec<u8>>, length: u32) -> Tag {
        let tag = self.next_tag;
        self.next_tag += 1;
        let immediate = data_out.as_ref().map_or(&[][..], |data| &data[..data.len().min(CHUNK)]);
        let immediate_data = Bytes::copy_from_slice(immediate);
        let mut padded = cdb.to_vec();
        padded.resize(16.max(cdb.len()), 0);
        self.send(&InitiatorPdu::ScsiCommand(ScsiCommand {
            immediate: false,
            is_final: true,
            read: !write && length > 0,
            write,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(lun),
            initiator_task_tag: tag,
            expected_data_transfer_length: length,
            bidirectional_read_length: 0,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb: padded.into(),
            immediate_data,
        }));
        self.cmd_sn = self.cmd_sn.plus(1);
        self.pending.push(Pending { tag, data_out, data_in: Vec::new(), asked: Vec::new(), answer: None });
        Tag(tag)
    }

    /// Wait until the target has asked for the data of a command that is withheld.
    #[track_caller]
    pub fn wait_until_asked(&mut self, tag: Tag) {
        let deadline = Instant::now() + LIMIT;
        while self.pending(tag).asked.is_empty() {
            self.take(deadline);
        }
    }

    /// Send the data that was withheld.
    pub fn supply(&mut self, tag: Tag, data: &[u8]) {
        let pending = self.pending(tag);
        pending.data_out = Some(data.to_vec());
        for asked in std::mem::take(&mut pending.asked) {
            self.answer_request(&asked);
        }
    }

    /// Wait for a command's end.
    #[track_caller]
    pub fn finish(&mut self, tag: Tag) -> Answer {
        match self.ends_within(tag, LIMIT) {
            Some(answer) => answer,
            None => panic!("a command did not end within {LIMIT:?}, or the connection was closed"),
        }
    }

    /// The answer to a command, if it comes within this time.
    #[track_caller]
    pub fn ends_within(&mut self, tag: Tag, limit: Duration) -> Option<Answer> {
        let deadline = Instant::now() + limit;
        while self.pending(tag).answer.is_none() {
            if !self.take(deadline) {
                return None;
            }
        }
        let at = self.pending.iter().position(|pending| pending.tag == tag.0)?;
        self.pending.swap_remove(at).answer
    }

    /// Ask for a task management function on a LUN, and give the response code.
    #[track_caller]
    pub fn manage(&mut self, function: u8, lun: u16, referenced: Option<Tag>) -> u8 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.send(&InitiatorPdu::TaskManagement(TaskManagementRequest {
            immediate: true,
            function,
            lun: LunAddress::from_number(lun),
            initiator_task_tag: tag,
            referenced_task_tag: referenced.map_or(RESERVED_TAG, |tag| tag.0),
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            ref_cmd_sn: Serial(0),
            exp_data_sn: 0,
        }));
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some((_, response)) = self.managed.iter().find(|(own, _)| *own == tag) {
                return *response;
            }
            assert!(self.take(deadline), "no answer to task management function {function}");
        }
    }

    /// Log out, and wait until the target has closed the connection.
    #[track_caller]
    pub fn logout(mut self) {
        let tag = self.next_tag;
        self.send(&InitiatorPdu::Logout(LogoutRequest {
            immediate: true,
            reason: 0,
            initiator_task_tag: tag,
            cid: 0,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        }));
        let deadline = Instant::now() + LIMIT;
        loop {
            match self.receive(deadline) {
                Some(TargetPdu::Logout(answer)) => assert_eq!(answer.response, 0),
                Some(_) => {}
                None => break,
            }
        }
        assert!(Instant::now() < deadline, "the connection is still open after a logout");
    }

    /// Vanish: the connection is gone without a word.
    pub fn vanish(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    #[track_caller]
    fn pending(&mut self, tag: Tag) -> &mut Pending {
        self.pending.iter_mut().find(|pending| pending.tag == tag.0).expect("a command is waited for once")
    }

    /// Take one PDU and do what it asks; false when none came before `deadline` or the connection was closed.
    fn take(&mut self, deadline: Instant) -> bool {
        let Some(pdu) = self.receive(deadline) else { return false };
        match pdu {
            TargetPdu::DataIn(data) => {
                let Some(pending) = self.find(data.initiator_task_tag) else { return true };
                pending.data_in.extend_from_slice(&data.data.to_bytes());
                if let Some(status) = data.status {
                    let data = std::mem::take(&mut pending.data_in);
                    pending.answer = Some(Answer { status: status.status, sense: Vec::new(), data });
                }
            }
            TargetPdu::ScsiResponse(response) => {
                let Some(pending) = self.find(response.initiator_task_tag) else { return true };
                let data = std::mem::take(&mut pending.data_in);
                pending.answer =
                    Some(Answer { status: response.status, sense: response.sense.to_vec(), data });
            }
            TargetPdu::ReadyToTransfer(request) => match self.find(request.initiator_task_tag) {
                Some(pending) if pending.data_out.is_none() => pending.asked.push(request),
                _ => self.answer_request(&request),
            },
            TargetPdu::TaskManagement(response) => {
                self.managed.push((response.initiator_task_tag, response.response));
            }
            TargetPdu::NopIn(ping) if ping.target_transfer_tag != RESERVED_TAG => {
                self.send(&InitiatorPdu::NopOut(NopOut {
                    immediate: true,
                    lun: ping.lun,
                    initiator_task_tag: RESERVED_TAG,
                    target_transfer_tag: ping.target_transfer_tag,
                    cmd_sn: self.cmd_sn,
                    exp_stat_sn: self.exp_stat_sn,
                    data: Bytes::new(),
                }));
            }
            TargetPdu::Reject(reject) => panic!("the target has refused a PDU: {reject:?}"),
            _ => {}
        }
        true
    }

    fn find(&mut self, tag: u32) -> Option<&mut Pending> {
        self.pending.iter_mut().find(|pending| pending.tag == tag)
    }

    fn answer_request(&mut self, request: &ReadyToTransfer) {
        let start = request.buffer_offset as usize;
        let Some(data) = self.find(request.initiator_task_tag).and_then(|pending| pending.data_out.clone())
        else {
            return;
        };
        let data = &data[start..start + request.desired_length as usize];
        let last = data.len().div_ceil(CHUNK).saturating_sub(1);
        for (at, chunk) in data.chunks(CHUNK).enumerate() {
            self.send(&InitiatorPdu::DataOut(DataOut {
                is_final: at == last,
                lun: request.lun,
                initiator_task_tag: request.initiator_task_tag,
                target_transfer_tag: request.target_transfer_tag,
                exp_stat_sn: self.exp_stat_sn,
                data_sn: at as u32,
                buffer_offset: (start + at * CHUNK) as u32,
                data: Bytes::copy_from_slice(chunk),
            }));
        }
    }

    fn send(&mut self, pdu: &InitiatorPdu) {
        let mut bytes = BytesMut::new();
        pdu.encode(Digest::None, Digest::None, &mut bytes);
        // Where the connection is gone, the wait for the answer tells so.
        let _ = self.stream.write_all(&bytes);
    }

    /// The next PDU; none when none came before `deadline` or the connection was closed.
    fn receive(&mut self, deadline: Instant) -> Option<TargetPdu> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.received).expect("the target sends whole PDUs")
            {
                let (pdu, numbering) = TargetPdu::parse(frame).expect("the target sends PDUs that are right");
                if !matches!(&pdu, TargetPdu::DataIn(data) if data.status.is_none())
                    && !matches!(&pdu, TargetPdu::ReadyToTransfer(_))
                {
                    self.exp_stat_sn = numbering.stat_sn.plus(1);
                }
                return Some(pdu);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.stream.set_read_timeout(Some(left)).expect("a socket can be set");
            let mut buffer = [0; 16 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return None;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}
