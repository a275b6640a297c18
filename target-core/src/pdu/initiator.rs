//! PDUs that initiators send.

use super::fields::{Isid, Serial};
use crate::scsi::command::TaskAttribute;
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;

/// Any PDU of an initiator.
#[derive(Clone, Debug)]
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

/// NOP-Out (RFC 7143 §11.18).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NopOut {
    pub immediate: bool,
    pub lun: LunAddress,
    /// `RESERVED_TAG` when it needs no answer.
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub data: Bytes,
}

/// SCSI Command (RFC 7143 §11.3).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct ScsiCommand {
    pub immediate: bool,
    /// F: no unsolicited Data-Out follows.
    pub is_final: bool,
    pub read: bool,
    pub write: bool,
    pub attribute: TaskAttribute,
    pub priority: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    /// In bytes: of the write when W is set, else of the read.
    pub expected_data_transfer_length: u32,
    /// For bidirectional commands, from the AHS; 0 otherwise.
    pub bidirectional_read_length: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    /// 16 bytes, then what an Extended CDB AHS adds.
    pub cdb: smallvec::SmallVec<[u8; 16]>,
    pub immediate_data: Bytes,
}

/// Task Management Function Request (RFC 7143 §11.5).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TaskManagementRequest {
    pub immediate: bool,
    /// As received; known ones are 1 to 8 and, with iSCSIProtocolLevel 2 (RFC 7144), 9 to 12.
    pub function: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub referenced_task_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub ref_cmd_sn: Serial,
    pub exp_data_sn: u32,
}

/// Login Request (RFC 7143 §11.12).
#[derive(Clone, Debug)]
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

/// Text Request (RFC 7143 §11.10).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TextRequest {
    pub immediate: bool,
    pub is_final: bool,
    pub continues: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub cmd_sn: Serial,
    pub exp_stat_sn: Serial,
    pub data: Bytes,
}

/// SCSI Data-Out (RFC 7143 §11.7).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct DataOut {
    pub is_final: bool,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    /// `RESERVED_TAG` for unsolicited data.
    pub target_transfer_tag: u32,
    pub exp_stat_sn: Serial,
    pub data_sn: u32,
    pub buffer_offset: u32,
    pub data: Bytes,
}

/// Logout Request (RFC 7143 §11.14).
#[derive(Clone, Debug)]
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

/// SNACK Request (RFC 7143 §11.16); answered with a Reject at ErrorRecoveryLevel 0.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct SnackRequest {
    pub kind: u8,
    pub lun: LunAddress,
    pub initiator_task_tag: u32,
    pub target_transfer_tag: u32,
    pub exp_stat_sn: Serial,
    pub beg_run: u32,
    pub run_length: u32,
}
