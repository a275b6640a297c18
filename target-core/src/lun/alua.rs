//! Asymmetric access (SPC-5 5.18): the state of the target port group through which this node serves a unit.

use std::sync::atomic::{AtomicU8, Ordering};

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
pub struct AccessCell(AtomicU8);

impl Default for AccessCell {
    fn default() -> Self {
        Self(AtomicU8::new(AccessState::ActiveOptimized as u8))
    }
}

impl AccessCell {
    /// The state now.
    pub fn get(&self) -> AccessState {
        match self.0.load(Ordering::Acquire) {
            0x0 => AccessState::ActiveOptimized,
            0x1 => AccessState::ActiveNonOptimized,
            0x2 => AccessState::Standby,
            0xf => AccessState::Transitioning,
            _ => AccessState::Unavailable,
        }
    }

    /// Changes the state; tells whether it was another one.
    pub fn set(&self, state: AccessState) -> bool {
        self.0.swap(state as u8, Ordering::AcqRel) != state as u8
    }
}
