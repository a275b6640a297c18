//! Whether another node lives, by its heartbeat and the observer's own clock.

use super::timing::Timing;
use bytes::Bytes;
use std::time::Instant;

/// What an observer thinks of an incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Not watched for long enough, and no change seen yet.
    Unknown,
    /// Its heartbeat has changed lately.
    Alive,
    /// Its heartbeat has been the same for long: it does not answer any more, unless the assumptions do not hold.
    Dead,
}

/// The heartbeat of one incarnation as one observer has seen it.
#[derive(Clone, Debug)]
pub struct Watch {
    timing: Timing,
    seen: Option<Bytes>,
    /// When it was first seen as it is.
    since: Option<Instant>,
    /// When the latest reading that saw it so had begun.
    still: Option<Instant>,
    changed: Option<Instant>,
    alive_since: Option<Instant>,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new(timing: Timing) -> Self {
        Self { timing, seen: None, since: None, still: None, changed: None, alive_since: None }
    }

    /// A reading that began at `began` has ended: with the file, or with none there. One that failed tells nothing.
    pub fn read(&mut self, began: Instant, now: Instant, file: Option<Bytes>) {
        if self.since.is_some() && self.seen == file {
            self.still = self.still.max(Some(began));
            return;
        }
        if self.since.is_some() {
            if self.judgement() != Judgement::Alive {
                self.alive_since = Some(now);
            }
            self.changed = Some(now);
        }
        self.seen = file;
        self.since = Some(now);
        self.still = None;
    }

    /// What to think of it.
    pub fn judgement(&self) -> Judgement {
        // Not the time of now counts, but that of a reading: the observer itself may have been stopped.
        match (self.since, self.still) {
            (Some(since), Some(still)) if still.saturating_duration_since(since) >= self.timing.dead => {
                Judgement::Dead
            }
            _ if self.changed.is_some() => Judgement::Alive,
            _ => Judgement::Unknown,
        }
    }

    /// Since when it has been alive without a break.
    pub fn alive_since(&self) -> Option<Instant> {
        self.alive_since.filter(|_| self.judgement() == Judgement::Alive)
    }

    /// When the latest reading began that makes it dead. Whatever it wrote itself by then, it had a living heartbeat before that.
    pub fn dead_as_of(&self) -> Option<Instant> {
        self.still.filter(|_| self.judgement() == Judgement::Dead)
    }

    /// When its heartbeat was last seen to have changed.
    pub fn changed(&self) -> Option<Instant> {
        self.changed
    }

    /// The heartbeat as seen last.
    pub fn seen(&self) -> Option<&Bytes> {
        self.seen.as_ref()
    }
}

#[cfg(test)]
#[path = "observer_tests.rs"]
mod tests;
