//! How patient an initiator is.

use std::time::Duration;

/// The times of a failing-over initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// For the end of a command; then its session is closed.
    pub command: Duration,
    /// For the same path to come back after its connection was closed; then another is used.
    pub replacement: Duration,
    /// For a connection and its login.
    pub login: Duration,
    /// Between two tries to log in.
    pub pause: Duration,
    /// Between two looks at the access states.
    pub rescan: Duration,
    /// For a command with all its repetitions; then it is an I/O error.
    pub limit: Duration,
}

impl Timers {
    /// As Linux has them: a ping after 5 s of silence, 5 s for its answer, 5 s of replacement_timeout; the rest as dm-multipath with
    /// `no_path_retry` for two minutes.
    pub const LINUX: Self = Self {
        command: Duration::from_secs(15),
        replacement: Duration::from_secs(5),
        login: Duration::from_secs(5),
        pause: Duration::from_millis(500),
        rescan: Duration::from_secs(5),
        limit: Duration::from_secs(120),
    };

    /// One that goes elsewhere as soon as its connection is closed: shorter, and harder on the target.
    pub const HASTY: Self =
        Self { replacement: Duration::ZERO, pause: Duration::from_millis(100), ..Self::LINUX };

    /// What of a stall is the initiator's own: until it notices, and until it goes elsewhere.
    pub fn own(&self) -> Duration {
        self.command + self.replacement
    }
}
