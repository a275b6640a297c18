//! What nodes say to each other. The order of variants and members is the format: what is new goes to the end, under a new [`PROTOCOL`].

use serde::{Deserialize, Serialize};

/// The version of all this. A node speaks the lower one of its own and the other's, down to [`Hello::least`].
pub const PROTOCOL: u16 = 1;

/// The first message, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The newest version that it speaks.
    pub newest: u16,
    /// The oldest version that it speaks.
    pub least: u16,
    /// Which node it is.
    pub node: String,
    /// Which start of it.
    pub boot: u64,
    /// Whom it takes the other for: a new process behind an old address is told so at once.
    pub to_node: String,
    /// Which start of that.
    pub to_boot: u64,
}

/// Everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// See there. Nothing comes before it, and it comes once.
    Hello(Hello),
    /// The sender's clock, in milliseconds since it started; also tells that it lives.
    Time(u64),
    /// The owner record of this volume has changed.
    Look {
        /// Which.
        volume: String,
    },
    /// A nexus that commands will come from, under a number of the sender's own.
    Nexus {
        /// Its number.
        number: u64,
        /// Who it is.
        nexus: NexusHead,
    },
    /// Nexuses with smaller numbers are no more: what came in at the sender before its lease lapsed is void.
    Void {
        /// The number.
        below: u64,
    },
    /// A nexus is lost: its tasks are aborted, what ends with it is released.
    NexusLost {
        /// Its number.
        number: u64,
    },
    /// A command is to be executed. Its data is data-out.
    Request {
        /// See [`glint_cluster_core::forwarding::Request`].
        sequence: u64,
        /// The same.
        epoch: u64,
        /// The same.
        stamp: u64,
        /// The same.
        floor: u64,
        /// From which nexus.
        nexus: u64,
        /// The command.
        command: CommandHead,
    },
    /// The answer to a request. Its data is data-in.
    Reply {
        /// Of the request.
        sequence: u64,
        /// Of the request.
        epoch: u64,
        /// From which nexus the command was.
        nexus: u64,
        /// To which unit.
        lun: [u8; 8],
        /// What became of it.
        answer: Answer,
    },
    /// A task management function is to be carried out on a unit of the receiver's.
    Manage {
        /// Of the sender's own for this connection.
        number: u64,
        /// The epoch in which the receiver is thought to own the unit.
        epoch: u64,
        /// From which nexus.
        nexus: u64,
        /// Which function.
        verb: Verb,
        /// The unit.
        lun: [u8; 8],
        /// The task, where the function has to do with one.
        tag: u32,
    },
    /// The answer to that, by the numbers of [`super::managed_code`].
    Managed {
        /// Of the request.
        number: u64,
        /// The answer; none where the receiver does not own the unit.
        outcome: Option<u8>,
    },
    /// Tasks of a nexus that have not been handed over are to be aborted: another nexus has cleared the unit's task set.
    Abort {
        /// Of the sender's own for this connection.
        number: u64,
        /// Of which nexus.
        nexus: u64,
        /// The unit.
        lun: [u8; 8],
        /// Tell the initiator TASK ABORTED; otherwise nothing.
        told: bool,
    },
    /// That has been done.
    Aborted {
        /// Of the request.
        number: u64,
        /// How many there were.
        tasks: u32,
    },
    /// A unit attention condition that tells of a change of the unit, for initiators that want to hear of it at once.
    Event {
        /// For which nexus.
        nexus: u64,
        /// The unit.
        lun: [u8; 8],
        /// ADDITIONAL SENSE CODE and its qualifier.
        condition: (u8, u8),
    },
}

/// An I_T nexus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NexusHead {
    /// iSCSI name of the initiator.
    pub initiator_name: String,
    /// ISID.
    pub isid: [u8; 6],
    /// iSCSI name of the target.
    pub target_name: String,
    /// Target portal group tag.
    pub portal_group_tag: u16,
    /// RELATIVE TARGET PORT IDENTIFIER, unique among all nodes.
    pub relative_port: u16,
}

/// A command without its data-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandHead {
    /// As addressed.
    pub lun: [u8; 8],
    /// The task's tag within the nexus.
    pub tag: u32,
    /// 0 simple, 1 ordered, 2 head of queue, 3 ACA.
    pub attribute: u8,
    /// CRN or priority.
    pub priority: u8,
    /// The CDB.
    pub cdb: Vec<u8>,
    /// Room for data-in.
    pub data_in_room: u32,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It was executed.
    Done(ResponseHead),
    /// It was aborted by task management: no response.
    Aborted,
    /// It was not executed: the sender does not own the unit.
    NotOwner,
    /// It was not executed: it was too long on its way.
    Old,
    /// It was not executed: too many are unanswered.
    Busy,
}

/// A response without its data-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseHead {
    /// SAM status.
    pub status: u8,
    /// Sense data as the initiator is to have it.
    pub sense: Vec<u8>,
    /// The same before it took its format, for metrics.
    pub meaning: Option<SenseHead>,
    /// Data-in beyond the room.
    pub beyond: u64,
    /// Data-out that the command takes.
    pub data_out_wanted: u64,
}

/// What sense data says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenseHead {
    /// SENSE KEY.
    pub key: u8,
    /// ADDITIONAL SENSE CODE and its qualifier.
    pub asc: (u8, u8),
}

/// Task management functions that concern one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Verb {
    AbortTask,
    AbortTaskSet,
    ClearAca,
    ClearTaskSet,
    LogicalUnitReset,
    QueryTask,
    QueryTaskSet,
    QueryAsyncEvent,
}
