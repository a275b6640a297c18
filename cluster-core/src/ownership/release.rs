//! Letting go of a volume in good order: drain, flush, write the record, tell the successor.

use super::machine::{Action, Ownership, SetOutcome, Step, View};
use super::record::{Epoch, Holder, OwnerRecord};
use crate::membership::NodeId;
use std::time::Instant;

impl Ownership {
    pub(super) fn go_on_active(&mut self, now: Instant, view: &View<'_>, do_: &mut Vec<Action>) {
        if self.leaving {
            let to = self.successor(view);
            self.drain(to, false, do_);
        } else if self.fails_back(now, view) {
            let to = self.settings.preferred.clone();
            self.drain(to, false, do_);
        }
    }

    /// Who is to have it after this node: the preferred one, or else the first that is reached from here.
    fn successor(&self, view: &View<'_>) -> Option<NodeId> {
        let lives = |node: &NodeId| {
            *node != self.settings.me.node
                && view.peers.alive(node).is_some_and(|(_, peer)| peer.cut.is_none())
        };
        let preferred = self.settings.preferred.clone().filter(lives);
        preferred.or_else(|| view.peers.iter().map(|(peer, _)| &peer.node).find(|node| lives(node)).cloned())
    }

    pub(super) fn move_to(&mut self, now: Instant, to: NodeId, do_: &mut Vec<Action>) {
        match self.step {
            Step::Active { .. } if to != self.settings.me.node => self.drain(Some(to), true, do_),
            // Nobody has it, or its owner is dead: it is taken as for a command.
            Step::Idle if to == self.settings.me.node => {
                self.wanted = true;
                self.read_due = now;
            }
            // The owner is asked by whoever got the order.
            _ => {}
        }
    }

    fn drain(&mut self, to: Option<NodeId>, pinned: bool, do_: &mut Vec<Action>) {
        let Step::Active { epoch } = self.step else { return };
        self.step = Step::Draining { epoch, to, pinned };
        let ticket = self.wait();
        do_.extend([Action::Drain(ticket, epoch), Action::Changed]);
    }

    pub(super) fn drained(&mut self, now: Instant, is_done: bool, do_: &mut Vec<Action>) {
        let Step::Draining { epoch, to, pinned } = self.step.clone() else { return };
        if is_done {
            return self.release(epoch, to, pinned, do_);
        }
        // What is not on stable storage must not be handed on as if it were. It stays; one that leaves tries again.
        self.not_before = now + self.settings.retry;
        self.step = Step::Active { epoch };
        self.active_since = now;
        do_.extend([Action::Serve(epoch), Action::Changed]);
    }

    /// Sets the record. Nothing runs under this epoch any more.
    pub(super) fn release(&mut self, epoch: Epoch, to: Option<NodeId>, pinned: bool, do_: &mut Vec<Action>) {
        let (failures, fences) = match &self.seen {
            Some(seen) => (seen.record.failures, seen.record.fences),
            None => (0, self.settings.fences),
        };
        let record = OwnerRecord { holder: Holder::Released(to.clone()), pinned, failures, fences };
        self.step = Step::Releasing { epoch, to };
        self.begin_setting(epoch, record, do_);
    }

    pub(super) fn released(
        &mut self,
        now: Instant,
        to: Option<NodeId>,
        outcome: SetOutcome,
        do_: &mut Vec<Action>,
    ) {
        // Whatever became of it: the next reading tells. A release that is in doubt is made up for by going on as one who owns and does not serve.
        self.stop(now, do_);
        self.not_before = now + self.settings.retry;
        if outcome == SetOutcome::Won {
            let _ = self.note_own(now);
            do_.push(Action::Tell(to));
        }
    }
}
