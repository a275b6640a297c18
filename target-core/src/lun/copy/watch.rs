//! Blocks whose change makes a token worthless. Writes pay one atomic load as long as nobody watches.

use super::super::claim::Claim;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The watches of one unit.
#[derive(Clone, Default)]
pub struct Watches(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    blocks: Mutex<Vec<Arc<Blocks>>>,
}

struct Blocks {
    ranges: Vec<Range<u64>>,
    changed: AtomicBool,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Blocks>>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retain(&self, keep: impl Fn(&Arc<Blocks>) -> bool) {
        let mut blocks = self.lock();
        blocks.retain(keep);
        self.count.store(blocks.len(), Ordering::SeqCst);
    }
}

impl Watches {
    /// Watches blocks, until what is returned is dropped.
    pub fn begin(&self, ranges: Vec<Range<u64>>) -> Watch {
        let blocks = Arc::new(Blocks { ranges, changed: AtomicBool::new(false) });
        let mut all = self.0.lock();
        all.push(Arc::clone(&blocks));
        self.0.count.store(all.len(), Ordering::SeqCst);
        Watch { all: Arc::downgrade(&self.0), blocks }
    }

    /// Whether anything is watched.
    pub fn any(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) > 0
    }

    /// Something is about to change these blocks. A watch that has seen a change is over.
    pub fn touch(&self, claim: &Claim) {
        self.0.retain(|blocks| {
            let hit = blocks.ranges.iter().any(|range| Claim::Exclusive(range.clone()).conflicts(claim));
            if hit {
                blocks.changed.store(true, Ordering::SeqCst);
            }
            !hit
        });
    }
}

/// Blocks of one unit that are watched.
pub struct Watch {
    all: Weak<Inner>,
    blocks: Arc<Blocks>,
}

impl Watch {
    /// Whether one of the blocks may have changed since the watch began.
    pub fn has_changed(&self) -> bool {
        self.blocks.changed.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            all.retain(|blocks| !Arc::ptr_eq(blocks, &self.blocks));
        }
    }
}
