//! Asking for data-out: R2Ts, within what the initiator and our memory allow (RFC 7143 §11.8).

use super::data_out::Burst;
use super::event::{Leg, TaskId};
use super::full_feature::FullFeature;
use super::link::Link;
use super::tasks::{Stage, Work};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::target::{ReadyToTransfer, TargetPdu};
use std::collections::VecDeque;

/// Commands of a connection that have to ask, oldest first, and what has been asked for.
#[derive(Debug, Default)]
pub(super) struct Solicitation {
    queue: VecDeque<TaskId>,
    budget: usize,
    /// Bytes asked for on behalf of commands that are not complete.
    charged: usize,
    last_tag: u32,
}

impl Solicitation {
    pub(super) fn new(budget: usize) -> Self {
        Self { queue: VecDeque::new(), budget, charged: 0, last_tag: RESERVED_TAG }
    }

    /// A command has data to ask for.
    pub(super) fn enqueue(&mut self, id: TaskId) {
        self.queue.push_back(id);
    }

    /// A command is complete or over.
    pub(super) fn release(&mut self, id: TaskId, charged: usize) {
        self.charged -= charged;
        if let Some(at) = self.queue.iter().position(|queued| *queued == id) {
            self.queue.remove(at);
        }
    }

    fn affords(&self, burst: Burst) -> bool {
        self.charged.saturating_add(burst.length as usize) <= self.budget
    }

    fn next_tag(&mut self) -> u32 {
        self.last_tag = match self.last_tag.wrapping_add(1) {
            RESERVED_TAG => 0,
            tag => tag,
        };
        self.last_tag
    }
}

impl FullFeature {
    /// Asks for as much as may be asked for now.
    pub(super) fn solicit(&mut self, link: &mut Link) {
        // Out of their place while they are worked with; a connection without any costs nothing.
        for at in 0..self.members.len() {
            let Some(member) = self.members.get_mut(at).filter(|it| !it.solicitation.queue.is_empty()) else {
                continue;
            };
            let leg = member.leg;
            let mut solicitation = std::mem::take(&mut member.solicitation);
            self.solicit_on(link, leg, &mut solicitation);
            if let Some(member) = self.members.get_mut(at) {
                member.solicitation = solicitation;
            }
        }
    }

    fn solicit_on(&mut self, link: &mut Link, leg: Leg, solicitation: &mut Solicitation) {
        let mut at = 0;
        while let Some(&id) = solicitation.queue.get(at) {
            while let Some(burst) = self.next_burst(id) {
                if !solicitation.affords(burst) && (at != 0 || self.is_anything_owed(leg)) {
                    return;
                }
                self.ask(link, id, burst, solicitation);
            }
            if self.tasks.command_mut(id).is_some_and(|command| command.data_out.lacks()) {
                at += 1;
            } else {
                solicitation.queue.remove(at);
            }
        }
    }

    fn next_burst(&mut self, id: TaskId) -> Option<Burst> {
        let parameters = &self.session.parameters;
        let most = usize::from(parameters.max_outstanding_r2t);
        self.tasks.command_mut(id)?.data_out.next_burst(most, parameters.max_burst_length)
    }

    /// Whether data is on its way. While none is, the oldest command may ask beyond the budget: what fills that is data of commands behind
    /// it, which wait for their turn to ask.
    fn is_anything_owed(&self, leg: Leg) -> bool {
        self.tasks
            .commands()
            .any(|(_, task, it)| task.leg == leg && it.stage == Stage::Collecting && !it.data_out.is_idle())
    }

    fn ask(&mut self, link: &mut Link, id: TaskId, burst: Burst, solicitation: &mut Solicitation) {
        let target_transfer_tag = solicitation.next_tag();
        let Some(task) = self.tasks.get_mut(id) else { return };
        let r2t = ReadyToTransfer {
            lun: task.lun,
            initiator_task_tag: task.tag,
            target_transfer_tag,
            r2t_sn: burst.r2t_sn,
            buffer_offset: burst.offset,
            desired_length: burst.length,
        };
        if let Work::Command(command) = &mut task.work {
            command.data_out.requested(burst, target_transfer_tag);
            solicitation.charged += burst.length as usize;
            let here = link.leg();
            link.turn_to(task.leg).send(&self.window, &TargetPdu::ReadyToTransfer(r2t));
            link.turn_to(here);
        }
    }
}
