//! Blocks whose change makes a token worthless. Writes pay one atomic load as long as nobody watches.

use super::super::claim::Claim;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks of one unit that are watched.
#[derive(Debug)]
pub struct Watch {
    ranges: Vec<Range<u64>>,
    changed: AtomicBool,
}

impl Watch {
    /// Whether one of the blocks may have changed since the watch began.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }
}

/// The watches of one unit.
#[derive(Default)]
pub struct Watches {
    count: AtomicUsize,
    watches: Mutex<Vec<Arc<Watch>>>,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Watch>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to watch blocks.
    pub fn begin(&self, ranges: Vec<Range<u64>>) -> Arc<Watch> {
        let watch = Arc::new(Watch { ranges, changed: AtomicBool::new(false) });
        let mut watches = self.lock();
        watches.push(Arc::clone(&watch));
        self.count.store(watches.len(), Ordering::SeqCst);
        watch
    }

    /// Ends a watch.
    pub fn end(&self, watch: &Arc<Watch>) {
        let mut watches = self.lock();
        watches.retain(|own| !Arc::ptr_eq(own, watch));
        self.count.store(watches.len(), Ordering::SeqCst);
    }

    /// Whether anything is watched.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Something is about to change these blocks. A watch that has seen that is over.
    pub fn touch(&self, claim: &Claim) {
        let mut watches = self.lock();
        watches.retain(|watch| {
            let hit = watch.ranges.iter().any(|range| Claim::Exclusive(range.clone()).conflicts(claim));
            if hit {
                watch.changed.store(true, Ordering::Release);
            }
            !hit
        });
        self.count.store(watches.len(), Ordering::SeqCst);
    }
}
