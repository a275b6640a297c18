//! Looks after the space below a unit: asks its device now and then, and says in the log when it becomes low and when it is not any more.

use crate::backend::Device;
use crate::config::ByteSize;
use glint_target_core::device::BlockDevice;
use glint_target_core::lun::space::Crossing;
use glint_target_core::lun::unit::LogicalUnit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Between two looks: a store fills in minutes, not in seconds. Units on one store share its answers (`backend/space.rs`).
const PAUSE: Duration = Duration::from_secs(5);

/// Units that begin together look at so many different times: a thousand at once would keep others from the processor, and a thousand one
/// by one wake it each time.
const TURNS: u32 = 16;

/// One unit's.
pub(super) struct SpaceWatcher(JoinHandle<()>);

impl SpaceWatcher {
    /// Looks at once, and from then on.
    pub(super) fn start(unit: &Arc<LogicalUnit<Device>>, target: &Arc<str>, lun: u16) -> Self {
        Self(tokio::spawn(watch(Arc::downgrade(unit), Arc::clone(target), lun, first_pause())))
    }

    /// Ready when it holds nothing of the unit any more.
    pub(super) async fn stop(self) {
        self.0.abort();
        let _ = self.0.await; // it was told to be aborted
    }
}

/// Between the first look of a unit and the second; at most as long as any other.
fn first_pause() -> Duration {
    static UNITS: AtomicU32 = AtomicU32::new(0);
    PAUSE / TURNS * (UNITS.fetch_add(1, Ordering::Relaxed) % TURNS + 1)
}

async fn watch(unit: Weak<LogicalUnit<Device>>, target: Arc<str>, lun: u16, first_pause: Duration) {
    let mut turns = interval_at(Instant::now() + first_pause, PAUSE);
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // The unit is not kept alive by being watched.
    while let Some(unit) = unit.upgrade() {
        // A device that cannot be asked now has not changed for all that one knows.
        if let Ok(space) = unit.device().space().await {
            let free = ByteSize(space.map_or(0, |space| space.free));
            match unit.space_seen(space) {
                Some(Crossing::Low(threshold)) => {
                    let threshold = ByteSize(threshold);
                    tracing::warn!(%target, lun, %free, %threshold, "the store of a volume runs low: add space to it");
                }
                Some(Crossing::Enough) => {
                    tracing::info!(%target, lun, %free, "the store of a volume has space again")
                }
                None => {}
            }
        }
        drop(unit);
        turns.tick().await;
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
