//! Asynchronous Message (RFC 7143 §11.9).

use super::error::RejectReason;
use super::fields::RESERVED_TAG;
use super::header::{Bhs, Header, byte, half, skip};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use nom::Parser;

/// Asynchronous Message (RFC 7143 §11.9).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AsyncMessage {
    pub lun: LunAddress,
    /// AsyncEvent: 0 SCSI event, 1 logout requested, 2 connection will be dropped, 3 all connections will be, 4 negotiation
    /// requested.
    pub event: u8,
    pub vendor_code: u8,
    /// Parameter1 to Parameter3.
    pub parameters: [u16; 3],
    /// With event 0: SenseLength (2 bytes), sense and event data.
    pub data: Bytes,
}

impl AsyncMessage {
    pub(super) fn parse(header: &Header<'_>, data: Bytes) -> Result<Self, RejectReason> {
        let (_, ((), event, vendor_code, one, two, three)) =
            (skip(16), byte, byte, half, half, half).parse(header.rest)?;
        Ok(Self { lun: header.lun(), event, vendor_code, parameters: [one, two, three], data })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        let [one, two, three] = self.parameters;
        Bhs::only(opcode::ASYNC_MESSAGE, 0)
            .lun(self.lun)
            .initiator_task_tag(RESERVED_TAG)
            .numbering(numbering)
            .put(36, [self.event, self.vendor_code])
            .half(38, one)
            .half(40, two)
            .half(42, three)
    }
}
