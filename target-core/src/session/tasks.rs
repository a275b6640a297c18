//! The tasks of a session, found by the driver's [`TaskId`] and by the initiator's task tag.

use super::data_out::DataOutBuffer;
use super::event::{Leg, TaskId};
use crate::lun::throttle::Ticket;
use crate::scsi::command::{Cdb, TaskAttribute, TaskManagement};
use crate::scsi::lun_address::LunAddress;
use std::collections::HashMap;

/// Low bits of a [`TaskId`]: the place in the table. The others are a running number.
const SLOT_BITS: u32 = 20;

/// A task between its request and its answer.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) tag: u32,
    /// Where the request came, and all that belongs to it goes (RFC 7143 §4.2.5.1, connection allegiance).
    pub(super) leg: Leg,
    pub(super) lun: LunAddress,
    /// It has no CmdSN of its own, so its end opens the window for no other.
    pub(super) immediate: bool,
    pub(super) work: Work,
}

/// What a task is about.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "commands are the rule, and a box for each would be an allocation for each"
)]
pub(super) enum Work {
    Command(CommandTask),
    Management(ManagementTask),
}

/// A SCSI command.
#[derive(Debug)]
pub(super) struct CommandTask {
    pub(super) stage: Stage,
    /// Its number in the order of turns, from 1; 0 while it is early.
    pub(super) turn: u64,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) attribute: TaskAttribute,
    pub(super) priority: u8,
    /// Empty once the driver has it.
    pub(super) cdb: Cdb,
    /// Of the write, or of the read when nothing is written; in bytes.
    pub(super) expected_length: u32,
    /// In bytes.
    pub(super) bidirectional_read_length: u32,
    pub(super) data_out: DataOutBuffer,
    /// It waits for the limits of its unit, before anything is asked of it or for it.
    pub(super) ticket: Option<Ticket>,
    /// Its place in the window is given to another while it waits.
    pub(super) lends_place: bool,
}

/// A task management function that the driver has.
#[derive(Debug)]
pub(super) struct ManagementTask {
    pub(super) function: TaskManagement,
    /// The last command that had its turn before the function: younger ones are not affected.
    pub(super) last_turn: u64,
}

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Commands of lower CmdSN have yet to come.
    Early,
    /// Its data is being collected.
    Collecting,
    /// All is there, but task attributes make it wait for older commands.
    Blocked,
    /// The driver has it.
    Running,
}

impl Task {
    /// Whether its end opens the window for another.
    pub(super) fn holds_place(&self) -> bool {
        !self.immediate && !self.lends_place()
    }

    fn lends_place(&self) -> bool {
        matches!(&self.work, Work::Command(CommandTask { lends_place: true, .. }))
    }
}

impl CommandTask {
    /// Data-out that the initiator announced, in bytes.
    pub(super) fn data_out_room(&self) -> u32 {
        if self.write { self.expected_length } else { 0 }
    }

    /// Most data-in that the initiator takes, in bytes.
    pub(super) fn data_in_room(&self) -> u32 {
        match (self.read, self.write) {
            (false, _) => 0,
            (true, false) => self.expected_length,
            (true, true) => self.bidirectional_read_length,
        }
    }
}

/// The table. Places are used again, ids are not.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    slots: Vec<Option<(TaskId, Task)>>,
    free: Vec<usize>,
    by_tag: HashMap<u32, TaskId>,
    last_number: u64,
    immediate: usize,
    running: usize,
    /// Commands that lend their place in the window.
    lending: usize,
    /// Bytes of memory that is held for data-out of commands which the driver has not got.
    gathered: usize,
}

