//! What the initiator says: PDUs that are nearly right, so that most get somewhere.

use super::model::{Model, pattern};
use crate::program::Program;
use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::{Digest, Parameters};
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::initiator::{
    DataOut, InitiatorPdu, LoginRequest, LogoutRequest, NopOut, ScsiCommand, SnackRequest,
    TaskManagementRequest, TextRequest,
};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;

const LENGTHS: [u32; 10] = [0, 512, 4096, 1, 511, 8192, 65_536, 70_000, 300_000, 0xffff_ffff];
const FIRST_CMD_SN: Serial = Serial(0xffff_fff0);
/// ExpStatSN of every login.
pub(crate) const FIRST_STAT_SN: Serial = Serial(0xffff_fffe);

pub(crate) struct Initiator {
    parameters: Parameters,
    cmd_sn: Serial,
    next_tag: u32,
    /// What it acknowledges; with one connection nobody looks.
    exp_stat_sn: Serial,
    last: BytesMut,
}

impl Initiator {
    pub(crate) fn new() -> Self {
        Self {
            parameters: Parameters::default(),
            cmd_sn: FIRST_CMD_SN,
            next_tag: 0,
            exp_stat_sn: Serial(0),
            last: BytesMut::new(),
        }
    }

    /// From now on digests are in use, and lengths those that are agreed.
    pub(crate) fn logged_in(&mut self, agreed: &Parameters) {
        self.parameters = agreed.clone();
    }

    /// From now on this is acknowledged.
    pub(crate) fn acknowledges(&mut self, exp_stat_sn: Serial) {
        self.exp_stat_sn = exp_stat_sn;
    }

    fn encode(&mut self, pdu: InitiatorPdu) -> BytesMut {
        let mut bytes = BytesMut::new();
        let login = matches!(pdu, InitiatorPdu::Login(_));
        let (header_digest, data_digest) = match login {
            true => (Digest::None, Digest::None),
            false => (self.parameters.header_digest, self.parameters.data_digest),
        };
        pdu.encode(header_digest, data_digest, &mut bytes);
        self.last = bytes.clone();
        bytes
    }

    pub(crate) fn again(&self) -> BytesMut {
        self.last.clone()
    }

    /// A CmdSN, and whether to deliver at once: mostly the next in order.
    fn number(&mut self, program: &mut Program<'_>) -> (bool, Serial) {
        let how = program.byte();
        if how & 0x80 != 0 {
            return (true, self.cmd_sn.plus(u32::from(how & 3)));
        }
        let ahead = match how & 0x70 {
            0x10 => u32::from(how & 3),
            0x20 => u32::MAX,
            _ => 0,
        };
        let cmd_sn = self.cmd_sn.plus(ahead);
        if ahead == 0 || how & 8 != 0 {
            self.cmd_sn = cmd_sn.plus(1);
        }
        (false, cmd_sn)
    }

    /// A new tag, or one that was used before.
    fn tag(&mut self, again: bool, program: &mut Program<'_>) -> u32 {
        if again {
            return self.next_tag.wrapping_sub(u32::from(program.byte() & 7));
        }
        self.next_tag += 1;
        self.next_tag
    }

    fn lun(program: &mut Program<'_>) -> LunAddress {
        LunAddress::from_number(program.choose(&[0, 0, 0, 1]))
    }

