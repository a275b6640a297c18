//! Reservations by RESERVE and RELEASE (SPC-2 5.5.1).

use crate::scsi::command::NexusId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The nexus that holds the unit, if any. It ends with RELEASE, with the nexus and with resets.
#[derive(Default)]
pub struct Reservation(AtomicU64);

/// As stored: 0 is nobody.
fn holder(nexus: NexusId) -> u64 {
    nexus.0.wrapping_add(1)
}

impl Reservation {
    /// Reserves the unit; false when another nexus holds it.
    pub fn reserve(&self, nexus: NexusId) -> bool {
        let holder = holder(nexus);
        match self.0.compare_exchange(0, holder, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(other) => other == holder,
        }
    }

    /// Gives up what the nexus holds; nothing happens when it holds nothing.
    pub fn release(&self, nexus: NexusId) {
        // A failed exchange means that there is nothing to release.
        let _ = self.0.compare_exchange(holder(nexus), 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Ends any reservation.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Whether another nexus holds the unit.
    pub fn conflicts(&self, nexus: NexusId) -> bool {
        let held = self.0.load(Ordering::Acquire);
        held != 0 && held != holder(nexus)
    }
}
