//! SCSI Response (RFC 7143 §11.4).

use super::error::RejectReason;
use super::header::{Bhs, Header, half, skip, word};
use super::opcode;
use super::target::Numbering;
use nom::Parser;
use nom::multi::length_data;
use smallvec::SmallVec;

const OVERFLOW: u8 = 0x04;
const UNDERFLOW: u8 = 0x02;
const BIDIRECTIONAL_OVERFLOW: u8 = 0x10;
const BIDIRECTIONAL_UNDERFLOW: u8 = 0x08;

/// Residual count of a data transfer (RFC 7143 §11.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Residual {
    /// The transfer had the expected length.
    #[default]
    None,
    /// So many bytes of the expected length were not transferred.
    Underflow(u32),
    /// So many bytes did not fit the expected length.
    Overflow(u32),
}

impl Residual {
    /// From the bits O and U and the count.
    pub(super) fn new(overflow: bool, underflow: bool, count: u32) -> Result<Self, RejectReason> {
        match (overflow, underflow) {
            (false, false) => Ok(Self::None),
            (true, false) => Ok(Self::Overflow(count)),
            (false, true) => Ok(Self::Underflow(count)),
            (true, true) => Err(RejectReason::InvalidPduField),
        }
    }

    /// The bits of O and U that have the given places, and the count.
    pub(super) fn encode(self, overflow: u8, underflow: u8) -> (u8, u32) {
        match self {
            Self::None => (0, 0),
            Self::Underflow(count) => (underflow, count),
            Self::Overflow(count) => (overflow, count),
        }
    }

    /// Bits and count where SCSI Response and Data-In have them.
    pub(super) fn encode_basic(self) -> (u8, u32) {
        self.encode(OVERFLOW, UNDERFLOW)
    }

    pub(super) fn parse_basic(flags: u8, count: u32) -> Result<Self, RejectReason> {
        Self::new(flags & OVERFLOW != 0, flags & UNDERFLOW != 0, count)
    }
}

/// SCSI Response (RFC 7143 §11.4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ScsiResponse {
    pub initiator_task_tag: u32,
    /// 0 command completed at target, 1 target failure.
    pub response: u8,
    /// SAM status byte.
    pub status: u8,
    pub residual: Residual,
    /// Of the read of a bidirectional command.
    pub bidirectional_read_residual: Residual,
    pub exp_data_sn: u32,
    /// Sense bytes (252 at most by SPC) without the SenseLength field, which encoding adds.
    pub sense: SmallVec<[u8; 32]>,
}

impl ScsiResponse {
    pub(super) fn parse(header: &Header<'_>, data: &[u8]) -> Result<Self, RejectReason> {
        let (_, ((), exp_data_sn, bidirectional_count, count)) =
            (skip(16), word, word, word).parse(header.rest)?;
        let [response, status] = header.specific;
        let sense = if data.is_empty() { &[] } else { length_data(half).parse(data)?.1 };
        Ok(Self {
            initiator_task_tag: header.initiator_task_tag,
            response,
            status,
            residual: Residual::parse_basic(header.flags, count)?,
            bidirectional_read_residual: Residual::new(
                header.flag(BIDIRECTIONAL_OVERFLOW),
                header.flag(BIDIRECTIONAL_UNDERFLOW),
                bidirectional_count,
            )?,
            exp_data_sn,
            sense: sense.into(),
        })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        let (flags, count) = self.residual.encode_basic();
        let (bidirectional_flags, bidirectional_count) =
            self.bidirectional_read_residual.encode(BIDIRECTIONAL_OVERFLOW, BIDIRECTIONAL_UNDERFLOW);
        Bhs::only(opcode::SCSI_RESPONSE, flags | bidirectional_flags)
            .put(2, [self.response, self.status])
            .initiator_task_tag(self.initiator_task_tag)
            .numbering(numbering)
            .word(36, self.exp_data_sn)
            .word(40, bidirectional_count)
            .word(44, count)
    }
}