    /// A login that asks for the full feature phase at once.
    pub(crate) fn login(&mut self, program: &mut Program<'_>, tsih: u16, cid: u16) -> BytesMut {
        let (how, lengths) = (program.byte(), program.byte());
        let digest = |bit: u8| if how & bit != 0 { "CRC32C,None" } else { "None" };
        let yes = |bit: u8| if how & bit != 0 { "Yes" } else { "No" };
        let identity = match how & 32 {
            0 => "TargetName=iqn.2026-12.lab:tgt",
            _ => "SessionType=Discovery",
        };
        let receive = [8192, 512, 65_536, 4099][usize::from(lengths & 3)];
        let burst = [65_536, 512, 16_384, 262_144][usize::from(lengths >> 2 & 3)];
        let first = [4096, 512, 65_536, 8192][usize::from(lengths >> 4 & 3)].min(burst);
        let r2t = [1, 2, 4, 8][usize::from(lengths >> 6)];
        let text = format!(
            "InitiatorName=iqn.2026-12.bar:fuzz\0{identity}\0HeaderDigest={}\0DataDigest={}\0InitialR2T={}\0\
             ImmediateData={}\0MaxRecvDataSegmentLength={receive}\0MaxBurstLength={burst}\0FirstBurstLength={first}\0\
             MaxOutstandingR2T={r2t}\0MaxConnections=4\0iSCSIProtocolLevel={}\0",
            digest(1),
            digest(2),
            yes(4),
            yes(8),
            if how & 16 != 0 { 2 } else { 1 },
        );
        self.encode(InitiatorPdu::Login(LoginRequest {
            transit: true,
            continues: false,
            current_stage: 1,
            next_stage: 3,
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 0, 0, 0, 0, 1]),
            tsih,
            initiator_task_tag: 0,
            cid,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: FIRST_STAT_SN,
            data: text.into(),
        }))
    }

    pub(crate) fn command(&mut self, program: &mut Program<'_>, flags: u8, model: &mut Model) -> BytesMut {
        let (immediate, cmd_sn) = self.number(program);
        let how = program.byte();
        let tag = self.tag(how & 0x10 != 0, program);
        let (read, write) = [(false, true), (true, false), (false, true), (true, true)][usize::from(how & 3)];
        let length = program.choose(&LENGTHS);
        let attributes = [
            TaskAttribute::Simple,
            TaskAttribute::Simple,
            TaskAttribute::Ordered,
            TaskAttribute::HeadOfQueue,
        ];
        let most =
            self.parameters.target_max_recv_data_segment_length.min(self.parameters.first_burst_length);
        let unsolicited = match flags & 3 {
            0 => 0,
            1 => length.min(most),
            2 => length.min(100),
            _ => u32::from(program.byte()) * 16,
        };
        let immediate_data = if write || how & 0x80 != 0 { unsolicited.min(1 << 18) } else { 0 };
        let is_final = flags & 4 == 0 || !write;
        model.begins(tag, immediate_data);
        self.encode(InitiatorPdu::ScsiCommand(ScsiCommand {
            immediate,
            is_final,
            read,
            write,
            attribute: attributes[usize::from(how >> 2 & 3)],
            priority: 0,
            lun: Self::lun(program),
            initiator_task_tag: tag,
            expected_data_transfer_length: length,
            bidirectional_read_length: if read && write { program.choose(&LENGTHS) } else { 0 },
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb: smallvec::SmallVec::from_elem(if write { 0x2a } else { 0x28 }, 16),
            immediate_data: pattern(tag, 0, immediate_data),
        }))
    }

    /// The next Data-Out that is due for an R2T or a first burst, as it should be or with something wrong.
    pub(crate) fn data_out(&mut self, program: &mut Program<'_>, flags: u8, model: &mut Model) -> BytesMut {
        let most = self.parameters.target_max_recv_data_segment_length;
        let unsolicited = flags & 1 != 0;
        let due = match unsolicited {
            true => model.next_unsolicited(&self.parameters),
            false => model.next_solicited(program),
        };
        let how = if flags & 2 != 0 { program.byte() } else { 0 };
        let (tag, target_transfer_tag, mut offset, left, mut data_sn) = match due {
            Some(due) => (due.tag, due.transfer_tag, due.offset, due.left, due.data_sn),
            None => (self.next_tag, RESERVED_TAG, 0, 512, 0),
        };
        let mut length = match flags & 4 {
            0 => left.min(most),
            _ => left.min(most).min(u32::from(program.byte()) * 64),
        };
        match how & 7 {
            1 => offset = offset.wrapping_add(u32::from(how)),
            2 => length = length.wrapping_add(1).min(most),
            3 => data_sn = data_sn.wrapping_add(1),
            _ => {}
        }
        let is_final = (length >= left) != (how & 0x18 == 0x18);
        let tag = if how & 0xe0 == 0xe0 { tag.wrapping_add(1) } else { tag };
        model.sends_data(target_transfer_tag, tag, length, is_final);
        self.encode(InitiatorPdu::DataOut(DataOut {
            is_final,
            lun: LunAddress::default(),
            initiator_task_tag: tag,
            target_transfer_tag,
            exp_stat_sn: self.exp_stat_sn,
            data_sn,
            buffer_offset: offset,
            data: pattern(tag, offset, length),
        }))
    }

    pub(crate) fn task_management(&mut self, program: &mut Program<'_>, flags: u8) -> BytesMut {
        let (immediate, cmd_sn) = self.number(program);
        let referenced_task_tag = self.tag(true, program);
        let request = TaskManagementRequest {
            immediate,
            function: program.byte() % 14,
            lun: Self::lun(program),
            initiator_task_tag: self.tag(flags & 1 != 0, program),
            referenced_task_tag,
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            ref_cmd_sn: self.cmd_sn.plus(u32::from(flags >> 1)),
            exp_data_sn: 0,
        };
        self.encode(InitiatorPdu::TaskManagement(request))
    }

    pub(crate) fn nop_out(&mut self, program: &mut Program<'_>, flags: u8) -> BytesMut {
        let (immediate, cmd_sn) = self.number(program);
        let initiator_task_tag =
            if flags & 1 != 0 { RESERVED_TAG } else { self.tag(flags & 2 != 0, program) };
        self.encode(InitiatorPdu::NopOut(NopOut {
            immediate,
            lun: LunAddress::default(),
            initiator_task_tag,
            target_transfer_tag: if flags & 4 != 0 { RESERVED_TAG } else { 1 },
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            data: Bytes::from(vec![7; usize::from(program.byte()) * 3]),
        }))
    }

    pub(crate) fn text(&mut self, program: &mut Program<'_>, flags: u8) -> BytesMut {
        let (immediate, cmd_sn) = self.number(program);
        let text = program.choose(&[
            "SendTargets=All\0",
            "",
            "SendTargets=\0",
            "MaxRecvDataSegmentLength=512\0",
            "MaxRecvDataSegmentLength=16777215\0",
            "X-com.example=1\0",
            "SendTar",
        ]);
        let request = TextRequest {
            immediate,
            is_final: flags & 1 == 0,
            continues: flags & 3 == 3,
            lun: LunAddress::default(),
            initiator_task_tag: self.tag(flags & 4 != 0, program),
            target_transfer_tag: program.choose(&[RESERVED_TAG, 1, 2, 0]),
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            data: text.into(),
        };
        self.encode(InitiatorPdu::Text(request))
    }

    pub(crate) fn logout(&mut self, program: &mut Program<'_>, flags: u8) -> BytesMut {
        let (immediate, cmd_sn) = self.number(program);
        let request = LogoutRequest {
            immediate,
            reason: flags & 3,
            initiator_task_tag: self.tag(flags & 4 != 0, program),
            cid: program.choose(&[1, 2, 3, 4]),
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.encode(InitiatorPdu::Logout(request))
    }

    pub(crate) fn snack(&mut self, program: &mut Program<'_>) -> BytesMut {
        let request = SnackRequest {
            kind: program.byte() & 0x0f,
            lun: LunAddress::default(),
            initiator_task_tag: self.tag(true, program),
            target_transfer_tag: RESERVED_TAG,
            exp_stat_sn: self.exp_stat_sn,
            beg_run: 0,
            run_length: 0,
        };
        self.encode(InitiatorPdu::Snack(request))
    }

    /// A command or its data with a bit flipped on the way.
    pub(crate) fn damaged(&mut self, program: &mut Program<'_>, flags: u8, model: &mut Model) -> BytesMut {
        let mut bytes = match flags & 4 {
            0 => self.command(program, 1, model),
            _ => self.data_out(program, 0, model),
        };
        let from_the_end = usize::from(program.byte());
        let bit = program.byte() & 7;
        let at = (bytes.len() - 1).saturating_sub(from_the_end);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
        let agreed = &self.parameters;
        model.is_honest &= (agreed.header_digest, agreed.data_digest) == (Digest::Crc32c, Digest::Crc32c);
        bytes
    }
}
