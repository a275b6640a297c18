//! Command priorities that were assigned to nexuses (SPC-5 6.44). Commands of equal attributes run side by side here, so that a priority
//! has nothing to decide (SAM-5 8.7 leaves that to the task manager); it is remembered and told.

use crate::scsi::command::NexusId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The priorities, 1 to 15, of those nexuses that have one of their own.
#[derive(Default)]
pub struct Priorities(Mutex<HashMap<NexusId, u8>>);

impl Priorities {
    fn lock(&self) -> MutexGuard<'_, HashMap<NexusId, u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns a priority; zero takes it back.
    pub fn set(&self, nexus: NexusId, priority: u8) {
        match priority & 0x0f {
            0 => self.lock().remove(&nexus),
            priority => self.lock().insert(nexus, priority),
        };
    }

    /// The priority of a nexus, where it has one of its own.
    pub fn get(&self, nexus: NexusId) -> Option<u8> {
        self.lock().get(&nexus).copied()
    }

    /// Nobody has a priority of its own any more.
    pub fn clear(&self) {
        self.lock().clear();
    }
}
