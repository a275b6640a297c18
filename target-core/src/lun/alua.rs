//! Asymmetric access (SPC-5 5.18): the state of the target port group through which this node serves a unit.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// TARGET PORT GROUP of all ports of this target.
pub const TARGET_PORT_GROUP: u16 = 1;

/// ASYMMETRIC ACCESS STATE (SPC-5 table 311).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum AccessState {
    ActiveOptimized = 0x0,
    ActiveNonOptimized = 0x1,
    Standby = 0x2,
    Unavailable = 0x3,
    Transitioning = 0xf,
}

/// An access state that can be changed while commands run.
pub struct AccessCell {
    state: AtomicU8,
    changed: AtomicBool,
}

impl Default for AccessCell {
    fn default() -> Self {
        Self { state: AtomicU8::new(AccessState::ActiveOptimized as u8), changed: AtomicBool::new(false) }
    }
}

impl AccessCell {
    /// The state now.
    pub fn get(&self) -> AccessState {
        match self.state.load(Ordering::Acquire) {
            0x0 => AccessState::ActiveOptimized,
            0x1 => AccessState::ActiveNonOptimized,
            0x2 => AccessState::Standby,
            0xf => AccessState::Transitioning,
            _ => AccessState::Unavailable,
        }
    }

    /// Whether it was ever another one.
    pub fn was_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    /// Changes the state; tells whether it was another one.
    pub fn set(&self, state: AccessState) -> bool {
        let changes = self.state.swap(state as u8, Ordering::AcqRel) != state as u8;
        if changes {
            self.changed.store(true, Ordering::Release);
        }
        changes
    }
}
