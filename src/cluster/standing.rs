//! Whether this node may answer at all, for whoever runs commands: a look at two numbers and the clock.

use super::clock;
use glint_target_core::scsi::command::NexusId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Set by the node's engine, read by every command of a shared unit.
#[derive(Debug, Default)]
pub struct Standing {
    /// Until when the node may answer, as a stamp; 0 for not at all.
    until: AtomicU64,
    /// Nexuses with a smaller number came in before the lease lapsed the last time: what their initiators sent may have been repeated elsewhere.
    floor: AtomicU64,
}

impl Standing {
    /// The node may answer until then.
    pub fn set_until(&self, until: Option<Instant>) {
        self.until.store(until.map_or(0, |until| clock::stamp(until).0), Ordering::Release);
    }

    /// Of the nexuses that there are, those from this number on count.
    pub fn set_floor(&self, first: NexusId) {
        self.floor.store(first.0, Ordering::Release);
    }

    /// See [`Self::set_floor`].
    pub fn floor(&self) -> NexusId {
        NexusId(self.floor.load(Ordering::Acquire))
    }

    /// Whether the node may answer now.
    pub fn may_answer(&self, now: Instant) -> bool {
        clock::stamp(now).0 < self.until.load(Ordering::Acquire)
    }

    /// Whether a nexus has come in since the last lapse.
    pub fn counts(&self, nexus: NexusId) -> bool {
        nexus >= self.floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_answers_until_its_lease_ends_and_to_those_who_came_after_the_last_lapse() {
        let (standing, now) = (Standing::default(), clock::now());
        assert!(!standing.may_answer(now), "no heartbeat yet");
        standing.set_until(Some(now + Duration::from_secs(4)));
        assert!(standing.may_answer(now + Duration::from_millis(3990)));
        assert!(!standing.may_answer(now + Duration::from_secs(4)));
        assert!(standing.counts(NexusId(6)));
        standing.set_floor(NexusId(7));
        assert!(!standing.counts(NexusId(6)) && standing.counts(NexusId(7)));
    }
}
