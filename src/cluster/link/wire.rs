//! SCSI's values as messages have them, and back. What comes from another node is checked like anything else from outside.

use super::message::{Answer, CommandHead, NexusHead, ResponseHead, SenseHead, Verb};
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{
    Cdb, Command, Nexus, NexusId, Outcome, Response, TaskAttribute, TaskManagement, TaskManagementOutcome,
    TaskTag,
};
use glint_target_core::scsi::lun_address::LunAddress;
use glint_target_core::scsi::sense::{Asc, Sense, SenseKey, Status};

/// The longest CDB (SPC-5 4.2.3).
const MOST_CDB: usize = 260;
/// The longest sense data (SPC-5 4.4.1).
const MOST_SENSE: usize = 252;
/// The longest iSCSI name (RFC 7143 §4.2.7.1).
const MOST_NAME: usize = 223;

const ATTRIBUTES: [TaskAttribute; 4] =
    [TaskAttribute::Simple, TaskAttribute::Ordered, TaskAttribute::HeadOfQueue, TaskAttribute::Aca];

/// The response codes of RFC 7143 §11.6.1, and for what a query has found the one of RFC 7144 §4.2.
const OUTCOMES: [(u8, TaskManagementOutcome); 6] = [
    (0, TaskManagementOutcome::Complete),
    (1, TaskManagementOutcome::TaskDoesNotExist),
    (2, TaskManagementOutcome::LunDoesNotExist),
    (5, TaskManagementOutcome::NotSupported),
    (7, TaskManagementOutcome::Succeeded),
    (255, TaskManagementOutcome::Rejected),
];

