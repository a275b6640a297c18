//! SCSI Data-Out and Data-In (RFC 7143 §11.7).

use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, FINAL, Header, bit, serial, skip, word};
use super::opcode;
use super::scsi_response::Residual;
use super::target::Numbering;
use crate::payload::Payload;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use nom::Parser;

const STATUS: u8 = 0x01;

/// SCSI Data-Out (RFC 7143 §11.7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DataOut {
    pub is_final: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    /// `RESERVED_TAG` for unsolicited data.
    pub target_transfer_tag: u32,
    pub exp_stat_sn: Serial,
    pub data_sn: u32,
    pub buffer_offset: u32,
    pub data: Bytes,
}

impl DataOut {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, (), exp_stat_sn, (), data_sn, buffer_offset)) =
            (word, skip(4), serial, skip(4), word, word).parse(header.rest)?;
        Ok(Self {
            is_final: header.flag(FINAL),
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            exp_stat_sn,
            data_sn,
            buffer_offset,
            data,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::new(opcode::DATA_OUT)
            .byte(1, bit(self.is_final, FINAL))
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .serial(28, self.exp_stat_sn)
            .word(36, self.data_sn)
            .word(40, self.buffer_offset)
    }
}

/// SCSI Data-In (RFC 7143 §11.7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DataIn {
    pub is_final: bool,
    /// Some: S is set, and status travels with the data (phase collapse).
    pub status: Option<CollapsedStatus>,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data_sn: u32,
    pub buffer_offset: u32,
    pub data: Payload,
}

/// Status in the last Data-In of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct CollapsedStatus {
    pub status: u8,
    pub residual: Residual,
}

impl DataIn {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, (), data_sn, buffer_offset, count)) =
            (word, skip(12), word, word, word).parse(header.rest)?;
        let status = header.specific[1];
        let status = match header.flag(STATUS) {
            true => Some(CollapsedStatus { status, residual: Residual::parse_basic(header.flags, count)? }),
            false => None,
        };
        Ok(Self {
            is_final: header.flag(FINAL),
            status,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            data_sn,
            buffer_offset,
            data: data.into(),
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        let flags = bit(self.is_final, FINAL);
        let bhs = Bhs::new(opcode::DATA_IN)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .word(36, self.data_sn)
            .word(40, self.buffer_offset);
        let Some(CollapsedStatus { status, residual }) = self.status else {
            // Without status StatSN is reserved.
            return bhs.byte(1, flags).numbering(Numbering { stat_sn: Serial(0), ..numbering });
        };
        let (residual_flags, count) = residual.encode_basic();
        bhs.byte(1, flags | STATUS | residual_flags).byte(3, status).numbering(numbering).word(44, count)
    }
}
