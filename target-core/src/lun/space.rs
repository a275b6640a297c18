//! The space that a thin unit lives on: how much is left of it, and the threshold below which initiators are told (SBC-4 4.7.3.7).
//!
//! Nothing here asks the device: who serves the unit looks now and then, and says what it saw.

use super::unit::LogicalUnit;
use crate::device::{BlockDevice, Space};
use crate::scsi::{asc, limits};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How little space is low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowSpace {
    /// Per cent of the store.
    Percent(u8),
    /// Bytes.
    Bytes(u64),
}

impl LowSpace {
    /// The same in bytes, for a store of this size.
    fn bytes(self, total: u64) -> u64 {
        match self {
            Self::Percent(percent) => total / 100 * u64::from(percent.min(100)),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl std::fmt::Display for LowSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

/// What has changed when one looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Less than the threshold, these bytes, is left; initiators are told.
    Low(u64),
    /// Enough is left again.
    Enough,
}

/// What is known of the space.
#[derive(Default)]
pub struct SpaceWatch(Mutex<State>);

#[derive(Clone, Copy, Default)]
struct State {
    seen: Option<Space>,
    threshold: Option<LowSpace>,
    low: bool,
}

impl SpaceWatch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen last; nothing where the device cannot tell.
    pub fn seen(&self) -> Option<Space> {
        self.lock().seen
    }

    /// Whether the space is low.
    pub fn is_low(&self) -> bool {
        self.lock().low
    }

    /// Sets the threshold, or takes it away.
    pub fn set_threshold(&self, threshold: Option<LowSpace>) {
        self.lock().threshold = threshold;
    }

    /// Takes note; the threshold in bytes, and what was crossed. It has to be exceeded by an eighth before it counts as left behind, so
    /// that a store on the edge is not told of over and over.
    fn note(&self, seen: Option<Space>) -> (Option<u64>, Option<Crossing>) {
        let mut state = self.lock();
        state.seen = seen;
        let (Some(space), Some(threshold)) = (seen, state.threshold) else {
            state.low = false;
            return (None, None);
        };
        let threshold = threshold.bytes(space.total);
        let low = match state.low {
            true => space.free <= threshold.saturating_add(threshold / 8),
            false => space.free <= threshold,
        };
        let crossing =
            (low != state.low).then_some(if low { Crossing::Low(threshold) } else { Crossing::Enough });
        state.low = low;
        (Some(threshold), crossing)
    }
}

impl<D: BlockDevice> LogicalUnit<D> {
    /// Takes note of the space that there is. The first time it is low, every nexus is told, and again only after it was not.
    pub fn space_seen(&self, seen: Option<Space>) -> Option<Crossing> {
        // A fully provisioned unit has taken what it needs.
        let seen = seen.filter(|_| self.device().capabilities().discard.is_some());
        let (threshold, crossing) = self.space().note(seen);
        let count = threshold.map_or(0, |bytes| limits::resource_count(self, bytes).max(1));
        self.modes().set_threshold(count);
        if let Some(Crossing::Low(_)) = crossing {
            self.attentions().raise(asc::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED);
        }
        crossing
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
