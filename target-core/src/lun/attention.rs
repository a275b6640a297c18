//! Unit attention conditions, kept for each I_T nexus apart (SAM-5 5.14).

use crate::scsi::asc;
use crate::scsi::command::NexusId;
use crate::scsi::mode_pages::THRESHOLD_DESCRIPTOR;
use crate::scsi::sense::{Asc, Sense, SenseKey};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether a condition tells of a reset: it goes before a reservation conflict (SAM-5 5.3.3) and before every other condition.
pub fn is_reset(condition: Asc) -> bool {
    condition.0 == asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED.0
}

/// The sense data that tells of a condition.
pub fn sense(condition: Asc) -> Sense {
    let sense = Sense::new(SenseKey::UnitAttention, condition);
    match condition {
        // SBC-4 4.7.3.7: which threshold it is.
        asc::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED => sense.informing(THRESHOLD_DESCRIPTOR),
        _ => sense,
    }
}

/// The conditions of one unit, in the order in which they are reported.
#[derive(Default)]
pub struct Attentions {
    /// How many conditions are pending for all nexuses together, so that the common case costs no lock.
    pending: AtomicUsize,
    nexuses: Mutex<HashMap<NexusId, SmallVec<[Asc; 4]>>>,
}

impl Attentions {
    fn lock(&self) -> MutexGuard<'_, HashMap<NexusId, SmallVec<[Asc; 4]>>> {
        self.nexuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to keep conditions for a nexus, the first of which is that the unit was powered on.
    pub fn admit(&self, nexus: NexusId, condition: Asc) {
        let mut nexuses = self.lock();
        let queue = nexuses.entry(nexus).or_default();
        self.insert(queue, condition);
    }

    /// Forgets a nexus.
    pub fn forget(&self, nexus: NexusId) {
        if let Some(queue) = self.lock().remove(&nexus) {
            self.pending.fetch_sub(queue.len(), Ordering::Relaxed);
        }
    }

    /// Establishes a condition for every nexus.
    pub fn raise(&self, condition: Asc) {
        self.lock().values_mut().for_each(|queue| self.insert(queue, condition));
    }

    /// Establishes a condition for every nexus but one.
    pub fn raise_except(&self, except: NexusId, condition: Asc) {
        let mut nexuses = self.lock();
        let others = nexuses.iter_mut().filter(|(nexus, _)| **nexus != except);
        others.for_each(|(_, queue)| self.insert(queue, condition));
    }

    /// Establishes a condition for one nexus.
    pub fn raise_for(&self, nexus: NexusId, condition: Asc) {
        if let Some(queue) = self.lock().get_mut(&nexus) {
            self.insert(queue, condition);
        }
    }

    /// Takes the first condition of a nexus that `wanted` agrees to; it is cleared thereby.
    pub fn take(&self, nexus: NexusId, wanted: impl Fn(Asc) -> bool) -> Option<Asc> {
        if self.pending.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut nexuses = self.lock();
        let queue = nexuses.get_mut(&nexus)?;
        let at = queue.iter().position(|condition| wanted(*condition))?;
        self.pending.fetch_sub(1, Ordering::Relaxed);
        Some(queue.remove(at))
    }

    /// Whether a condition is pending for a nexus.
    pub fn is_pending(&self, nexus: NexusId) -> bool {
        self.pending.load(Ordering::Acquire) > 0
            && self.lock().get(&nexus).is_some_and(|queue| !queue.is_empty())
    }

    /// SAM-5 5.14.2: a condition that is pending already is not queued again. Of resets only the weightiest is kept, as the first of
    /// all (the lower the qualifier, the more it tells, save that 00h stands for any of them).
    fn insert(&self, queue: &mut SmallVec<[Asc; 4]>, condition: Asc) {
        if queue.contains(&condition) {
            return;
        }
        if is_reset(condition) {
            match queue.first_mut() {
                Some(first) if is_reset(*first) => {
                    *first = Asc(condition.0, first.1.min(condition.1));
                    return;
                }
                _ => queue.insert(0, condition),
            }
        } else {
            queue.push(condition);
        }
        self.pending.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
