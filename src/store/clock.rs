//! Time that also passes while the machine is suspended.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// CLOCK_BOOTTIME as instants. Those of [`Instant::now`] stand still while the machine is suspended: a node that slept would
/// trust what it had read before.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    at_origin: Duration,
}

fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

impl Clock {
    pub fn new() -> Self {
        Self { origin: Instant::now(), at_origin: since_boot() }
    }

    pub fn now(&self) -> Instant {
        self.origin + since_boot().saturating_sub(self.at_origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_as_fast_as_any_clock() {
        let clock = Clock::new();
        let begun = clock.now();
        std::thread::sleep(Duration::from_millis(20));
        let passed = clock.now() - begun;
        assert!(passed >= Duration::from_millis(20) && passed < Duration::from_secs(20), "{passed:?}");
    }
}