/// A message that no node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not as it should be")]
pub struct Malformed(pub &'static str);

/// A nexus, for another node.
pub fn nexus_head(nexus: &Nexus) -> NexusHead {
    NexusHead {
        initiator_name: nexus.initiator_name.clone(),
        isid: nexus.isid,
        target_name: nexus.target_name.clone(),
        portal_group_tag: nexus.portal_group_tag,
        relative_port: nexus.relative_port,
    }
}

/// The nexus of another node, under an id of this process. What it has proved there suffices for nothing here: third-party copies stay within the
/// target that it is logged in to.
pub fn nexus_of(head: NexusHead, id: NexusId) -> Result<Nexus, Malformed> {
    let fits = |name: &str| (1..=MOST_NAME).contains(&name.len());
    if !fits(&head.initiator_name) || !fits(&head.target_name) {
        return Err(Malformed("a name"));
    }
    if head.relative_port == 0 {
        return Err(Malformed("a relative target port identifier"));
    }
    Ok(Nexus {
        id,
        initiator_name: head.initiator_name,
        isid: head.isid,
        target_name: head.target_name,
        portal_group_tag: head.portal_group_tag,
        relative_port: head.relative_port,
        proofs: Vec::new(),
    })
}

/// A command, its data apart.
pub fn command_head(command: &Command) -> CommandHead {
    let attribute = ATTRIBUTES.iter().position(|attribute| *attribute == command.attribute);
    CommandHead {
        lun: command.lun.0,
        tag: command.tag.0,
        attribute: attribute.map_or(0, |at| at as u8),
        priority: command.priority,
        cdb: command.cdb.as_slice().to_vec(),
        data_in_room: command.data_in_room,
    }
}

/// The command, with its data.
pub fn command_of(head: CommandHead, data_out: Payload) -> Result<Command, Malformed> {
    if !(1..=MOST_CDB).contains(&head.cdb.len()) {
        return Err(Malformed("a CDB"));
    }
    let attribute = ATTRIBUTES.get(usize::from(head.attribute)).ok_or(Malformed("a task attribute"))?;
    Ok(Command {
        lun: LunAddress(head.lun),
        tag: TaskTag(head.tag),
        attribute: *attribute,
        priority: head.priority,
        cdb: Cdb(head.cdb.into()),
        data_out,
        data_out_beyond: 0,
        data_in_room: head.data_in_room,
    })
}

/// What became of a command, and its data-in.
pub fn outcome_head(outcome: Outcome) -> (Answer, Payload) {
    let response = match outcome {
        Outcome::Aborted => return (Answer::Aborted, Payload::new()),
        Outcome::Done(response) => response,
    };
    let head = ResponseHead {
        status: response.status as u8,
        sense: response.sense.to_vec(),
        meaning: response
            .sense_value
            .map(|sense| SenseHead { key: sense.key as u8, asc: (sense.asc.0, sense.asc.1) }),
        beyond: response.data_in_beyond,
        data_out_wanted: response.data_out_wanted,
    };
    (Answer::Done(head), response.data_in)
}

/// The outcome of a command that was executed elsewhere.
pub fn outcome_of(head: ResponseHead, data_in: Payload) -> Result<Outcome, Malformed> {
    if head.sense.len() > MOST_SENSE {
        return Err(Malformed("sense data"));
    }
    let meaning = match head.meaning {
        None => None,
        Some(SenseHead { key, asc: (asc, qualifier) }) => {
            let key = SenseKey::from_code(key).ok_or(Malformed("a sense key"))?;
            Some(Sense::new(key, Asc(asc, qualifier)))
        }
    };
    Ok(Outcome::Done(Response {
        status: Status::from_code(head.status).ok_or(Malformed("a status"))?,
        sense: head.sense.into(),
        sense_value: meaning,
        data_in,
        data_in_beyond: head.beyond,
        data_out_wanted: head.data_out_wanted,
    }))
}

/// A function that concerns one unit: what it is, the unit, and the task's tag (0 where there is none). None where it concerns more than that: each node
/// carries those out on its own units.
pub fn verb_of(function: TaskManagement) -> Option<(Verb, LunAddress, u32)> {
    use TaskManagement::{
        AbortTask, AbortTaskSet, ClearAca, ClearTaskSet, ITNexusReset, LogicalUnitReset, QueryAsyncEvent,
        QueryTask, QueryTaskSet, TargetColdReset, TargetWarmReset,
    };
    match function {
        AbortTask { lun, tag } => Some((Verb::AbortTask, lun, tag.0)),
        AbortTaskSet { lun } => Some((Verb::AbortTaskSet, lun, 0)),
        ClearAca { lun } => Some((Verb::ClearAca, lun, 0)),
        ClearTaskSet { lun } => Some((Verb::ClearTaskSet, lun, 0)),
        LogicalUnitReset { lun } => Some((Verb::LogicalUnitReset, lun, 0)),
        QueryTask { lun, tag } => Some((Verb::QueryTask, lun, tag.0)),
        QueryTaskSet { lun } => Some((Verb::QueryTaskSet, lun, 0)),
        QueryAsyncEvent { lun } => Some((Verb::QueryAsyncEvent, lun, 0)),
        TargetWarmReset | TargetColdReset | ITNexusReset => None,
    }
}

/// The function.
pub fn function_of(verb: Verb, lun: [u8; 8], tag: u32) -> TaskManagement {
    let (lun, tag) = (LunAddress(lun), TaskTag(tag));
    match verb {
        Verb::AbortTask => TaskManagement::AbortTask { lun, tag },
        Verb::AbortTaskSet => TaskManagement::AbortTaskSet { lun },
        Verb::ClearAca => TaskManagement::ClearAca { lun },
        Verb::ClearTaskSet => TaskManagement::ClearTaskSet { lun },
        Verb::LogicalUnitReset => TaskManagement::LogicalUnitReset { lun },
        Verb::QueryTask => TaskManagement::QueryTask { lun, tag },
        Verb::QueryTaskSet => TaskManagement::QueryTaskSet { lun },
        Verb::QueryAsyncEvent => TaskManagement::QueryAsyncEvent { lun },
    }
}

/// The number of a task management outcome.
pub fn managed_code(outcome: TaskManagementOutcome) -> u8 {
    OUTCOMES.iter().find(|(_, known)| *known == outcome).map_or(255, |(code, _)| *code)
}

/// The task management outcome of a number.
pub fn managed_of(code: u8) -> Result<TaskManagementOutcome, Malformed> {
    let known = OUTCOMES.iter().find(|(known, _)| *known == code);
    known.map(|(_, outcome)| *outcome).ok_or(Malformed("the answer to task management"))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
