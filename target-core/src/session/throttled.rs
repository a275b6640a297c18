//! Commands that wait for the limits of their unit (`lun::throttle`), in the task set and before the driver: what aborts commands finds them
//! here, no R2T goes out for them, and no memory is counted for what they are to read.

use super::event::TaskId;
use super::full_feature::FullFeature;
use super::link::Link;
use super::tasks::Work;
use crate::lun::throttle::{Passage, Throttling, Ticket};
use crate::scsi::command::TaskAttribute;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// See the module.
#[derive(Default)]
pub(super) struct Throttled {
    throttling: Option<Arc<Throttling>>,
    /// Those who wait, and some who did.
    queue: VecDeque<TaskId>,
    /// When to look again.
    due: Option<Instant>,
}

impl Throttled {
    pub(super) fn set(&mut self, throttling: Arc<Throttling>) {
        self.throttling = Some(throttling);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}

impl FullFeature {
    /// Charges a command that has its turn; tells whether it has to wait.
    pub(super) fn throttle(&mut self, now: Instant, id: TaskId) -> bool {
        match &self.throttled.throttling {
            Some(throttling) if throttling.is_any() => self.throttle_where_limited(now, id),
            _ => false,
        }
    }

    #[cold]
    fn throttle_where_limited(&mut self, now: Instant, id: TaskId) -> bool {
        let Some(throttling) = &self.throttled.throttling else { return false };
        let Some(task) = self.tasks.get_mut(id) else { return false };
        let Work::Command(command) = &mut task.work else { return false };
        let is_urgent = command.attribute == TaskAttribute::HeadOfQueue;
        // More is neither fetched nor taken, whatever was announced.
        let most = self.config.max_command_bytes;
        let bytes =
            u64::from(command.data_in_room().min(most)) + u64::from(command.data_out_room().min(most));
        let passage = Passage { lun: task.lun, cdb: &command.cdb.0, bytes, is_urgent };
        command.ticket = throttling.charge(now, &passage);
        let Some(look) = command.ticket.as_ref().map(|ticket| ticket.look(now)) else { return false };
        if look.is_err() && self.tasks.lend_place(id, self.config.command_window as usize) {
            // While it waits, others may come: those of other units must not stand behind it.
            self.window.finish();
        }
        match is_urgent {
            true => self.throttled.queue.push_front(id),
            false => self.throttled.queue.push_back(id),
        }
        let due = look.err().unwrap_or(now);
        self.throttled.due = Some(self.throttled.due.map_or(due, |before| before.min(due)));
        true
    }

    /// Lets those go on whose time has come.
    pub(super) fn pass_throttled(&mut self, link: &mut Link, now: Instant) {
        if self.throttled.due.is_none_or(|due| due > now) {
            return;
        }
        let mut due: Option<Instant> = None;
        let (mut passed, mut waiting) = (Vec::new(), VecDeque::new());
        // The first that wait in their queues: those behind them wait too.
        let mut first: Vec<&Ticket> = Vec::new();
        for id in std::mem::take(&mut self.throttled.queue) {
            let Some(task) = self.tasks.get(id) else { continue };
            let Work::Command(command) = &task.work else { continue };
            let Some(ticket) = &command.ticket else { continue };
            if first.iter().any(|before| ticket.queues_with(before)) {
                waiting.push_back(id);
                continue;
            }
            match ticket.look(now) {
                Ok(()) => passed.push((id, task.leg)),
                Err(again) => {
                    due = Some(due.map_or(again, |before| before.min(again)));
                    first.push(ticket);
                    waiting.push_back(id);
                }
            }
        }
        self.throttled.queue = waiting;
        self.throttled.due = due;
        let here = link.leg();
        for (id, leg) in passed {
            if let Some(command) = self.tasks.command_mut(id) {
                command.ticket = None;
                self.collect(link.turn_to(leg), id);
            }
        }
        link.turn_to(here);
    }
}
