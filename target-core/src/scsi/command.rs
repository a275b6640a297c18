//! What arrives at a logical unit and what it answers, whatever carried it.

use super::lun_address::LunAddress;
use super::sense::{Sense, Status};
use crate::lun::notice::Listener;
use crate::lun::throttle::Throttling;
use crate::payload::Payload;
use smallvec::SmallVec;
use std::sync::Arc;
use std::task::Waker;

/// A command descriptor block: 16 bytes inline, longer ones (up to 260) on the heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdb(pub SmallVec<[u8; 16]>);

impl Cdb {
    /// The OPERATION CODE; 0 for an empty CDB.
    pub fn opcode(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    /// All bytes as received, padding included.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// SAM-5 8.5 task attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum TaskAttribute {
    /// Untagged is treated as simple.
    #[default]
    Simple,
    Ordered,
    HeadOfQueue,
    Aca,
}

/// Identifies a task within its I_T nexus (the Initiator Task Tag).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskTag(pub u32);

/// One I_T nexus: an initiator port logged in to a target port (SAM-5 4.6.8).
#[derive(Debug, PartialEq, Eq)]
pub struct Nexus {
    /// Unique in this process; never reused.
    pub id: NexusId,
    /// iSCSI name of the initiator.
    pub initiator_name: String,
    /// ISID, which with the name makes the initiator port.
    pub isid: [u8; 6],
    /// iSCSI name of the target.
    pub target_name: String,
    /// Target portal group tag, which with the name makes the target port.
    pub portal_group_tag: u16,
    /// RELATIVE TARGET PORT IDENTIFIER of the port, from 1.
    pub relative_port: u16,
    /// What the target takes as proof that somebody may log in, each by a number that stands for it within this process; none where it
    /// asks for no proof. The initiator has given one of them.
    pub proofs: Vec<u64>,
}

impl Nexus {
    /// Whether the initiator of this nexus could have `other` too, as far as proofs go: whatever it has proved satisfies that target.
    pub fn suffices_for(&self, other: &Nexus) -> bool {
        other.proofs.is_empty()
            || !self.proofs.is_empty() && self.proofs.iter().all(|proof| other.proofs.contains(proof))
    }
}

/// Number of a [`Nexus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NexusId(pub u64);

/// A SCSI command with all its data-out.
#[derive(Clone, Debug)]
pub struct Command {
    /// The logical unit as addressed.
    pub lun: LunAddress,
    /// The task's tag within the nexus.
    pub tag: TaskTag,
    /// Task attribute.
    pub attribute: TaskAttribute,
    /// CRN or priority, 0 where absent.
    pub priority: u8,
    /// The CDB.
    pub cdb: Cdb,
    /// All the data that the initiator sent for it. May be shorter or longer than the CDB asks for.
    pub data_out: Payload,
    /// Bytes of memory that this keeps alive beyond its own.
    pub data_out_beyond: u32,
    /// Room in bytes that the initiator has for data-in. More than that is not fetched where it can be helped, for nobody has counted on
    /// the memory; what there would have been is told as overflow.
    pub data_in_room: u32,
}

/// The end of a task.
#[derive(Clone, Debug)]
pub struct Response {
    /// SAM status.
    pub status: Status,
    /// Sense bytes (fixed or descriptor format) when the status is CHECK CONDITION, empty otherwise.
    pub sense: SmallVec<[u8; 32]>,
    /// The sense before it took its format: for metrics and logs.
    pub sense_value: Option<Sense>,
    /// Data-in, at least as much as the initiator has room for. May be present with CHECK CONDITION.
    pub data_in: Payload,
    /// Bytes of data-in beyond that, for which there was no room.
    pub data_in_beyond: u64,
    /// Bytes of data-out that the command as decoded takes: the transport derives the residual from it.
    pub data_out_wanted: u64,
}

impl Response {
    /// Nothing but a status.
    pub fn of(status: Status) -> Self {
        Self {
            status,
            sense: SmallVec::new(),
            sense_value: None,
            data_in: Payload::new(),
            data_in_beyond: 0,
            data_out_wanted: 0,
        }
    }
}

/// What became of a task.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It ended; tell the initiator.
    Done(Response),
    /// It was aborted by task management; no response is sent (SAM-5 5.3.1, TAS clear or own nexus).
    Aborted,
}

/// Task management functions (SAM-5 clause 7, RFC 7143 §11.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TaskManagement {
    AbortTask { lun: LunAddress, tag: TaskTag },
    AbortTaskSet { lun: LunAddress },
    ClearAca { lun: LunAddress },
    ClearTaskSet { lun: LunAddress },
    LogicalUnitReset { lun: LunAddress },
    TargetWarmReset,
    TargetColdReset,
    QueryTask { lun: LunAddress, tag: TaskTag },
    QueryTaskSet { lun: LunAddress },
    ITNexusReset,
    QueryAsyncEvent { lun: LunAddress },
}

impl TaskManagement {
    /// The logical unit that it is addressed to, if it is to one.
    pub fn lun(self) -> Option<LunAddress> {
        match self {
            Self::AbortTask { lun, .. }
            | Self::AbortTaskSet { lun }
            | Self::ClearAca { lun }
            | Self::ClearTaskSet { lun }
            | Self::LogicalUnitReset { lun }
            | Self::QueryTask { lun, .. }
            | Self::QueryTaskSet { lun }
            | Self::QueryAsyncEvent { lun } => Some(lun),
            Self::TargetWarmReset | Self::TargetColdReset | Self::ITNexusReset => None,
        }
    }
}

/// Answers to task management (RFC 7143 §11.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TaskManagementOutcome {
    Complete,
    /// QUERY functions: the task or condition exists.
    Succeeded,
    TaskDoesNotExist,
    LunDoesNotExist,
    NotSupported,
    Rejected,
}

/// Serves the logical units of one target to one nexus at a time: the SCSI target device as the transport sees it.
pub trait DeviceServer: Send + Sync + 'static {
    /// Runs a command to its end. Always answers, also with nonsense in the CDB or an unknown LUN.
    fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> impl Future<Output = Outcome> + Send;

    /// Runs a task management function; ready when its effects are in place and no aborted task can have further ones.
    fn manage(
        &self,
        nexus: &Arc<Nexus>,
        function: TaskManagement,
    ) -> impl Future<Output = TaskManagementOutcome> + Send;

    /// The limits that transports keep before they hand a command over, if there can be any.
    fn throttling(&self) -> Option<&Arc<Throttling>> {
        None
    }

    /// Begins to keep notices for a transport of the nexus, or a part of it; `waker` is woken for each.
    fn listen(&self, nexus: NexusId, waker: Waker) -> Listener;

    /// A nexus came into being: it gets its unit attentions.
    fn nexus_established(&self, nexus: &Arc<Nexus>);

    /// A nexus is lost: its tasks are aborted, its reservations that end with it are released (SAM-5 6.3.4).
    fn nexus_lost(&self, nexus: &Arc<Nexus>);
}
