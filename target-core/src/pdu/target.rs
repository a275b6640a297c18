//! PDUs that this target sends.
//!
//! ExpCmdSN and MaxCmdSN of each are filled in by the connection when it encodes them ([`Numbering`]).

use super::fields::{BHS_LEN, Isid, Serial};
use crate::payload::Payload;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;

/// The numbers that nearly every target PDU carries.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Numbering {
    pub stat_sn: Serial,
    pub exp_cmd_sn: Serial,
    pub max_cmd_sn: Serial,
}

/// Any PDU of a target.
#[derive(Clone, Debug)]
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

/// NOP-In (RFC 7143 §11.19).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NopIn {
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data: Bytes,
}

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

/// SCSI Response (RFC 7143 §11.4).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ScsiResponse {
    pub initiator_task_tag: u32,
    /// 0 command completed at target, 1 target failure.
    pub response: u8,
    /// SAM status byte.
    pub status: u8,
    pub residual: Residual,
    pub exp_data_sn: u32,
    /// Sense bytes without the SenseLength field, which encoding adds.
    pub sense: smallvec::SmallVec<[u8; 32]>,
}

/// Task Management Function Response (RFC 7143 §11.6).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TaskManagementResponse {
    pub initiator_task_tag: u32,
    pub response: u8,
}

/// Login Response (RFC 7143 §11.13).
#[derive(Clone, Debug)]
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

/// Text Response (RFC 7143 §11.11).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TextResponse {
    pub is_final: bool,
    pub continues: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data: Bytes,
}

/// SCSI Data-In (RFC 7143 §11.7).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct DataIn {
    pub is_final: bool,
    /// Some: S is set, and status travels with the data (phase collapse).
    pub status: Option<CollapsedStatus>,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub data_sn: u32,
    pub buffer_offset: u32,
    pub data: Payload,
}

/// Status in the last Data-In of a command.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct CollapsedStatus {
    pub status: u8,
    pub residual: Residual,
}

/// Logout Response (RFC 7143 §11.15).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct LogoutResponse {
    pub initiator_task_tag: u32,
    pub response: u8,
    pub time2wait: u16,
    pub time2retain: u16,
}

/// Ready To Transfer (RFC 7143 §11.8).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ReadyToTransfer {
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub r2t_sn: u32,
    pub buffer_offset: u32,
    pub desired_length: u32,
}

/// Asynchronous Message (RFC 7143 §11.9).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AsyncMessage {
    pub lun: LunAddress,
    pub event: u8,
    pub vendor_code: u8,
    pub parameters: [u16; 3],
    pub data: Bytes,
}

/// Reject (RFC 7143 §11.17).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Reject {
    pub reason: u8,
    /// The header of what was rejected.
    pub header: [u8; BHS_LEN],
}
