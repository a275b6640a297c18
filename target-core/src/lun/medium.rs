//! The medium of a removable unit: loaded or not, and who forbids its removal (SPC-5 6.14, SBC-4 5.29).

use crate::scsi::command::NexusId;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module. A unit that is not removable has its medium loaded for ever.
pub struct Medium {
    loaded: AtomicBool,
    loads: AtomicU32,
    prevented_by: Mutex<HashSet<NexusId>>,
}

impl Default for Medium {
    fn default() -> Self {
        Self { loaded: AtomicBool::new(true), loads: AtomicU32::new(0), prevented_by: Mutex::default() }
    }
}

impl Medium {
    fn lock(&self) -> MutexGuard<'_, HashSet<NexusId>> {
        self.prevented_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a medium.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Loads the medium; tells whether it was out.
    pub fn load(&self) -> bool {
        let was_out = !self.loaded.swap(true, Ordering::AcqRel);
        self.loads.fetch_add(u32::from(was_out), Ordering::Relaxed);
        was_out
    }

    /// How often it was loaded after it had been out.
    pub fn loads(&self) -> u32 {
        self.loads.load(Ordering::Relaxed)
    }

    /// Ejects the medium; false when a nexus prevents it.
    pub fn eject(&self) -> bool {
        let prevented_by = self.lock();
        if !prevented_by.is_empty() {
            return false;
        }
        self.loaded.store(false, Ordering::Release);
        true
    }

    /// A nexus prevents removal, or allows it again.
    pub fn prevent(&self, nexus: NexusId, prevent: bool) {
        let mut prevented_by = self.lock();
        if prevent {
            prevented_by.insert(nexus);
        } else {
            prevented_by.remove(&nexus);
        }
    }

    /// Nobody prevents removal any more (after a reset).
    pub fn allow_all(&self) {
        self.lock().clear();
    }
}
