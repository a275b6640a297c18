//! Ready To Transfer (RFC 7143 §11.8).

use super::error::RejectReason;
use super::header::{Bhs, Header, skip, word};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use nom::Parser;

/// Ready To Transfer (RFC 7143 §11.8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ReadyToTransfer {
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub r2t_sn: u32,
    pub buffer_offset: u32,
    pub desired_length: u32,
}

impl ReadyToTransfer {
    pub(super) fn parse(header: &Header<'_>) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, (), r2t_sn, buffer_offset, desired_length)) =
            (word, skip(12), word, word, word).parse(header.rest)?;
        Ok(Self {
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            r2t_sn,
            buffer_offset,
            desired_length,
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::only(opcode::READY_TO_TRANSFER, 0)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .numbering(numbering)
            .word(36, self.r2t_sn)
            .word(40, self.buffer_offset)
            .word(44, self.desired_length)
    }
}
