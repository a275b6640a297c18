//! What is said on a connection of a session, and what comes.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::initiator::{DataOut, InitiatorPdu, ScsiCommand};
use glint_target_core::pdu::target::{AsyncMessage, ReadyToTransfer, TargetPdu};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;

use super::line::PATIENCE;
use super::session::Initiator;
use super::{End, GOOD, TEST_UNIT_READY};

/// What it sends in one PDU of data that was asked for: every target takes so much (RFC 7143 §13.12).
pub(super) const PIECE: usize = 8 << 10;

impl Initiator {
    pub(super) fn next_tag(&self) -> u32 {
        self.numbers.tag.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a PDU.
    #[track_caller]
    pub fn send(&mut self, pdu: InitiatorPdu) {
        self.try_send(&pdu).expect("glint takes what it is sent");
    }

    /// The next command in the order of the session, that moves nothing or reads; to be sent on any connection.
    pub fn prepare(&self, cdb: &[u8], read: u32) -> ScsiCommand {
        ScsiCommand { read: read > 0, expected_data_transfer_length: read, ..self.next_command(cdb) }
    }

    /// The next command in the order of the session, that writes; `unsolicited`: data follows unasked.
    pub fn prepare_write(&self, cdb: &[u8], length: u32, unsolicited: bool) -> ScsiCommand {
        ScsiCommand {
            is_final: !unsolicited,
            write: true,
            expected_data_transfer_length: length,
            ..self.next_command(cdb)
        }
    }

    fn next_command(&self, cdb: &[u8]) -> ScsiCommand {
        let mut padded = [0; 16];
        padded.get_mut(..cdb.len()).expect("a CDB of at most 16 bytes").copy_from_slice(cdb);
        let cmd_sn = self.cmd_sn();
        self.skip(1);
        ScsiCommand {
            immediate: false,
            is_final: true,
            read: false,
            write: false,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.next_tag(),
            expected_data_transfer_length: 0,
            bidirectional_read_length: 0,
            cmd_sn,
            exp_stat_sn: Serial(0),
            cdb: padded.into(),
            immediate_data: Bytes::new(),
        }
    }

    /// Sends a command on this connection; gives its tag.
    #[track_caller]
    pub fn send_command(&mut self, command: ScsiCommand) -> u32 {
        let tag = command.initiator_task_tag;
        let exp_stat_sn = self.line.exp_stat_sn;
        self.send(InitiatorPdu::ScsiCommand(ScsiCommand { exp_stat_sn, ..command }));
        tag
    }

    /// Sends a command that moves nothing or reads; gives its tag.
    #[track_caller]
    pub fn command(&mut self, cdb: &[u8], read: u32) -> u32 {
        let command = self.prepare(cdb, read);
        self.send_command(command)
    }

    /// Sends a command that writes; `unsolicited`: data follows unasked. Gives its tag.
    #[track_caller]
    pub fn write_command(&mut self, cdb: &[u8], length: u32, unsolicited: bool) -> u32 {
        let command = self.prepare_write(cdb, length, unsolicited);
        self.send_command(command)
    }

    /// Sends a command with all its data in it; gives its tag.
    #[track_caller]
    pub fn command_with(&mut self, cdb: &[u8], data: &[u8]) -> u32 {
        let length = u32::try_from(data.len()).expect("not that much");
        let immediate_data = Bytes::copy_from_slice(data);
        let command = ScsiCommand { immediate_data, ..self.prepare_write(cdb, length, false) };
        self.send_command(command)
    }

    /// Data of a command that was not asked for.
    pub fn unsolicited(&self, tag: u32, offset: u32, data: &[u8], is_final: bool) -> InitiatorPdu {
        self.data_out((tag, RESERVED_TAG), 0, offset, data, is_final)
    }

    /// Answers an R2T; `data` is all that the command writes.
    #[track_caller]
    pub fn answer(&mut self, r2t: &ReadyToTransfer, data: &[u8]) {
        self.answer_in(PIECE, r2t, data);
    }

    /// The same in PDUs with so many bytes each.
    #[track_caller]
    pub fn answer_in(&mut self, piece: usize, r2t: &ReadyToTransfer, data: &[u8]) {
        for pdu in self.burst(piece, r2t, data) {
            self.send(pdu);
        }
    }

    /// What answers an R2T in PDUs with so many bytes each.
    pub(super) fn burst(&self, piece: usize, r2t: &ReadyToTransfer, data: &[u8]) -> Vec<InitiatorPdu> {
        let start = r2t.buffer_offset as usize;
        let burst = &data[start..start + r2t.desired_length as usize];
        let last = burst.len().div_ceil(piece).saturating_sub(1);
        let tags = (r2t.initiator_task_tag, r2t.target_transfer_tag);
        let parts = burst.chunks(piece).enumerate();
        parts
            .map(|(nth, part)| {
                self.data_out(tags, nth as u32, (start + nth * piece) as u32, part, nth == last)
            })
            .collect()
    }

    fn data_out(
        &self,
        (initiator_task_tag, target_transfer_tag): (u32, u32),
        data_sn: u32,
        buffer_offset: u32,
        data: &[u8],
        is_final: bool,
    ) -> InitiatorPdu {
        InitiatorPdu::DataOut(DataOut {
            is_final,
            lun: LunAddress::from_number(0),
            initiator_task_tag,
            target_transfer_tag,
            exp_stat_sn: self.line.exp_stat_sn,
            data_sn,
            buffer_offset,
            data: Bytes::copy_from_slice(data),
        })
    }

    /// The R2T that comes next.
    #[track_caller]
    pub fn r2t(&mut self) -> ReadyToTransfer {
        match self.receive() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => r2t,
            other => panic!("no R2T: {other:?}"),
        }
    }

