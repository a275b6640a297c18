//! Text Request and Text Response (RFC 7143 §11.10, §11.11).

use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, CONTINUES, FINAL, Header, bit, serial, word};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use nom::Parser;

/// Text Request (RFC 7143 §11.10).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TextRequest {
    pub immediate: bool,
    pub is_final: bool,
    pub continues: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub data: Bytes,
}

impl TextRequest {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, cmd_sn, exp_stat_sn)) = (word, serial, serial).parse(header.rest)?;
        let (is_final, continues) = (header.flag(FINAL), header.flag(CONTINUES));
        // §11.10.2: a text that continues cannot be final.
        if is_final && continues {
            return Err(RejectReason::ProtocolError);
        }
        Ok(Self {
            immediate: header.immediate,
            is_final,
            continues,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            cmd_sn,
            exp_stat_sn,
            data,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::new(opcode::TEXT_REQUEST)
            .immediate(self.immediate)
            .byte(1, bit(self.is_final, FINAL) | bit(self.continues, CONTINUES))
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
    }
}

/// Text Response (RFC 7143 §11.11).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TextResponse {
    pub is_final: bool,
    pub continues: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data: Bytes,
}

impl TextResponse {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, target_transfer_tag) = word(header.rest)?;
        Ok(Self {
            is_final: header.flag(FINAL),
            continues: header.flag(CONTINUES),
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            data,
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::new(opcode::TEXT_RESPONSE)
            .byte(1, bit(self.is_final, FINAL) | bit(self.continues, CONTINUES))
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .numbering(numbering)
    }
}
