//! Watches both directions of a connection and knows what RFC 7143 lets the target say.

use crate::program::Program;
use bytes::{Buf, Bytes, BytesMut};
use glint_target_core::login::parameters::Parameters;
use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::{Frame, FrameDecoder, FrameError};
use glint_target_core::pdu::initiator::{InitiatorPdu, ScsiCommand};
use glint_target_core::pdu::opcode;
use glint_target_core::pdu::target::{
    CollapsedStatus, DataIn, Numbering, ReadyToTransfer, Residual, TargetPdu,
};
use glint_target_core::pdu::transmit::TransmitQueue;
use glint_target_core::scsi::command::{Command, TaskAttribute};
use std::collections::BTreeMap;

/// Data-out of a command: every byte tells its tag and its place.
pub(crate) fn pattern(tag: u32, offset: u32, length: u32) -> Bytes {
    (0..length).map(|at| pattern_byte(tag, offset.wrapping_add(at))).collect::<Vec<u8>>().into()
}

fn pattern_byte(tag: u32, at: u32) -> u8 {
    (tag.wrapping_mul(89) ^ at ^ at >> 8 ^ at >> 16) as u8
}

/// Commands that were sent with one initiator task tag.
#[derive(Default)]
struct Task {
    sent: usize,
    executed: usize,
    answered: usize,
    /// The tag was used for several commands before they were answered: which an answer belongs to is not known.
    is_murky: bool,
    /// The longest of them.
    expected_length: u32,
    read_room: u32,
    write: bool,
    /// Data-In since the last status.
    data_in: u64,
    data_sn: u32,
    burst: u64,
    next_r2t_sn: u32,
    /// Unsolicited data sent, and with how many Data-Outs.
    unsolicited: u32,
    unsolicited_pdus: u32,
    /// The number of a command that brings no data and has its turn as soon as it is due.
    turn: Option<Serial>,
}

/// An R2T that is not answered in full.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    tag: u32,
    transfer_tag: u32,
    offset: u32,
    left: u32,
    data_sn: u32,
}

/// The next Data-Out of a sequence, as it should be.
pub(crate) struct Due {
    pub(crate) tag: u32,
    pub(crate) transfer_tag: u32,
    pub(crate) offset: u32,
    pub(crate) left: u32,
    pub(crate) data_sn: u32,
}

pub(crate) struct Model {
    /// Whether all the data sent is the pattern of its place.
    pub(crate) is_honest: bool,
    command_window: u32,
    max_command_bytes: u32,
    parameters: Option<Parameters>,
    /// The longest data segment that the initiator has ever allowed: what is read may have been sent before that changed.
    longest: u32,
    outgoing: FrameDecoder,
    outgoing_bytes: BytesMut,
    incoming: FrameDecoder,
    stat_sn: Option<Serial>,
    last: Option<Numbering>,
    tasks: BTreeMap<u32, Task>,
    last_command: u32,
    requests: Vec<Request>,
    /// Whether commands may overtake each other.
    pub(crate) is_ordered: bool,
    /// Immediate Logout Requests that have not been answered.
    pub(crate) logouts: usize,
    /// Task Management Function Responses that have come.
    pub(crate) managed: usize,
}

impl Model {
    pub(crate) fn new(command_window: u32, max_command_bytes: u32) -> Self {
        Self {
            is_honest: true,
            command_window,
            max_command_bytes,
            parameters: None,
            longest: 0,
            outgoing: FrameDecoder::new(8192),
            outgoing_bytes: BytesMut::new(),
            incoming: FrameDecoder::new(8192),
            stat_sn: None,
            last: None,
            tasks: BTreeMap::new(),
            last_command: 0,
            requests: Vec::new(),
            is_ordered: true,
            logouts: 0,
            managed: 0,
        }
    }

    /// ExpStatSN, once something was heard.
    pub(crate) fn exp_stat_sn(&self) -> Option<Serial> {
        self.stat_sn
    }

    /// ExpCmdSN and MaxCmdSN as last heard.
    pub(crate) fn numbering(&self) -> Option<Numbering> {
        self.last
    }

