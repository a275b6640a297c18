//! Reject (RFC 7143 §11.17).

use super::error::RejectReason;
use super::fields::{BHS_LEN, RESERVED_TAG};
use super::header::{Bhs, Header, array};
use super::opcode;
use super::target::Numbering;

/// Reject (RFC 7143 §11.17).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reject {
    /// A code of [`RejectReason`].
    pub reason: u8,
    /// The header of what was rejected.
    pub header: [u8; BHS_LEN],
}

impl Reject {
    pub(super) fn parse(header: &Header<'_>, data: &[u8]) -> Result<Self, RejectReason> {
        let [reason, _] = header.specific;
        Ok(Self { reason, header: array(data)?.1 })
    }

    pub(super) fn bhs(&self, numbering: Numbering) -> Bhs {
        Bhs::only(opcode::REJECT, 0)
            .byte(2, self.reason)
            .initiator_task_tag(RESERVED_TAG)
            .numbering(numbering)
    }
}
