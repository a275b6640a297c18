//! Response fences (RFC 7143 §4.2.2.3.3): the answer to a function that ends many tasks must not reach the initiator before statuses which
//! were sent earlier on other connections. So it waits until those are acknowledged. With one connection TCP sees to the order.

use super::event::{Leg, TaskId};
use super::full_feature::FullFeature;
use super::link::Link;
use crate::pdu::fields::Serial;
use crate::pdu::initiator::InitiatorPdu;
use std::time::Instant;

/// An answer that waits.
#[derive(Debug)]
pub(super) struct Fence {
    id: TaskId,
    response: u8,
    /// The StatSN that the initiator has to expect next on each of the other connections.
    awaited: Vec<(Leg, Serial)>,
    /// An initiator that acknowledges nothing harms itself, but not for ever.
    until: Option<Instant>,
}

impl FullFeature {
    /// Holds an answer back if it has to wait, and asks the other connections for a sign of life, which acknowledges; also where one is
    /// awaited already, as that may be older than what it is to acknowledge. False: it need not wait.
    pub(super) fn raise_fence(&mut self, link: &mut Link, now: Instant, id: TaskId, response: u8) -> bool {
        let Some(own) = self.tasks.get(id).map(|task| task.leg) else { return false };
        if self.member(own).is_none() {
            return false;
        }
        let mut awaited = Vec::new();
        for member in self.members.iter().filter(|member| member.leg != own) {
            let Some(line) = link.line(member.leg).filter(|line| !line.is_closing()) else { continue };
            if member.acknowledged.is_none_or(|acknowledged| acknowledged.is_before(line.stat_sn)) {
                awaited.push((member.leg, line.stat_sn));
            }
        }
        if awaited.is_empty() {
            return false;
        }
        for (leg, _) in &awaited {
            self.ping(link.turn_to(*leg), now);
        }
        let until = now.checked_add(self.config.nop_timeout);
        self.fences.push(Fence { id, response, awaited, until });
        true
    }

    /// Takes note of what a PDU acknowledges.
    pub(super) fn acknowledge(&mut self, link: &mut Link, leg: Leg, pdu: &InitiatorPdu) {
        let Some(acknowledged) = exp_stat_sn(pdu) else { return };
        let Some(member) = self.member_mut(leg) else { return };
        if member.acknowledged.is_none_or(|before| before.is_before(acknowledged)) {
            member.acknowledged = Some(acknowledged);
            self.lower_fences(link, |awaited, stat_sn| awaited == leg && !acknowledged.is_before(stat_sn));
        }
    }

    /// A connection that has gone acknowledges nothing any more, and hears no answers.
    pub(super) fn lower_fences_of(&mut self, link: &mut Link, leg: Leg) {
        let Self { fences, tasks, .. } = self;
        for fence in fences {
            if tasks.get(fence.id).is_none_or(|task| task.leg == leg) {
                fence.awaited.clear();
            }
        }
        self.lower_fences(link, |awaited, _| awaited == leg);
    }

    /// Sends the answers that have waited long enough.
    pub(super) fn lower_fences_of_old(&mut self, link: &mut Link, now: Instant) {
        for fence in &mut self.fences {
            if fence.until.is_some_and(|until| until <= now) {
                fence.awaited.clear();
            }
        }
        self.lower_fences(link, |_, _| false);
    }

    fn lower_fences(&mut self, link: &mut Link, is_done: impl Fn(Leg, Serial) -> bool) {
        let at = link.leg();
        for fence in &mut self.fences {
            fence.awaited.retain(|(leg, stat_sn)| !is_done(*leg, *stat_sn));
        }
        while let Some(nth) = self.fences.iter().position(|fence| fence.awaited.is_empty()) {
            let Fence { id, response, .. } = self.fences.remove(nth);
            self.answer_management(link, id, response);
        }
        link.turn_to(at);
    }

    pub(super) fn next_fence(&self) -> Option<Instant> {
        self.fences.iter().filter_map(|fence| fence.until).min()
    }
}

fn exp_stat_sn(pdu: &InitiatorPdu) -> Option<Serial> {
    match pdu {
        InitiatorPdu::ScsiCommand(it) => Some(it.exp_stat_sn),
        InitiatorPdu::DataOut(it) => Some(it.exp_stat_sn),
        InitiatorPdu::NopOut(it) => Some(it.exp_stat_sn),
        InitiatorPdu::TaskManagement(it) => Some(it.exp_stat_sn),
        InitiatorPdu::Text(it) => Some(it.exp_stat_sn),
        InitiatorPdu::Logout(it) => Some(it.exp_stat_sn),
        InitiatorPdu::Login(_) | InitiatorPdu::Snack(_) => None,
    }
}
