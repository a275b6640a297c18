//! Logout Request and Response (RFC 7143 §11.14, §11.15).

use super::error::RejectReason;
use super::fields::Serial;
use super::header::{Bhs, Header, half, serial, skip};
use super::opcode;
use super::target::Numbering;
use nom::Parser;

const REASON_MASK: u8 = 0x7f;

/// Logout Request (RFC 7143 §11.14).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LogoutRequest {
    pub immediate: bool,
    /// 0 close session, 1 close connection, 2 remove connection for recovery; others as received.
    pub reason: u8,
    pub initiator_task_tag: u32,
    pub cid: u16,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
}

impl LogoutRequest {
    pub(super) fn parse(header: &Header<'_>) -> Result<Self, RejectReason> {
        let (_, (cid, (), cmd_sn, exp_stat_sn)) = (half, skip(2), serial, serial).parse(header.rest)?;
        Ok(Self {
            immediate: header.immediate,
            reason: header.flags & REASON_MASK,
            initiator_task_tag: header.initiator_task_tag,
            cid,
            cmd_sn,
            exp_stat_sn,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::only(opcode::LOGOUT_REQUEST, self.reason & REASON_MASK)
            .immediate(self.immediate)
            .initiator_task_tag(self.initiator_task_tag)
            .half(20, self.cid)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
    }
}

/// Logout Response (RFC 7143 §11.15).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LogoutResponse {
    pub initiator_task_tag: u32,
    pub response: u8,
    /// In seconds.
    pub time2wait: u16,
    /// In seconds.
    pub time2retain: u16,
}

impl LogoutResponse {
    pub(super) fn parse(header: &Header<'_>) -> Result<Self, RejectReason> {
        let (_, ((), time2wait, time2retain)) = (skip(20), half, half).parse(header.rest)?;
        let [response, _] = header.specific;
        Ok(Self { initiator_task_tag: header.initiator_task_tag, response, time2wait, time2retain })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::only(opcode::LOGOUT_RESPONSE, 0)
            .byte(2, self.response)
            .initiator_task_tag(self.initiator_task_tag)
            .numbering(numbering)
            .half(40, self.time2wait)
            .half(42, self.time2retain)
    }
}
