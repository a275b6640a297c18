//! Keeps a hostile peer from writing our logs full.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lets a number of messages through in each period and counts the others.
pub struct Throttle {
    start: Instant,
    period: Duration,
    per_period: u64,
    /// The period that `used` counts for.
    current: AtomicU64,
    used: AtomicU64,
}

impl Throttle {
    /// At most `per_period` messages in each `period`.
    pub fn new(per_period: u64, period: Duration) -> Self {
        Self {
            start: Instant::now(),
            period,
            per_period,
            current: AtomicU64::new(0),
            used: AtomicU64::new(0),
        }
    }

    /// Whether a message may be written now; if so, how many were held back in the period before. Counts are approximate when threads
    /// meet at the edge of a period.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let elapsed = now.saturating_duration_since(self.start).as_nanos();
        let period = u64::try_from(elapsed / self.period.as_nanos().max(1)).unwrap_or(u64::MAX);
        let mut held_back = 0;
        if self.current.swap(period, Ordering::Relaxed) != period {
            held_back = self.used.swap(0, Ordering::Relaxed).saturating_sub(self.per_period);
        }
        (self.used.fetch_add(1, Ordering::Relaxed) < self.per_period).then_some(held_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_told() {
        let throttle = Throttle::new(2, Duration::from_secs(10));
        let now = Instant::now();
        let admitted = (0..100).filter(|_| throttle.admit(now).is_some()).count();
        assert_eq!(admitted, 2);
        assert_eq!(throttle.admit(now + Duration::from_secs(11)), Some(98));
        assert_eq!(throttle.admit(now + Duration::from_secs(11)), Some(0));
        assert_eq!(throttle.admit(now + Duration::from_secs(11)), None);
    }
}
