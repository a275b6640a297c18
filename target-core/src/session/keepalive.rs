//! Whether the initiator is still there: a NOP-In after silence, and an end after more of it (RFC 7143 §11.19).

use super::config::ConnectionConfig;
use std::time::{Duration, Instant};

/// The timer. Any sign of life will do, not only the NOP-Out that answers.
#[derive(Debug)]
pub(super) struct Keepalive {
    interval: Duration,
    timeout: Duration,
    /// When the initiator was last heard of, or was known not to be waited for.
    heard: Instant,
    /// Since when an answer is awaited.
    asked: Option<Instant>,
    last_tag: u32,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// Send a NOP-In with this Target Transfer Tag.
    Ask(u32),
    /// The initiator is gone.
    Gone,
}

impl Keepalive {
    pub(super) fn new(config: &ConnectionConfig, now: Instant) -> Self {
        Self {
            interval: config.nop_interval,
            timeout: config.nop_timeout,
            heard: now,
            asked: None,
            last_tag: 0,
        }
    }

    /// Something came from the initiator.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// What is due by now is not to be held against the initiator: the wait begins anew.
    pub(super) fn excuse(&mut self, now: Instant) {
        if self.next_timeout().is_some_and(|due| due <= now) {
            self.heard(now);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        if self.interval.is_zero() {
            return None;
        }
        match self.asked {
            None => self.heard.checked_add(self.interval),
            Some(asked) => asked.checked_add(self.timeout),
        }
    }

    /// Asks, due or not; gives the tag of the question. An answer that is awaited already is awaited no longer for that.
    pub(super) fn ask(&mut self, now: Instant) -> u32 {
        self.asked.get_or_insert(now);
        // Below 2^31, so never the reserved tag.
        self.last_tag = (self.last_tag + 1) & (u32::MAX >> 1);
        self.last_tag
    }

    /// What is due by now, if anything.
    pub(super) fn alarm(&mut self, now: Instant) -> Option<Alarm> {
        if self.next_timeout().is_none_or(|due| now < due) {
            return None;
        }
        Some(match self.asked {
            None => Alarm::Ask(self.ask(now)),
            Some(_) => Alarm::Gone,
        })
    }
}
