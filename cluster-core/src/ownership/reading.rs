//! What is known of the owner record, and what a reading of it brings about.

use super::machine::{Action, Ownership, Step, Ticket};
use super::record::{Epoch, Holder, Seen};
use std::time::Instant;

impl Ownership {
    pub(super) fn begin_reading(&mut self, now: Instant, do_: &mut Vec<Action>) {
        let ticket = self.ticket();
        self.reading = Some((ticket, now));
        self.read_due = now + self.settings.poll;
        do_.push(Action::Read(ticket));
    }

    pub(super) fn read(&mut self, now: Instant, ticket: Ticket, seen: Option<Seen>, do_: &mut Vec<Action>) {
        let Some((_, began)) = self.reading.take_if(|(waiting, _)| *waiting == ticket) else { return };
        let Some(seen) = seen else {
            // The step waits for it.
            self.not_before = self.not_before.max(now + self.settings.retry);
            return;
        };
        if !self.note(now, began, seen) {
            return;
        }
        match self.step.clone() {
            Step::Active { epoch } if !self.holds(epoch) => {
                // A damaged record is repaired by the one that wrote it.
                self.wanted = self.won == Some(epoch) && self.is_damaged(epoch);
                self.stop(now, do_);
            }
            Step::Confirming { epoch } | Step::Doubting { epoch } if !self.holds(epoch) => {
                self.stop(now, do_)
            }
            Step::Confirming { epoch } => {
                self.step = Step::Loading { epoch };
                let ticket = self.wait();
                do_.push(Action::Load(ticket, epoch));
            }
            // Its lock was stolen by one that came too late; it is taken back.
            Step::Doubting { epoch } => self.fence(epoch, do_),
            _ => {}
        }
        do_.push(Action::Changed);
    }

    /// Keeps what was seen; false when something newer is known already, or nothing changed and nothing waits for it.
    fn note(&mut self, now: Instant, began: Instant, seen: Seen) -> bool {
        match &self.seen {
            Some(known) if seen.epoch < known.epoch => false,
            Some(known) if *known == seen => {
                self.still = self.still.max(began);
                matches!(self.step, Step::Confirming { .. } | Step::Doubting { .. })
            }
            _ => {
                if matches!(&seen.record.holder, Holder::Owned(owner) if *owner != self.settings.me) {
                    // Those who wait go there. Should it be dead they say so again.
                    self.wanted = false;
                }
                self.seen = Some(seen);
                self.since = now;
                self.still = began;
                true
            }
        }
    }

    fn is_damaged(&self, epoch: Epoch) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.epoch == epoch && seen.record.holder == Holder::Damaged)
    }

    /// What this node has set is what is seen, unless a reading has seen it before, or what came after it. Gives the epoch.
    pub(super) fn note_own(&mut self, now: Instant) -> Option<Epoch> {
        let (epoch, record) = self.pending.take()?;
        if self.seen.as_ref().is_none_or(|known| known.epoch < epoch) {
            self.seen = Some(Seen { epoch, record });
            self.since = now;
            self.still = now;
        }
        Some(epoch)
    }

    /// The record still says that this is ours.
    pub(super) fn holds(&self, epoch: Epoch) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.epoch == epoch) && self.is_mine()
    }

    /// The record names this process.
    pub(super) fn is_mine(&self) -> bool {
        let holder = self.seen.as_ref().map(|seen| &seen.record.holder);
        matches!(holder, Some(Holder::Owned(owner)) if *owner == self.settings.me)
    }
}
