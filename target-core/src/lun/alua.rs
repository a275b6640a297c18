//! Asymmetric access (SPC-5 5.18): the state of the target port group through which this node serves a unit, and of those of other nodes.

use crate::scsi::sense::Sense;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// TARGET PORT GROUP of all ports of a target that one node serves.
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

/// What changed the state last: STATUS CODE (SPC-5 table 312).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Change {
    /// Nothing yet.
    None = 0,
    /// SET TARGET PORT GROUPS.
    Explicit = 1,
    /// The node by itself.
    Implicit = 2,
}

/// A target port group as initiators are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// TARGET PORT GROUP.
    pub number: u16,
    /// Its state.
    pub state: AccessState,
    /// PREF: where the unit is to be when all is well.
    pub is_preferred: bool,
    /// RELATIVE TARGET PORT IDENTIFIERs of its ports.
    pub ports: Vec<u16>,
}

/// The target port groups of a unit that several nodes serve.
pub trait PortGroups: Debug + Send + Sync {
    /// All of them, in ascending order of their numbers.
    fn groups(&self) -> Arc<[PortGroup]>;

    /// That of this node's ports.
    fn own(&self) -> u16;

    /// What has changed the states last.
    fn change(&self) -> Change;

    /// Begins to make a group active/optimized; what becomes of it is told by a unit attention.
    ///
    /// # Errors
    /// The sense of a group that can't be: it is out of reach.
    fn optimize(&self, group: u16) -> Result<(), Sense>;
}

/// An access state that can be changed while commands run.
pub struct AccessCell {
    state: AtomicU8,
    change: AtomicU8,
}

impl Default for AccessCell {
    fn default() -> Self {
        Self {
            state: AtomicU8::new(AccessState::ActiveOptimized as u8),
            change: AtomicU8::new(Change::None as u8),
        }
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

    /// What changed it last.
    pub fn change(&self) -> Change {
        match self.change.load(Ordering::Acquire) {
            0 => Change::None,
            1 => Change::Explicit,
            _ => Change::Implicit,
        }
    }

    /// Changes the state; tells whether it was another one.
    pub fn set(&self, state: AccessState, change: Change) -> bool {
        let changes = self.state.swap(state as u8, Ordering::AcqRel) != state as u8;
        if changes {
            self.change.store(change as u8, Ordering::Release);
        }
        changes
    }
}
