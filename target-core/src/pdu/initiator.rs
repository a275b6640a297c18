//! PDUs that initiators send.

pub use super::data::DataOut;
pub use super::login::LoginRequest;
pub use super::logout::LogoutRequest;
pub use super::nop::NopOut;
pub use super::scsi_command::ScsiCommand;
pub use super::snack::SnackRequest;
pub use super::task_management::TaskManagementRequest;
pub use super::text::TextRequest;

use super::error::{PduError, RejectReason};
use super::fields::RESERVED_TAG;
use super::frame::Frame;
use super::header::Header;
use super::opcode;
use super::output::{DataSegment, Digests, write};
use crate::login::parameters::Digest;
use bytes::{Bytes, BytesMut};

/// Requests that must name their task. A login with the reserved tag is refused by a Login Response, and Data-Out for it
/// belongs to no task.
const TAGGED: [u8; 4] =
    [opcode::SCSI_COMMAND, opcode::TASK_MANAGEMENT_REQUEST, opcode::TEXT_REQUEST, opcode::LOGOUT_REQUEST];

/// Any PDU of an initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InitiatorPdu {
    NopOut(NopOut),
    ScsiCommand(ScsiCommand),
    TaskManagement(TaskManagementRequest),
    Login(LoginRequest),
    Text(TextRequest),
    DataOut(DataOut),
    Logout(LogoutRequest),
    Snack(SnackRequest),
}

impl InitiatorPdu {
    /// Reads a PDU. Reserved bits are ignored, as is F in PDUs that are always the only one of their sequence, and data in
    /// those that have none.
    pub fn parse(frame: Frame) -> Result<Self, PduError> {
        let Frame { bhs, ahs, data } = frame;
        Self::parse_parts(&bhs, &ahs, data).map_err(|reason| PduError { reason, bhs })
    }

    fn parse_parts(bhs: &[u8; 48], ahs: &[u8], data: Bytes) -> Result<Self, RejectReason> {
        let header = &Header::parse(bhs)?;
        if header.initiator_task_tag == RESERVED_TAG && TAGGED.contains(&header.opcode) {
            return Err(RejectReason::InvalidPduField);
        }
        Ok(match header.opcode {
            opcode::NOP_OUT => Self::NopOut(NopOut::parse(header, data)?),
            opcode::SCSI_COMMAND => Self::ScsiCommand(ScsiCommand::parse(header, ahs, data)?),
            opcode::TASK_MANAGEMENT_REQUEST => Self::TaskManagement(TaskManagementRequest::parse(header)?),
            opcode::LOGIN_REQUEST => Self::Login(LoginRequest::parse(header, data)?),
            opcode::TEXT_REQUEST => Self::Text(TextRequest::parse(header, data)?),
            opcode::DATA_OUT => Self::DataOut(DataOut::parse(header, data)?),
            opcode::LOGOUT_REQUEST => Self::Logout(LogoutRequest::parse(header)?),
            opcode::SNACK_REQUEST => Self::Snack(SnackRequest::parse(header)?),
            other => return Err(unknown(other)),
        })
    }

    /// Appends the whole PDU with its padding and digests to `out`.
    pub fn encode(&self, header_digest: Digest, data_digest: Digest, out: &mut BytesMut) {
        let ahs = match self {
            Self::ScsiCommand(pdu) => pdu.segments().encode(),
            _ => Default::default(),
        };
        let (bhs, data) = match self {
            Self::NopOut(pdu) => (pdu.bhs(), DataSegment::from(&pdu.data)),
            Self::ScsiCommand(pdu) => (pdu.bhs(), DataSegment::from(&pdu.immediate_data)),
            Self::TaskManagement(pdu) => (pdu.bhs(), DataSegment::Empty),
            Self::Login(pdu) => (pdu.bhs(), DataSegment::from(&pdu.data)),
            Self::Text(pdu) => (pdu.bhs(), DataSegment::from(&pdu.data)),
            Self::DataOut(pdu) => (pdu.bhs(), DataSegment::from(&pdu.data)),
            Self::Logout(pdu) => (pdu.bhs(), DataSegment::Empty),
            Self::Snack(pdu) => (pdu.bhs(), DataSegment::Empty),
        };
        write(out, bhs, &ahs, data, Digests { header: header_digest, data: data_digest });
    }
}

/// Why an opcode that is none of an initiator's is refused.
fn unknown(opcode: u8) -> RejectReason {
    if opcode & opcode::FROM_TARGET != 0 {
        RejectReason::ProtocolError
    } else {
        RejectReason::CommandNotSupported
    }
}

#[cfg(test)]
#[path = "initiator_tests.rs"]
mod tests;
