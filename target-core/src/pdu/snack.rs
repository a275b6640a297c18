//! SNACK Request (RFC 7143 §11.16).

use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, Header, serial, skip, word};
use super::opcode;
use crate::scsi::lun_address::LunAddress;
use nom::Parser;

const KIND_MASK: u8 = 0x0f;

/// SNACK Request (RFC 7143 §11.16); answered with a Reject at ErrorRecoveryLevel 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SnackRequest {
    /// 0 data or R2T, 1 status, 2 DataACK, 3 R-Data; others as received.
    pub kind: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub exp_stat_sn: Serial,
    pub beg_run: u32,
    pub run_length: u32,
}

impl SnackRequest {
    pub(super) fn parse(header: &Header<'_>) -> Result<Self, RejectReason> {
        let (_, (target_transfer_tag, (), exp_stat_sn, (), beg_run, run_length)) =
            (word, skip(4), serial, skip(8), word, word).parse(header.rest)?;
        Ok(Self {
            kind: header.flags & KIND_MASK,
            lun: header.lun(),
            initiator_task_tag: header.initiator_task_tag,
            target_transfer_tag,
            exp_stat_sn,
            beg_run,
            run_length,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::only(opcode::SNACK_REQUEST, self.kind & KIND_MASK)
            .lun(self.lun)
            .initiator_task_tag(self.initiator_task_tag)
            .word(20, self.target_transfer_tag)
            .serial(28, self.exp_stat_sn)
            .word(40, self.beg_run)
            .word(44, self.run_length)
    }
}