    /// Whether a command of this tag was sent here.
    pub(crate) fn knows(&self, tag: u32) -> bool {
        self.tasks.get(&tag).is_some_and(|task| task.sent > 0)
    }

    /// The CmdSN by which a command has its turn, if that is all that it waits for.
    pub(crate) fn turn(&self, tag: u32) -> Option<Serial> {
        self.tasks.get(&tag).filter(|task| !task.is_murky)?.turn
    }

    /// Digests and lengths that hold from now on. May be called again.
    pub(crate) fn logged_in(&mut self, agreed: &Parameters) {
        let is_new = self.parameters.is_none();
        self.longest = self.longest.max(agreed.initiator_max_recv_data_segment_length);
        // What belongs to the login may still be on its way.
        self.incoming.set_max_data_segment_length(self.longest.max(8192));
        self.parameters = Some(agreed.clone());
        if is_new {
            for decoder in [&mut self.outgoing, &mut self.incoming] {
                decoder.set_digests(agreed.header_digest, agreed.data_digest);
            }
            self.outgoing.set_max_data_segment_length(agreed.target_max_recv_data_segment_length);
        }
    }

    /// Bytes of the initiator, as the target sees them.
    pub(crate) fn sent(&mut self, bytes: &[u8]) {
        self.outgoing_bytes.extend_from_slice(bytes);
        loop {
            match self.outgoing.decode(&mut self.outgoing_bytes) {
                Ok(Some(frame)) => self.frame(frame),
                // A command whose data is damaged is answered too.
                Err(FrameError::DataDigest { bhs }) => {
                    self.frame(Frame { bhs, ahs: Bytes::new(), data: Bytes::new() });
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn frame(&mut self, frame: Frame) {
        match InitiatorPdu::parse(frame) {
            Ok(InitiatorPdu::ScsiCommand(command)) => self.command(&command),
            // It is outside the order: neither ignored nor held back.
            Ok(InitiatorPdu::Logout(request)) if request.immediate => self.logouts += 1,
            _ => {}
        }
    }

    fn command(&mut self, command: &ScsiCommand) {
        self.is_ordered &= command.attribute == TaskAttribute::Simple;
        let task = self.tasks.entry(command.initiator_task_tag).or_default();
        let brings_data = command.write || !command.is_final || !command.immediate_data.is_empty();
        task.turn = (!brings_data && !command.immediate).then_some(command.cmd_sn);
        task.is_murky |= task.sent != task.answered;
        task.sent += 1;
        let (length, write) = (command.expected_data_transfer_length, command.write);
        let room = match (command.read, write) {
            (true, true) => command.bidirectional_read_length,
            (true, false) => length,
            _ => 0,
        };
        if task.is_murky {
            task.expected_length = task.expected_length.max(length);
            task.read_room = task.read_room.max(room);
            task.write |= write;
            return;
        }
        (task.expected_length, task.read_room, task.write) = (length, room, write);
        (task.data_in, task.data_sn, task.burst, task.next_r2t_sn) = (0, 0, 0, 0);
        self.requests.retain(|request| request.tag != command.initiator_task_tag);
    }

    /// A command is about to be sent with so much immediate data.
    pub(crate) fn begins(&mut self, tag: u32, immediate: u32) {
        self.last_command = tag;
        let task = self.tasks.entry(tag).or_default();
        (task.unsolicited, task.unsolicited_pdus) = (immediate, 0);
    }

    /// Unsolicited data of the last command.
    pub(crate) fn next_unsolicited(&self, parameters: &Parameters) -> Option<Due> {
        let task = self.tasks.get(&self.last_command)?;
        let end = task.expected_length.min(parameters.first_burst_length);
        Some(Due {
            tag: self.last_command,
            transfer_tag: RESERVED_TAG,
            offset: task.unsolicited,
            left: end.saturating_sub(task.unsolicited),
            data_sn: task.unsolicited_pdus,
        })
    }

    /// Data of an R2T.
    pub(crate) fn next_solicited(&self, program: &mut Program<'_>) -> Option<Due> {
        let Request { tag, transfer_tag, offset, left, data_sn } =
            *self.requests.get(program.index(self.requests.len())?)?;
        Some(Due { tag, transfer_tag, offset, left, data_sn })
    }

    /// What is due.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.clone()
    }

    /// What was sent went astray, and is due as before.
    pub(crate) fn restore(&mut self, requests: Vec<Request>) {
        self.requests = requests;
    }

    /// A Data-Out is about to be sent.
    pub(crate) fn sends_data(&mut self, transfer_tag: u32, tag: u32, length: u32, is_final: bool) {
        if transfer_tag == RESERVED_TAG {
            let task = self.tasks.entry(tag).or_default();
            task.unsolicited = task.unsolicited.saturating_add(length);
            task.unsolicited_pdus += 1;
            return;
        }
        for request in self.requests.iter_mut().filter(|request| request.transfer_tag == transfer_tag) {
            request.offset = request.offset.wrapping_add(length);
            request.left = request.left.saturating_sub(length);
            request.data_sn += 1;
        }
        self.requests.retain(|request| request.transfer_tag != transfer_tag || !is_final);
    }

    /// The driver is given a command.
    pub(crate) fn executes(&mut self, command: &Command) {
        let tag = command.tag.0;
        let Some(task) = self.tasks.get_mut(&tag) else { panic!("a command that nobody sent: {command:?}") };
        task.executed += 1;
        assert!(task.executed <= task.sent);
        let first_burst = self.parameters.as_ref().map_or(0, |agreed| agreed.first_burst_length);
        // As much as is taken for one command, or what came unasked if that is more.
        let expected = if task.write { task.expected_length } else { 0 };
        let least = expected.min(self.max_command_bytes) as usize;
        let most = expected.min(self.max_command_bytes.max(first_burst)) as usize;
        assert!(command.data_out.len() <= most);
        assert!(command.data_in_room <= task.read_room);
        if !task.is_murky {
            assert!(command.data_out.len() >= least);
            assert_eq!(command.data_in_room, task.read_room);
            if self.is_honest {
                let bytes = command.data_out.pieces().iter().flatten();
                assert!(
                    bytes.zip(0..).all(|(byte, at)| *byte == pattern_byte(tag, at)),
                    "data-out of {tag} is mixed up"
                );
            }
        }
    }

    /// The initiator reads all that there is.
    pub(crate) fn received(&mut self, queue: &mut TransmitQueue) {
        let len = queue.len();
        let mut bytes = BytesMut::from(&queue.copy_to_bytes(len)[..]);
        assert_eq!(queue.len(), 0);
        while !bytes.is_empty() {
            // The target's last Login Response has no digests yet, and is read before the model hears of the session.
            let frame = self.incoming.decode(&mut bytes).expect("sound PDUs").expect("whole PDUs");
            let (pdu, numbering) = TargetPdu::parse(frame).expect("a target's PDU");
            self.number(&pdu, numbering);
            self.answer(&pdu);
        }
    }

    /// StatSN, ExpCmdSN, MaxCmdSN (RFC 7143 §4.2.2).
    fn number(&mut self, pdu: &TargetPdu, numbering: Numbering) {
        let Numbering { stat_sn, exp_cmd_sn, max_cmd_sn } = numbering;
        let (has_number, takes_number) = match pdu {
            TargetPdu::DataIn(data) => (data.status.is_some(), data.status.is_some()),
            TargetPdu::ReadyToTransfer(_) => (true, false),
            TargetPdu::NopIn(nop) => (true, nop.initiator_task_tag != RESERVED_TAG),
            _ => (true, true),
        };
        if has_number {
            assert_eq!(*self.stat_sn.get_or_insert(stat_sn), stat_sn, "{pdu:?}");
        }
        if takes_number {
            self.stat_sn = Some(stat_sn.plus(1));
        }
        if let Some(last) = self.last {
            assert!(!exp_cmd_sn.is_before(last.exp_cmd_sn) && !max_cmd_sn.is_before(last.max_cmd_sn));
        }
        assert!(exp_cmd_sn.distance_to(max_cmd_sn.plus(1)) <= self.command_window, "{numbering:?}");
        self.last = Some(numbering);
    }

    fn answer(&mut self, pdu: &TargetPdu) {
        match pdu {
            TargetPdu::DataIn(data) => self.data_in(data),
            TargetPdu::ReadyToTransfer(r2t) => self.ready_to_transfer(r2t),
            TargetPdu::ScsiResponse(response) => {
                let task = self.tasks.get(&response.initiator_task_tag).expect("a response to a command");
                assert!(task.is_murky || response.exp_data_sn == task.data_sn);
                let status = CollapsedStatus { status: response.status, residual: response.residual };
                self.status(response.initiator_task_tag, status);
            }
            TargetPdu::TaskManagement(_) => self.managed += 1,
            TargetPdu::Logout(_) => self.logouts = self.logouts.saturating_sub(1),
            TargetPdu::Reject(reject)
                if reject.header.first() == Some(&(opcode::IMMEDIATE | opcode::LOGOUT_REQUEST)) =>
            {
                self.logouts = self.logouts.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn data_in(&mut self, pdu: &DataIn) {
        let agreed = self.parameters.clone().unwrap_or_default();
        let tag = pdu.initiator_task_tag;
        let task = self.tasks.get_mut(&tag).expect("data of a command");
        assert!(task.answered < task.sent);
        let length = pdu.data.len() as u64;
        assert!(length > 0 && length <= u64::from(self.longest));
        assert_eq!(u64::from(pdu.buffer_offset), task.data_in);
        if task.data_in == 0 {
            // R2Ts of a bidirectional command are numbered with its Data-In (RFC 7143 §11.7.5).
            assert!(task.is_murky || pdu.data_sn == task.next_r2t_sn);
            task.data_sn = pdu.data_sn;
        }
        assert_eq!(pdu.data_sn, task.data_sn);
        task.data_in += length;
        task.data_sn += 1;
        task.burst += length;
        assert!(task.data_in <= u64::from(task.read_room));
        assert!(task.burst <= u64::from(agreed.max_burst_length));
        if pdu.is_final {
            task.burst = 0;
        }
        if let Some(status) = pdu.status {
            assert!(pdu.is_final);
            self.status(tag, status);
        }
    }

    fn ready_to_transfer(&mut self, pdu: &ReadyToTransfer) {
        let agreed = self.parameters.clone().unwrap_or_default();
        let tag = pdu.initiator_task_tag;
        let task = self.tasks.get_mut(&tag).expect("an R2T for a command");
        assert!(task.answered < task.sent && task.write);
        assert!((1..=agreed.max_burst_length).contains(&pdu.desired_length));
        let end = u64::from(pdu.buffer_offset) + u64::from(pdu.desired_length);
        assert!(end <= u64::from(task.expected_length));
        if !task.is_murky {
            assert_eq!(pdu.r2t_sn, task.next_r2t_sn);
            task.next_r2t_sn += 1;
            let outstanding = self.requests.iter().filter(|request| request.tag == tag).count();
            assert!(outstanding < usize::from(agreed.max_outstanding_r2t));
        }
        assert!(self.requests.iter().all(|request| request.transfer_tag != pdu.target_transfer_tag));
        self.requests.push(Request {
            tag,
            transfer_tag: pdu.target_transfer_tag,
            offset: pdu.buffer_offset,
            left: pdu.desired_length,
            data_sn: 0,
        });
    }

    /// A command ends (RFC 7143 §11.4.5 for the residual).
    fn status(&mut self, tag: u32, status: CollapsedStatus) {
        let task = self.tasks.get_mut(&tag).expect("status of a command");
        task.answered += 1;
        assert!(task.answered <= task.sent, "more answers than commands");
        if !task.is_murky && !task.write {
            let (moved, expected) = (task.data_in, u64::from(task.read_room));
            match status.residual {
                Residual::None => assert_eq!(moved, expected),
                Residual::Underflow(count) => assert_eq!(moved + u64::from(count), expected),
                Residual::Overflow(_) => assert_eq!(moved, expected),
            }
        }
        (task.data_in, task.data_sn, task.burst) = (0, 0, 0);
        self.requests.retain(|request| request.tag != tag);
    }
}
