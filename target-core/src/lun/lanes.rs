//! Bounds the memory of reads that no transport counts: a command such as VERIFY has no data, so that any number of them are let in, and
//! each reads as much as it likes. A unit has a few lanes for large reads of that kind, and who finds his taken waits for it.

use futures_util::lock::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Large reads of that kind that are under way at a time in a unit.
pub const LANES: usize = 8;
/// Reads of no more bytes need no lane.
pub const SMALL: u64 = 64 << 10;

/// See the module.
#[derive(Default)]
pub struct Lanes {
    next: AtomicUsize,
    lanes: [Mutex<()>; LANES],
}

impl Lanes {
    /// A lane for a read of so many bytes, where it needs one. Who holds it waits for nothing but the device.
    pub async fn enter(&self, bytes: u64) -> Option<MutexGuard<'_, ()>> {
        if bytes <= SMALL {
            return None;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        match self.lanes.get(turn % LANES) {
            Some(lane) => Some(lane.lock().await),
            None => None,
        }
    }
}
