//! What makes a PDU unacceptable, in the terms of the Reject PDU.

use super::fields::BHS_LEN;

/// Reason codes of the Reject PDU (RFC 7143 §11.17.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum RejectReason {
    DataDigestError = 0x02,
    SnackReject = 0x03,
    ProtocolError = 0x04,
    CommandNotSupported = 0x05,
    ImmediateCommandReject = 0x06,
    TaskInProgress = 0x07,
    InvalidDataAck = 0x08,
    InvalidPduField = 0x09,
    LongOperationReject = 0x0a,
    NegotiationReset = 0x0b,
    WaitingForLogout = 0x0c,
}

impl RejectReason {
    /// The code on the wire.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// A field parser that ran out of bytes; with a whole header at hand only an additional header segment can cause it.
impl<E> From<nom::Err<E>> for RejectReason {
    fn from(_: nom::Err<E>) -> Self {
        Self::InvalidPduField
    }
}

/// A frame that is no acceptable PDU: answered with a Reject that carries `bhs`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("opcode {:#04x} refused: {reason:?}", .bhs[0] & super::opcode::MASK)]
pub struct PduError {
    /// Reason for the Reject.
    pub reason: RejectReason,
    /// Header of the PDU.
    pub bhs: [u8; BHS_LEN],
}
