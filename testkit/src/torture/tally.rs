//! What initiators count, all of them together.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands that had an end, each counted once.
    pub commands: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Why, each with its number.
    pub reasons: BTreeMap<String, u64>,
    /// The longest time from the first sending of a command to its end.
    pub longest: Duration,
    /// Of what command that was.
    pub slowest: String,
    /// Commands that ended as an I/O error, with what they ended with.
    pub errors: Vec<String>,
}

impl Counts {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.retries += other.retries;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        if other.longest >= self.longest {
            (self.longest, self.slowest) = (other.longest, other.slowest);
        }
        self.errors.extend(other.errors);
    }

    /// The reasons for tries beyond the first, the most frequent first.
    pub fn reasons(&self) -> String {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        reasons.iter().fold(String::new(), |mut text, (reason, count)| {
            let comma = if text.is_empty() { "" } else { ", " };
            write!(text, "{comma}{reason} {count}").expect("memory");
            text
        })
    }
}

/// Counts that many threads add to.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

impl Tally {
    /// The counts, to be changed.
    pub fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more try, for this reason.
    pub fn retry(&self, reason: impl Into<String>) {
        let mut counts = self.lock();
        counts.retries += 1;
        *counts.reasons.entry(reason.into()).or_default() += 1;
    }

    /// A command that has ended after this time.
    pub fn ended(&self, took: Duration, what: impl FnOnce() -> String) {
        let mut counts = self.lock();
        counts.commands += 1;
        if took > counts.longest {
            (counts.longest, counts.slowest) = (took, what());
        }
    }

    /// The counts since the last time.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.lock())
    }
}