    /// The Asynchronous Message that comes next.
    #[track_caller]
    pub fn message(&mut self) -> AsyncMessage {
        match self.receive() {
            Some(TargetPdu::AsyncMessage(message)) => message,
            other => panic!("no Asynchronous Message: {other:?}"),
        }
    }

    /// The end of the command with this tag; nothing else but ends of commands may come before.
    #[track_caller]
    pub fn end(&mut self, tag: u32) -> End {
        self.serve(tag, &[])
    }

    /// The end of a command, which is given the data that it asks for; `data` is all that it writes.
    #[track_caller]
    pub fn serve(&mut self, tag: u32, data: &[u8]) -> End {
        match self.serve_within(tag, data, PATIENCE) {
            Some(end) => end,
            None => panic!("no end of command {tag} within {PATIENCE:?}"),
        }
    }

    /// The end of a command, if it comes within this time.
    #[track_caller]
    pub fn end_within(&mut self, tag: u32, limit: Duration) -> Option<End> {
        self.serve_within(tag, &[], limit)
    }

    #[track_caller]
    fn serve_within(&mut self, tag: u32, data: &[u8], limit: Duration) -> Option<End> {
        let deadline = Instant::now() + limit;
        let mut read = Vec::new();
        loop {
            if let Some(at) = self.ended.iter().position(|(ended, _)| *ended == tag) {
                return Some(self.ended.swap_remove(at).1);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive_within(left)? {
                Some(TargetPdu::ScsiResponse(it)) => {
                    let (status, sense) = (it.status, it.sense.to_vec());
                    let data = std::mem::take(&mut read);
                    self.ended.push((it.initiator_task_tag, End { status, sense, data }));
                }
                Some(TargetPdu::DataIn(part)) => {
                    assert_eq!((part.initiator_task_tag, part.buffer_offset as usize), (tag, read.len()));
                    read.extend_from_slice(&part.data.to_bytes());
                    if let Some(status) = part.status {
                        return Some(End { status: status.status, sense: Vec::new(), data: read });
                    }
                }
                Some(TargetPdu::ReadyToTransfer(r2t)) if r2t.initiator_task_tag == tag => {
                    self.answer(&r2t, data);
                }
                other => panic!("no response: {other:?}"),
            }
        }
    }

    /// Runs a command that moves nothing or reads, to its end.
    #[track_caller]
    pub fn run(&mut self, cdb: &[u8], read: u32) -> End {
        let tag = self.command(cdb, read);
        self.end(tag)
    }

    /// Runs a command with its data to its end.
    #[track_caller]
    pub fn run_with(&mut self, cdb: &[u8], data: &[u8]) -> End {
        let tag = self.command_with(cdb, data);
        self.end(tag)
    }

    /// Runs a command whose data is sent as it is asked for.
    #[track_caller]
    pub fn run_asked(&mut self, cdb: &[u8], data: &[u8]) -> End {
        let tag = self.write_command(cdb, u32::try_from(data.len()).expect("not that much"), false);
        self.serve(tag, data)
    }

    /// Hears the unit attentions that are pending, one TEST UNIT READY for each; gives their ASC and ASCQ.
    #[track_caller]
    pub fn attentions(&mut self) -> Vec<(u8, u8)> {
        let mut told = Vec::new();
        loop {
            let end = self.run(&TEST_UNIT_READY, 0);
            match end.condition() {
                (0x06, asc, ascq) => told.push((asc, ascq)),
                _ if end.status == GOOD => return told,
                _ => panic!("neither good nor a unit attention: {end:?}"),
            }
        }
    }
}
