//! The times that the nodes of a store agree on.

use std::time::Duration;

/// All of them are of each node's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A heartbeat is written so often.
    pub beat: Duration,
    /// A node whose last heartbeat that was written began so long ago stops answering.
    pub fence: Duration,
    /// A node whose heartbeat has not changed for so long is dead to the one who looks.
    pub dead: Duration,
    /// How far a clock may go wrong, in parts of a thousand.
    pub drift: u32,
}

/// Why times do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// One lost heartbeat would be the end.
    #[error("the time to fence has to be three heartbeats at least")]
    Beat,
    /// A node could be answering when others take it for dead.
    #[error("the time until a node is dead has to exceed its time to fence, also where clocks differ")]
    Dead,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(1),
            fence: Duration::from_secs(4),
            dead: Duration::from_secs(6),
            drift: 10,
        }
    }
}

impl Timing {
    /// Whether the times go together.
    pub fn check(&self) -> Result<(), TimingError> {
        if self.beat * 3 > self.fence {
            return Err(TimingError::Beat);
        }
        // The longest that `fence` may really take, against the shortest that `dead` may.
        if self.fence * (1000 + self.drift) >= self.dead * 1000u32.saturating_sub(self.drift) {
            return Err(TimingError::Dead);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_together() {
        let good = Timing::default();
        assert_eq!(good.check(), Ok(()));
        assert_eq!(Timing { beat: Duration::from_secs(2), ..good }.check(), Err(TimingError::Beat));
        assert_eq!(Timing { dead: good.fence, ..good }.check(), Err(TimingError::Dead));
        assert_eq!(Timing { drift: 210, ..good }.check(), Err(TimingError::Dead));
    }
}
