//! A token bucket: so much a second, and so much at once after a rest. Time is an argument, in whole nanoseconds, so that nothing is lost
//! to rounding.

use std::time::Duration;

/// What flows in within this time may always be taken at once: who waits is woken some milliseconds late, and must not lose what came in
/// meanwhile.
pub const SLACK: Duration = Duration::from_millis(20);

/// Parts of a token: with them a rate in tokens a second is one in parts a nanosecond.
const PARTS: i128 = 1_000_000_000;

/// How fast, and how much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Tokens a second.
    pub rate: u64,
    /// Tokens that gather while none are taken; not less than what comes within [`SLACK`], and one.
    pub burst: u64,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    limit: Limit,
    /// Parts that are there; less than none after a command that was larger than the bucket.
    level: i128,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(limit: Limit) -> Self {
        Self { level: depth(limit), limit }
    }

    /// The same with another limit. What was taken in advance is owed still.
    pub(super) fn with(self, limit: Limit) -> Self {
        Self { level: self.level.min(depth(limit)), limit }
    }

    /// Some time has passed.
    pub(super) fn refill(&mut self, elapsed: Duration) {
        let flow = i128::from(self.limit.rate).saturating_mul(nanoseconds(elapsed));
        self.level = self.level.saturating_add(flow).min(depth(self.limit));
    }

    /// Whether so much may be taken. More than the bucket can hold may be taken from a full one, and then is owed.
    pub(super) fn affords(&self, tokens: u64) -> bool {
        self.level >= parts(tokens).min(depth(self.limit))
    }

    /// Takes so much.
    pub(super) fn take(&mut self, tokens: u64) {
        self.level -= parts(tokens);
    }

    /// How long it takes until so much may be taken after `ahead` has been.
    pub(super) fn wait(&self, ahead: u64, tokens: u64) -> Duration {
        let missing = parts(ahead) + parts(tokens).min(depth(self.limit)) - self.level;
        let rate = i128::from(self.limit.rate.max(1));
        Duration::from_nanos(u64::try_from((missing.max(0) + rate - 1) / rate).unwrap_or(u64::MAX))
    }
}

/// What a bucket holds at most, in parts.
fn depth(limit: Limit) -> i128 {
    let slack = i128::from(limit.rate) * nanoseconds(SLACK);
    parts(limit.burst.max(1)).max(slack)
}

fn parts(tokens: u64) -> i128 {
    i128::from(tokens) * PARTS
}

fn nanoseconds(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
