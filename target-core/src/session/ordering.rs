//! Task attributes before the device server sees them: a command is handed over when its data is complete, so an ordered one must be
//! kept from overtaking those that still wait for theirs, and from being overtaken (SAM-5 8.6).

use super::event::TaskId;
use super::full_feature::FullFeature;
use super::link::Link;
use super::tasks::{CommandTask, Stage, Work};
use crate::scsi::command::TaskAttribute;

/// The order in which commands had their turn.
#[derive(Debug, Default)]
pub(super) struct Ordering {
    last_turn: u64,
    /// Ordered commands that the driver has not got. Almost always none, and then nothing here costs anything.
    ordered: usize,
    /// Commands that wait because of their attributes or those of others.
    blocked: usize,
}

impl Ordering {
    /// A command has its turn. Turns count from 1.
    pub(super) fn take_turn(&mut self, attribute: TaskAttribute) -> u64 {
        self.ordered += usize::from(attribute == TaskAttribute::Ordered);
        self.last_turn += 1;
        self.last_turn
    }

    /// The turn that was taken last.
    pub(super) fn last_turn(&self) -> u64 {
        self.last_turn
    }

    /// A command that has had its turn goes to the driver, or ends.
    pub(super) fn pass(&mut self, command: &CommandTask) {
        self.ordered -= usize::from(command.attribute == TaskAttribute::Ordered);
        self.blocked -= usize::from(command.stage == Stage::Blocked);
    }
}

impl FullFeature {
    /// Sets a command aside whose data is complete.
    pub(super) fn block(&mut self, id: TaskId) {
        if let Some(command) = self.tasks.command_mut(id) {
            command.stage = Stage::Blocked;
            self.ordering.blocked += 1;
        }
    }

    /// Whether a command has to wait for older ones of its logical unit.
    pub(super) fn is_blocked(&self, id: TaskId) -> bool {
        if self.ordering.ordered == 0 {
            return false;
        }
        let Some(task) = self.tasks.get(id) else { return false };
        let Work::Command(command) = &task.work else { return false };
        if command.attribute == TaskAttribute::HeadOfQueue {
            return false;
        }
        self.tasks.commands().any(|(_, other_task, other)| {
            matches!(other.stage, Stage::Collecting | Stage::Blocked)
                && other.turn < command.turn
                && other_task.lun.names_same(task.lun)
                && (command.attribute == TaskAttribute::Ordered || other.attribute == TaskAttribute::Ordered)
        })
    }

    /// Runs those that waited and need not any more, oldest first.
    pub(super) fn run_unblocked(&mut self, link: &mut Link) {
        if self.ordering.blocked == 0 {
            return;
        }
        let mut blocked: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, _, command)| command.stage == Stage::Blocked)
            .map(|(id, _, command)| (command.turn, id))
            .collect();
        blocked.sort_unstable();
        for (_, id) in blocked {
            if !self.is_blocked(id) {
                self.run(link, id);
            }
        }
    }
}
