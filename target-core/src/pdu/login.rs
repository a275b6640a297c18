//! Login Request and Login Response (RFC 7143 §11.12, §11.13).
//!
//! The parsers refuse nothing: what is wrong with a login is told with a login status, not with a Reject.

use super::error::RejectReason;
use super::fields::{Isid, Serial};
use super::header::{Bhs, CONTINUES, FINAL, Header, bit, byte, half, serial, skip};
use super::opcode;
use super::target::Numbering;
use bytes::Bytes;
use nom::Parser;
use std::fmt;

/// CSG and NSG share byte 1 with T and C.
const CURRENT_STAGE_SHIFT: u8 = 2;
const STAGE_MASK: u8 = 0x03;

/// Login Request (RFC 7143 §11.12).
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LoginRequest {
    pub transit: bool,
    pub continues: bool,
    /// CSG, 0 to 3 as received.
    pub current_stage: u8,
    /// NSG, 0 to 3 as received.
    pub next_stage: u8,
    pub version_max: u8,
    pub version_min: u8,
    pub isid: Isid,
    pub tsih: u16,
    pub initiator_task_tag: u32,
    pub cid: u16,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub data: Bytes,
}

fn flags(transit: bool, continues: bool, current_stage: u8, next_stage: u8) -> u8 {
    bit(transit, FINAL)
        | bit(continues, CONTINUES)
        | (current_stage & STAGE_MASK) << CURRENT_STAGE_SHIFT
        | next_stage & STAGE_MASK
}

impl LoginRequest {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, (cid, (), cmd_sn, exp_stat_sn)) = (half, skip(2), serial, serial).parse(header.rest)?;
        let [version_max, version_min] = header.specific;
        let (isid, tsih) = header.session();
        Ok(Self {
            transit: header.flag(FINAL),
            continues: header.flag(CONTINUES),
            current_stage: header.flags >> CURRENT_STAGE_SHIFT & STAGE_MASK,
            next_stage: header.flags & STAGE_MASK,
            version_max,
            version_min,
            isid,
            tsih,
            initiator_task_tag: header.initiator_task_tag,
            cid,
            cmd_sn,
            exp_stat_sn,
            data,
        })
    }

    pub(super) fn bhs(&self) -> Bhs {
        Bhs::new(opcode::LOGIN_REQUEST)
            .immediate(true)
            .byte(1, flags(self.transit, self.continues, self.current_stage, self.next_stage))
            .put(2, [self.version_max, self.version_min])
            .session(self.isid, self.tsih)
            .initiator_task_tag(self.initiator_task_tag)
            .half(20, self.cid)
            .serial(24, self.cmd_sn)
            .serial(28, self.exp_stat_sn)
    }
}

/// Without the text, which may hold what authentication exchanges.
impl fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginRequest")
            .field("transit", &self.transit)
            .field("continues", &self.continues)
            .field("stages", &(self.current_stage, self.next_stage))
            .field("versions", &(self.version_min, self.version_max))
            .field("isid", &self.isid)
            .field("tsih", &self.tsih)
            .field("initiator_task_tag", &self.initiator_task_tag)
            .field("cid", &self.cid)
            .field("cmd_sn", &self.cmd_sn)
            .field("exp_stat_sn", &self.exp_stat_sn)
            .field("data_length", &self.data.len())
            .finish()
    }
}

/// Login Response (RFC 7143 §11.13).
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LoginResponse {
    pub transit: bool,
    pub continues: bool,
    pub current_stage: u8,
    pub next_stage: u8,
    pub version_max: u8,
    pub version_active: u8,
    pub isid: Isid,
    pub tsih: u16,
    pub initiator_task_tag: u32,
    pub status_class: u8,
    pub status_detail: u8,
    pub data: Bytes,
}

impl LoginResponse {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, ((), status_class, status_detail)) = (skip(16), byte, byte).parse(header.rest)?;
        let [version_max, version_active] = header.specific;
        let (isid, tsih) = header.session();
        Ok(Self {
            transit: header.flag(FINAL),
            continues: header.flag(CONTINUES),
            current_stage: header.flags >> CURRENT_STAGE_SHIFT & STAGE_MASK,
            next_stage: header.flags & STAGE_MASK,
            version_max,
            version_active,
            isid,
            tsih,
            initiator_task_tag: header.initiator_task_tag,
            status_class,
            status_detail,
            data,
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::new(opcode::LOGIN_RESPONSE)
            .byte(1, flags(self.transit, self.continues, self.current_stage, self.next_stage))
            .put(2, [self.version_max, self.version_active])
            .session(self.isid, self.tsih)
            .initiator_task_tag(self.initiator_task_tag)
            .numbering(numbering)
            .put(36, [self.status_class, self.status_detail])
    }
}

/// Without the text, which may hold what authentication exchanges.
impl fmt::Debug for LoginResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginResponse")
            .field("transit", &self.transit)
            .field("continues", &self.continues)
            .field("stages", &(self.current_stage, self.next_stage))
            .field("versions", &(self.version_active, self.version_max))
            .field("isid", &self.isid)
            .field("tsih", &self.tsih)
            .field("initiator_task_tag", &self.initiator_task_tag)
            .field("status", &(self.status_class, self.status_detail))
            .field("data_length", &self.data.len())
            .finish()
    }
}
