//! NOP-Out and NOP-In (RFC 7143 §11.18, §11.19).

use super::error::RejectReason;
use super::fields::{RESERVED_TAG, Serial};
use super::header::{Bhs, Header, serial, word};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use nom::Parser;

/// NOP-Out (RFC 7143 §11.18).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NopOut {
    pub immediate: bool,
    pub lun: LunAddress,
    /// `RESERVED_TAG` when it needs no answer.
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub data: Bytes,
}

impl NopOut {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, cmd_sn, exp_stat_sn)) = (word, serial, serial).parse(header.rest)?;
        // §11.18.1: without a tag it must be immediate, for it does not advance CmdSN.
        if header.initiator_task_tag == RESERVED_TAG && !header.immediate {
            return Err(RejectReason::ProtocolError);
        }
        Ok(Self {
            immediate: header.immediate,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            cmd_sn,
            exp_stat_sn,
            data,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::only(opcode::NOP_OUT, 0)
            .immediate(self.immediate)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
    }
}

/// NOP-In (RFC 7143 §11.19).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NopIn {
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data: Bytes,
}

impl NopIn {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, target_transfer_tag) = word(header.rest)?;
        Ok(Self {
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            data,
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::only(opcode::NOP_IN, 0)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .numbering(numbering)
    }
}
