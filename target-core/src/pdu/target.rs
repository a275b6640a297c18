//! PDUs that targets send.
//!
//! StatSN, ExpCmdSN and MaxCmdSN are no part of them: the connection gives them when it sends ([`Numbering`]).

pub use super::async_message::AsyncMessage;
pub use super::data::{CollapsedStatus, DataIn};
pub use super::login::LoginResponse;
pub use super::logout::LogoutResponse;
pub use super::nop::NopIn;
pub use super::ready_to_transfer::ReadyToTransfer;
pub use super::reject::Reject;
pub use super::scsi_response::{Residual, ScsiResponse};
pub use super::task_management::TaskManagementResponse;
pub use super::text::TextResponse;

use super::error::{PduError, RejectReason};
use super::fields::Serial;
use super::frame::Frame;
use super::header::{Header, serial, skip};
use super::opcode;
use super::output::{DataSegment, Digests, Output, write};
use crate::login::parameters::Digest;
use bytes::{Bytes, BytesMut};
use nom::Parser;

/// The numbers that nearly every target PDU carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Numbering {
    /// Not sent with a Data-In that has no status.
    pub stat_sn: Serial,
    pub exp_cmd_sn: Serial,
    pub max_cmd_sn: Serial,
}

/// Any PDU of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TargetPdu {
    NopIn(NopIn),
    ScsiResponse(ScsiResponse),
    TaskManagement(TaskManagementResponse),
    Login(LoginResponse),
    Text(TextResponse),
    DataIn(DataIn),
    Logout(LogoutResponse),
    ReadyToTransfer(ReadyToTransfer),
    AsyncMessage(AsyncMessage),
    Reject(Reject),
}

impl TargetPdu {
    /// Reads a PDU as an initiator would.
    pub fn parse(frame: Frame) -> Result<(Self, Numbering), PduError> {
        let Frame { bhs, ahs: _, data } = frame;
        Self::parse_parts(&bhs, data).map_err(|reason| PduError { reason, bhs })
    }

    fn parse_parts(bhs: &[u8; 48], data: Bytes) -> Result<(Self, Numbering), RejectReason> {
        let header = &Header::parse(bhs)?;
        let (_, ((), stat_sn, exp_cmd_sn, max_cmd_sn)) =
            (skip(4), serial, serial, serial).parse(header.rest)?;
        let pdu = match header.opcode {
            opcode::NOP_IN => Self::NopIn(NopIn::parse(header, data)?),
            opcode::SCSI_RESPONSE => Self::ScsiResponse(ScsiResponse::parse(header, &data)?),
            opcode::TASK_MANAGEMENT_RESPONSE => Self::TaskManagement(TaskManagementResponse::parse(header)),
            opcode::LOGIN_RESPONSE => Self::Login(LoginResponse::parse(header, data)?),
            opcode::TEXT_RESPONSE => Self::Text(TextResponse::parse(header, data)?),
            opcode::DATA_IN => Self::DataIn(DataIn::parse(header, data)?),
            opcode::LOGOUT_RESPONSE => Self::Logout(LogoutResponse::parse(header)?),
            opcode::READY_TO_TRANSFER => Self::ReadyToTransfer(ReadyToTransfer::parse(header)?),
            opcode::ASYNC_MESSAGE => Self::AsyncMessage(AsyncMessage::parse(header, data)?),
            opcode::REJECT => Self::Reject(Reject::parse(header, &data)?),
            _ => return Err(RejectReason::CommandNotSupported),
        };
        Ok((pdu, Numbering { stat_sn, exp_cmd_sn, max_cmd_sn }))
    }

    /// Appends the whole PDU with its padding and digests to `out`. The hot path is
    /// [`TransmitQueue::push`](super::transmit::TransmitQueue::push).
    pub fn encode(
        &self,
        numbering: Numbering,
        header_digest: Digest,
        data_digest: Digest,
        out: &mut BytesMut,
    ) {
        self.write(numbering, Digests { header: header_digest, data: data_digest }, out);
    }

    pub(super) fn write(&self, numbering: Numbering, digests: Digests, out: &mut impl Output) {
        let (bhs, data) = match self {
            Self::NopIn(pdu) => (pdu.bhs(numbering), DataSegment::from(&pdu.data)),
            Self::ScsiResponse(pdu) => (pdu.bhs(numbering), DataSegment::Sense(&pdu.sense)),
            Self::TaskManagement(pdu) => (pdu.bhs(numbering), DataSegment::Empty),
            Self::Login(pdu) => (pdu.bhs(numbering), DataSegment::from(&pdu.data)),
            Self::Text(pdu) => (pdu.bhs(numbering), DataSegment::from(&pdu.data)),
            Self::DataIn(pdu) => (pdu.bhs(numbering), DataSegment::Shared(pdu.data.pieces())),
            Self::Logout(pdu) => (pdu.bhs(numbering), DataSegment::Empty),
            Self::ReadyToTransfer(pdu) => (pdu.bhs(numbering), DataSegment::Empty),
            Self::AsyncMessage(pdu) => (pdu.bhs(numbering), DataSegment::from(&pdu.data)),
            Self::Reject(pdu) => (pdu.bhs(numbering), DataSegment::Copied(&pdu.header)),
        };
        write(out, bhs, &[], data, digests);
    }
}
