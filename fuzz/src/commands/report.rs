//! What became of the commands of a program.

use glint_target_core::scsi::command::{Outcome, TaskManagement, TaskManagementOutcome};
use glint_target_core::scsi::sense::{Asc, SenseKey, Status};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a status other than CHECK CONDITION.
    Status(Status),
    /// With CHECK CONDITION.
    Sense(SenseKey, Asc),
    /// Without answer.
    Aborted,
}

impl End {
    /// With GOOD.
    pub const GOOD: Self = Self::Status(Status::Good);

    pub(super) fn of(outcome: &Outcome) -> Self {
        let Outcome::Done(response) = outcome else { return Self::Aborted };
        response.sense_value.map_or(Self::Status(response.status), |sense| Self::Sense(sense.key, sense.asc))
    }
}

/// What a program did, in the order in which it ended.
#[derive(Debug, Default)]
pub struct Report {
    /// Commands, by the names of their rows; those without row have none.
    pub commands: Vec<(&'static str, End)>,
    /// Task management functions.
    pub management: Vec<(TaskManagement, TaskManagementOutcome)>,
    /// How often a command was looked at in vain.
    pub waits: usize,
}

impl Report {
    /// How many commands ended with GOOD.
    pub fn good(&self) -> usize {
        self.commands.iter().filter(|(_, end)| *end == End::GOOD).count()
    }
}
