//! The mode parameters that can be changed, as values.

use std::sync::atomic::{AtomicU8, Ordering};

/// Mode parameters in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeValues {
    /// Caching page, WCE: write data may stay in a volatile cache.
    pub wce: bool,
    /// Control page, D_SENSE: sense data in descriptor format.
    pub d_sense: bool,
    /// Control page, SWP: the medium is write protected by software.
    pub swp: bool,
    /// Control page, TAS: aborts by another nexus are told by TASK ABORTED.
    pub tas: bool,
}

impl ModeValues {
    /// The defaults, for a device with or without a volatile cache.
    pub fn defaults(volatile_cache: bool) -> Self {
        Self { wce: volatile_cache, d_sense: false, swp: false, tas: true }
    }

    /// All that can be set, set or clear: what differs between the two is changeable.
    pub fn extreme(set: bool, volatile_cache: bool) -> Self {
        Self { wce: set && volatile_cache, d_sense: set, swp: set, tas: set }
    }

    fn pack(self) -> u8 {
        [self.wce, self.d_sense, self.swp, self.tas]
            .iter()
            .enumerate()
            .fold(0, |bits, (at, value)| bits | u8::from(*value) << at)
    }

    fn unpack(bits: u8) -> Self {
        let bit = |at: u8| bits >> at & 1 == 1;
        Self { wce: bit(0), d_sense: bit(1), swp: bit(2), tas: bit(3) }
    }
}

/// The mode parameters of a unit, shared by all its nexuses; read on every command.
pub struct ModeCell {
    now: AtomicU8,
    volatile_cache: bool,
}

impl ModeCell {
    /// The default parameters.
    pub fn new(volatile_cache: bool) -> Self {
        Self { now: AtomicU8::new(ModeValues::defaults(volatile_cache).pack()), volatile_cache }
    }

    /// The parameters in force.
    pub fn get(&self) -> ModeValues {
        ModeValues::unpack(self.now.load(Ordering::Acquire))
    }

    /// Replaces them; tells whether they were others.
    pub fn set(&self, values: ModeValues) -> bool {
        self.now.swap(values.pack(), Ordering::AcqRel) != values.pack()
    }

    /// Back to the defaults (after a reset).
    pub fn reset(&self) {
        self.set(ModeValues::defaults(self.volatile_cache));
    }
}
