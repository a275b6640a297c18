//! Commands that were lost with a connection. At ErrorRecoveryLevel 0 nobody has to send them again, and what came after them on other
//! connections would wait for its turn for ever.

use super::config::ConnectionConfig;
use super::full_feature::FullFeature;
use crate::login::parameters::Parameters;
use crate::pdu::fields::Serial;
use std::time::{Duration, Instant};

/// Watches that the order of commands goes on, once a connection has gone from among others.
#[derive(Debug)]
pub(super) struct Gaps {
    patience: Duration,
    is_watched: bool,
    /// The command that is waited for, and until when.
    waiting: Option<(Serial, Instant)>,
}

impl Gaps {
    /// An initiator has as long as it has to come back after a connection was lost (RFC 7143 §13.15, §13.16), and not less than it may
    /// take to notice.
    pub(super) fn new(parameters: &Parameters, config: &ConnectionConfig) -> Self {
        let seconds = parameters.default_time2wait.saturating_add(parameters.default_time2retain);
        let patience = Duration::from_secs(seconds.into()).max(config.nop_timeout);
        Self { patience, is_watched: false, waiting: None }
    }

    /// From now on commands may be missing.
    pub(super) fn connection_went(&mut self) {
        self.is_watched = true;
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.waiting.map(|(_, until)| until)
    }
}

impl FullFeature {
    /// To be called when commands or functions have come, or a connection has gone.
    pub(super) fn watch_gaps(&mut self, now: Instant) {
        if !self.gaps.is_watched {
            return;
        }
        // Functions that wait for them have no place in the window.
        let is_any_waiting = self.window.has_early() || !self.waiting_management.is_empty();
        // A connection that takes the place of the last begins after the gap.
        let is_anyone_there = !self.members.is_empty();
        let missing = (is_any_waiting && is_anyone_there).then_some(self.window.expected());
        if self.gaps.waiting.map(|(missing, _)| missing) != missing {
            let until = now.checked_add(self.gaps.patience);
            self.gaps.waiting = missing.zip(until);
        }
    }
}
