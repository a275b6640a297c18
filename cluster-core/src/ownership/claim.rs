//! Taking a volume: claim, lock, confirmation, load.

use super::machine::{Action, Ownership, SetOutcome, Step, View};
use super::record::{Epoch, Holder, OwnerRecord};
use crate::membership::Judgement;
use std::time::Instant;

/// So often an owner that cannot open the file tries again before it leaves it to others.
const ATTEMPTS: u32 = 3;
/// A node that kept a volume for so many times as long as fail-back waits has not died soon.
const SOON: u32 = 10;

impl Ownership {
    pub(super) fn go_on_idle(&mut self, now: Instant, view: &View<'_>, do_: &mut Vec<Action>) {
        let (Some(seen), Some(term)) = (&self.seen, view.lease.term(now)) else { return };
        if !self.settings.fences && !self.ending.is_empty() {
            // What is still on its way to the store must not meet what comes after it.
            return;
        }
        if self.is_mine() && (self.leaving || self.shy_until.is_some_and(|until| now < until)) {
            // Nothing of it is served here any more, and it is to go to others: no need to let them wait.
            let epoch = seen.epoch;
            self.term = term;
            return self.release(epoch, None, false, do_);
        }
        let is_shy = self.shy_until.is_some_and(|until| now < until);
        if self.leaving || is_shy || !self.may_claim(now, view) {
            return;
        }
        let record = OwnerRecord {
            holder: Holder::Owned(self.settings.me.clone()),
            pinned: seen.record.pinned && matches!(seen.record.holder, Holder::Released(_)),
            failures: self.failures(now),
            fences: self.settings.fences,
        };
        let epoch = seen.epoch;
        self.term = term;
        self.step = Step::Claiming;
        self.begin_setting(epoch, record, do_);
        do_.push(Action::Changed);
    }

    fn may_claim(&self, now: Instant, view: &View<'_>) -> bool {
        let Some(seen) = &self.seen else { return false };
        let me = &self.settings.me;
        match &seen.record.holder {
            Holder::Released(Some(to)) if *to == me.node => true,
            _ if !self.wanted => false,
            Holder::Nobody | Holder::Released(None) => true,
            Holder::Released(Some(_)) => now >= self.since + self.settings.grace,
            // Lapsed, or lost in the middle of a claim: the old epoch is over, a new one begins.
            Holder::Owned(owner) if owner == me => true,
            // This node's process before this one. The store itself keeps it out, should it still run somewhere.
            Holder::Owned(owner) if owner.node == me.node && self.settings.fences => true,
            // Dead by its heartbeat as read after its claim was seen: it may have come back to life in between.
            Holder::Owned(owner) => {
                let dead = view.peers.get(owner).and_then(|peer| peer.watch.dead_as_of());
                dead.is_some_and(|as_of| as_of >= self.since)
            }
            // A living owner sees the damage too, and repairs it.
            Holder::Damaged if self.won == Some(seen.epoch) => true,
            Holder::Damaged => self.still >= self.since + view.peers.timing().dead,
        }
    }

    /// How often in a row the preferred node has died soon after it had got the volume, when this claim succeeds.
    fn failures(&self, now: Instant) -> u32 {
        let Some(seen) = &self.seen else { return 0 };
        match &seen.record.holder {
            Holder::Owned(owner)
                if *owner != self.settings.me && self.settings.preferred.as_ref() == Some(&owner.node) =>
            {
                let is_soon = now < self.since + self.settings.fail_back * SOON;
                if is_soon { seen.record.failures.saturating_add(1) } else { 1 }
            }
            _ => seen.record.failures,
        }
    }

    pub(super) fn set(&mut self, now: Instant, outcome: SetOutcome, do_: &mut Vec<Action>) {
        match (self.step.clone(), outcome) {
            (Step::Claiming, SetOutcome::Won) => {
                let Some(epoch) = self.note_own(now) else { return };
                self.won = Some(epoch);
                self.attempts = 0;
                self.fence(epoch, do_);
            }
            (Step::Claiming, _) => {
                // Lost, or nobody knows: what is in place is read, and goes on from there.
                self.step = Step::Idle;
                self.not_before = now + self.settings.retry;
                self.read_due = now;
                do_.push(Action::Changed);
            }
            (Step::Releasing { to, .. }, outcome) => self.released(now, to, outcome, do_),
            _ => {}
        }
    }

    pub(super) fn fence(&mut self, epoch: Epoch, do_: &mut Vec<Action>) {
        self.step = Step::Fencing { epoch };
        let ticket = self.wait();
        do_.push(Action::Fence(ticket, epoch));
    }

    pub(super) fn fenced(&mut self, now: Instant, is_done: bool, do_: &mut Vec<Action>) {
        let Step::Fencing { epoch } = self.step else { return };
        if !is_done {
            return self.failed(now, epoch, do_);
        }
        self.step = Step::Confirming { epoch };
        // A reading that began before the lock was taken proves nothing.
        self.reading = None;
        self.begin_reading(now, do_);
    }

    pub(super) fn loaded(&mut self, now: Instant, is_done: bool, do_: &mut Vec<Action>) {
        let Step::Loading { epoch } = self.step else { return };
        if !is_done {
            return self.failed(now, epoch, do_);
        }
        self.step = Step::Active { epoch };
        self.active_since = now;
        self.attempts = 0;
        self.wanted = false;
        self.shy_until = None;
        do_.extend([Action::Serve(epoch), Action::Changed, Action::Tell(None)]);
    }

    fn failed(&mut self, now: Instant, epoch: Epoch, do_: &mut Vec<Action>) {
        self.attempts += 1;
        self.not_before = now + self.settings.retry;
        if self.attempts < ATTEMPTS {
            self.step = Step::Fencing { epoch };
            return;
        }
        // Others may be able to open it.
        self.attempts = 0;
        self.shy_until = Some(now + self.settings.grace * 4);
        self.end(epoch, do_);
        self.release(epoch, None, false, do_);
    }

    /// The store has refused I/O. Either another owns the volume, or one that claimed it before this node has taken the lock too late.
    pub(super) fn refused(&mut self, now: Instant, epoch: Epoch, do_: &mut Vec<Action>) {
        if self.step != (Step::Active { epoch }) {
            return;
        }
        self.step = Step::Doubting { epoch };
        self.reading = None;
        do_.push(Action::Hold(epoch));
        self.begin_reading(now, do_);
    }

    /// The preferred node, if it may have the volume back.
    pub(super) fn fails_back(&self, now: Instant, view: &View<'_>) -> bool {
        let Some(seen) = &self.seen else { return false };
        let preferred = self.settings.preferred.as_ref().filter(|node| **node != self.settings.me.node);
        let peer = preferred.and_then(|node| view.peers.alive(node)).map(|(_, peer)| peer);
        let Some(peer) = peer.filter(|peer| peer.cut.is_none() && peer.watch.judgement() == Judgement::Alive)
        else {
            return false;
        };
        let quiet = self.settings.fail_back * 2u32.saturating_pow(seen.record.failures.min(6));
        let is_steady = peer.watch.alive_since().is_some_and(|since| now >= since + quiet);
        !seen.record.pinned && is_steady && now >= self.active_since + self.settings.fail_back
    }
}