impl Tasks {
    /// Adds a task; its tag must not be in use.
    pub(super) fn insert(&mut self, task: Task) -> TaskId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.last_number += 1;
        let id = TaskId(self.last_number << SLOT_BITS | slot as u64);
        self.by_tag.insert(task.tag, id);
        self.immediate += usize::from(task.immediate);
        self.gathered += gathered(&task);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some((id, task));
        }
        id
    }

    fn slot(id: TaskId) -> usize {
        (id.0 & ((1 << SLOT_BITS) - 1)) as usize
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        match self.slots.get(Self::slot(id)) {
            Some(Some((found, task))) if *found == id => Some(task),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        match self.slots.get_mut(Self::slot(id)) {
            Some(Some((found, task))) if *found == id => Some(task),
            _ => None,
        }
    }

    pub(super) fn command_mut(&mut self, id: TaskId) -> Option<&mut CommandTask> {
        match self.get_mut(id) {
            Some(Task { work: Work::Command(command), .. }) => Some(command),
            _ => None,
        }
    }

    pub(super) fn by_tag(&self, tag: u32) -> Option<TaskId> {
        self.by_tag.get(&tag).copied()
    }

    pub(super) fn remove(&mut self, id: TaskId) -> Option<Task> {
        self.get(id)?;
        let slot = Self::slot(id);
        let (_, task) = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        self.by_tag.remove(&task.tag);
        self.immediate -= usize::from(task.immediate);
        self.running -= usize::from(is_running(&task));
        self.lending -= usize::from(task.lends_place());
        self.gathered -= gathered(&task);
        Some(task)
    }

    /// Notes that the driver has a command, whose data is to be taken out for it after this.
    pub(super) fn set_running(&mut self, id: TaskId) {
        if let Some(command) = self.command_mut(id)
            && command.stage != Stage::Running
        {
            command.stage = Stage::Running;
            let handed_over = command.data_out.held();
            self.running += 1;
            self.gathered -= handed_over;
        }
    }

    /// Has a command lend its place in the window, if not `most` do so already; tells whether it does from now on.
    pub(super) fn lend_place(&mut self, id: TaskId, most: usize) -> bool {
        if self.lending >= most || !self.get(id).is_some_and(Task::holds_place) {
            return false;
        }
        let Some(command) = self.command_mut(id) else { return false };
        command.lends_place = true;
        self.lending += 1;
        true
    }

    /// Gives data to a command that the driver has not got; none when there is no such command.
    pub(super) fn gather<T>(
        &mut self,
        id: TaskId,
        receive: impl FnOnce(&mut DataOutBuffer) -> T,
    ) -> Option<T> {
        let command = self.command_mut(id)?;
        if !matches!(command.stage, Stage::Early | Stage::Collecting) {
            return None;
        }
        let before = command.data_out.held();
        let result = receive(&mut command.data_out);
        let more = command.data_out.held() - before;
        self.gathered += more;
        Some(result)
    }

    /// Bytes of memory that is held for data-out of commands which the driver has not got.
    pub(super) fn gathered(&self) -> usize {
        self.gathered
    }

    /// Immediate ones, of any kind.
    pub(super) fn immediate(&self) -> usize {
        self.immediate
    }

    /// Whether the driver has commands.
    pub(super) fn is_any_running(&self) -> bool {
        self.running > 0
    }

    /// Whether the driver has commands of this connection.
    pub(super) fn is_running(&self, leg: Leg) -> bool {
        let runs = |task: &Task| task.leg == leg && is_running(task);
        self.running > 0 && self.slots.iter().flatten().any(|(_, task)| runs(task))
    }

    /// All tasks, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.slots.iter().flatten().map(|(_, task)| task)
    }

    /// All commands, in no order. An id is greater than those of older tasks.
    pub(super) fn commands(&self) -> impl Iterator<Item = (TaskId, &Task, &CommandTask)> {
        self.slots.iter().flatten().filter_map(|(id, task)| match &task.work {
            Work::Command(command) => Some((*id, task, command)),
            Work::Management(_) => None,
        })
    }
}

fn gathered(task: &Task) -> usize {
    match &task.work {
        Work::Command(command) if command.stage != Stage::Running => command.data_out.held(),
        Work::Command(_) | Work::Management(_) => 0,
    }
}

fn is_running(task: &Task) -> bool {
    matches!(&task.work, Work::Command(CommandTask { stage: Stage::Running, .. }))
}
