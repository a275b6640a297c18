//! Asking for data-out: R2Ts, within what the initiator and our memory allow (RFC 7143 §11.8). How much one connection may have asked for
//! is known here; how much all connections of a node may is known to the driver, which is asked about every burst.

use super::connection::Connection;
use super::data_out::Burst;
use super::event::{Leg, TaskId};
use super::full_feature::FullFeature;
use super::link::Link;
use super::tasks::{CommandTask, Stage, Task, Work};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::target::{ReadyToTransfer, TargetPdu};
use std::collections::VecDeque;

/// What the driver is asked before an R2T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// That are to be asked for.
    pub bytes: usize,
    /// No R2T of the connection is outstanding: without this one nothing more comes that makes its commands complete. A burst is asked
    /// about without this first.
    pub is_idle: bool,
}

/// Whether R2Ts go out as soon as there is something to ask for, or when the driver says so.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pub(super) when_told: bool,
    /// There may be something to ask for that the driver has not been asked about, or has refused.
    is_due: bool,
}

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

    /// Bytes asked for on behalf of commands that are not complete.
    pub(super) fn charged(&self) -> usize {
        self.charged
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

impl Connection {
    /// To be called before the login: R2Ts go out only when the driver calls [`solicit`](Self::solicit), not as soon as there is something
    /// to ask for.
    pub fn ration(&mut self) {
        self.is_rationed = true;
    }

    /// Bytes that R2Ts have asked for on behalf of commands that are not complete; what has come of them is among those
    /// [gathered](Self::gathered) too.
    pub fn solicited(&self) -> usize {
        self.established().map_or(0, FullFeature::solicited)
    }

    /// Whether [`solicit`](Self::solicit) may find something to ask for: something new, or what was not allowed the last time.
    pub fn is_solicitation_due(&self) -> bool {
        self.established().is_some_and(FullFeature::is_solicitation_due)
    }

    /// Sends the R2Ts that there is reason for, oldest command first, as long as `allows` does not refuse one.
    pub fn solicit(&mut self, allows: &mut dyn FnMut(Ask) -> bool) {
        if let Some((phase, link)) = self.full_feature() {
            phase.solicit_within(link, allows);
        }
    }
}

impl FullFeature {
    /// Asks for as much as may be asked for now, or notes that the driver is to be asked.
    pub(super) fn solicit(&mut self, link: &mut Link) {
        if self.asking.when_told {
            self.asking.is_due |= self.members.iter().any(|it| !it.solicitation.queue.is_empty());
        } else {
            self.solicit_within(link, &mut |_| true);
        }
    }

    /// Whether there may be something to ask for.
    pub(super) fn is_solicitation_due(&self) -> bool {
        self.asking.is_due
    }

    /// Bytes asked for on behalf of commands that are not complete.
    pub(super) fn solicited(&self) -> usize {
        self.members.iter().map(|member| member.solicitation.charged()).sum()
    }

    /// Asks for as much as `allows` lets it.
    pub(super) fn solicit_within(&mut self, link: &mut Link, allows: &mut dyn FnMut(Ask) -> bool) {
        self.asking.is_due = false;
        // Out of their place while they are worked with; a connection without any costs nothing.
        for at in 0..self.members.len() {
            let Some(member) = self.members.get_mut(at).filter(|it| !it.solicitation.queue.is_empty()) else {
                continue;
            };
            let leg = member.leg;
            let mut solicitation = std::mem::take(&mut member.solicitation);
            self.solicit_on(link, leg, &mut solicitation, allows);
            if let Some(member) = self.members.get_mut(at) {
                member.solicitation = solicitation;
            }
        }
    }

    fn solicit_on(
        &mut self,
        link: &mut Link,
        leg: Leg,
        solicitation: &mut Solicitation,
        allows: &mut dyn FnMut(Ask) -> bool,
    ) {
        let mut at = 0;
        while let Some(&id) = solicitation.queue.get(at) {
            while let Some(burst) = self.next_burst(id) {
                if !solicitation.affords(burst) && (at != 0 || self.is_anything_owed(leg)) {
                    return;
                }
                let bytes = burst.length as usize;
                let is_allowed = allows(Ask { bytes, is_idle: false })
                    || (!self.is_r2t_outstanding(leg) && allows(Ask { bytes, is_idle: true }));
                if !is_allowed {
                    self.asking.is_due = true;
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
        self.collecting(leg).any(|command| !command.data_out.is_idle())
    }

    /// Whether data is on its way that was asked for.
    fn is_r2t_outstanding(&self, leg: Leg) -> bool {
        self.collecting(leg).any(|command| command.data_out.charged() > 0 && !command.data_out.is_idle())
    }

    fn collecting(&self, leg: Leg) -> impl Iterator<Item = &CommandTask> {
        let of_leg = move |task: &Task, it: &CommandTask| task.leg == leg && it.stage == Stage::Collecting;
        self.tasks.commands().filter(move |(_, task, it)| of_leg(task, it)).map(|(_, _, it)| it)
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
