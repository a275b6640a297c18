//! Task Management Function Request and Response (RFC 7143 §11.5, §11.6).

use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, Header, serial, word};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use nom::Parser;

const FUNCTION_MASK: u8 = 0x7f;

/// Task Management Function Request (RFC 7143 §11.5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TaskManagementRequest {
    pub immediate: bool,
    /// As received; known ones are 1 to 8 and, with iSCSIProtocolLevel 2 (RFC 7144), 9 to 12.
    pub function: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub referenced_task_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub ref_cmd_sn: Serial,
    pub exp_data_sn: u32,
}

impl TaskManagementRequest {
    pub(super) fn parse(header: &Header<'_>) -> Result<Self, RejectReason> {
        let (_, (referenced_task_tag, cmd_sn, exp_stat_sn, ref_cmd_sn, exp_data_sn)) =
            (word, serial, serial, serial, word).parse(header.rest)?;
        Ok(Self {
            immediate: header.immediate,
            function: header.flags & FUNCTION_MASK,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            referenced_task_tag,
            cmd_sn,
            exp_stat_sn,
            ref_cmd_sn,
            exp_data_sn,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::only(opcode::TASK_MANAGEMENT_REQUEST, self.function & FUNCTION_MASK)
            .immediate(self.immediate)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.referenced_task_tag)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
            .serial(32, self.ref_cmd_sn)
            .word(36, self.exp_data_sn)
    }
}

/// Task Management Function Response (RFC 7143 §11.6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TaskManagementResponse {
    pub initiator_task_tag: u32,
    pub response: u8,
}

impl TaskManagementResponse {
    pub(super) fn parse(header: &Header<'_>) -> Self {
        Self { initiator_task_tag: header.initiator_task_tag, response: header.specific[0] }
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::only(opcode::TASK_MANAGEMENT_RESPONSE, 0)
            .byte(2, self.response)
            .initiator_task_tag(self.initiator_task_tag)
            .numbering(numbering)
    }
}
