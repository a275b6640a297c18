//! A node's own side of its heartbeat: for how long it may take itself for alive.

use super::timing::Timing;
use std::time::Instant;

/// A time without a lapse. What began in an earlier one is void: others may have gone on without this node, and what lies in its sockets may be long
/// out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term(pub u64);

/// The right to answer.
#[derive(Clone, Debug)]
pub struct Lease {
    timing: Timing,
    /// Counts up at each lapse.
    term: Term,
    until: Option<Instant>,
    /// When the write that is under way began.
    writing: Option<Instant>,
    due: Instant,
    count: u64,
}

impl Lease {
    /// None yet: the first heartbeat has to be written.
    pub fn new(timing: Timing, now: Instant) -> Self {
        Self { timing, term: Term(0), until: None, writing: None, due: now, count: 0 }
    }

    /// The count of a heartbeat that is to be written now. One at a time.
    pub fn beat(&mut self, now: Instant) -> Option<u64> {
        if self.writing.is_some() || now < self.due {
            return None;
        }
        self.writing = Some(now);
        self.due = now + self.timing.beat;
        self.count += 1;
        Some(self.count)
    }

    /// The write has ended. What counts is when it began: others may have seen it as early as that.
    pub fn written(&mut self, now: Instant, is_done: bool) {
        let began = self.writing.take();
        if let Some(began) = began.filter(|_| is_done) {
            if self.term(now).is_none() {
                self.term.0 += 1;
            }
            self.until = self.until.max(Some(began + self.timing.fence));
        }
    }

    /// The term that goes on at this moment; none when the node may not answer.
    pub fn term(&self, now: Instant) -> Option<Term> {
        self.until.is_some_and(|until| now < until).then_some(self.term)
    }

    /// Until when it may answer, if no heartbeat is written any more.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// When [`Self::beat`] has something to say.
    pub fn next(&self) -> Option<Instant> {
        self.writing.is_none().then_some(self.due)
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
