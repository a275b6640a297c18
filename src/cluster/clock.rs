//! The clock of a node's leases: it goes on while the process is stopped and while the machine sleeps.

use crate::store::Clock;
use glint_cluster_core::forwarding::Stamp;
use std::sync::OnceLock;
use std::time::Instant;

static CLOCK: OnceLock<(Clock, Instant)> = OnceLock::new();

fn clock() -> &'static (Clock, Instant) {
    CLOCK.get_or_init(|| {
        let clock = Clock::new();
        (clock, clock.now())
    })
}

/// This moment.
pub fn now() -> Instant {
    clock().0.now()
}

/// A moment as other nodes are told it: milliseconds since this process first asked.
pub fn stamp(moment: Instant) -> Stamp {
    let since = moment.saturating_duration_since(clock().1);
    Stamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
