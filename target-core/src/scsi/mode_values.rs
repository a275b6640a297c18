//! The mode parameters that can be changed, as values.

use std::sync::atomic::{AtomicU32, Ordering};

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
    /// Informational Exceptions Control page, EWASC: warnings are told (none ever arises).
    pub ewasc: bool,
    /// Informational Exceptions Control page, DEXCPT: no informational exception is told.
    pub dexcpt: bool,
    /// Informational Exceptions Control page, TEST: a false informational exception is told.
    pub test: bool,
    /// Informational Exceptions Control page, MRIE: in which way they are told; four bits.
    pub mrie: u8,
    /// Control Extension page, INITIAL COMMAND PRIORITY; four bits.
    pub initial_priority: u8,
    /// Logical Block Provisioning page, THRESHOLD COUNT of available space; 0 where there is no threshold. It is the configuration's.
    pub threshold: u32,
}

impl ModeValues {
    /// The defaults, for a device with or without a volatile cache.
    pub fn defaults(volatile_cache: bool) -> Self {
        Self { wce: volatile_cache, tas: true, dexcpt: true, ..Self::unpack(0) }
    }

    /// All that can be set, set or clear: what differs between the two is changeable.
    pub fn extreme(set: bool, volatile_cache: bool) -> Self {
        let all = Self::unpack(if set { u32::MAX } else { 0 });
        Self { wce: set && volatile_cache, ..all }
    }

    /// Whether there is an informational exception: the false one that TEST asks for.
    pub fn has_exception(self) -> bool {
        self.test && !self.dexcpt
    }

    fn pack(self) -> u32 {
        let bits = [self.wce, self.d_sense, self.swp, self.tas, self.ewasc, self.dexcpt, self.test];
        let bits = bits.iter().enumerate().fold(0, |bits, (at, value)| bits | u32::from(*value) << at);
        bits | u32::from(self.mrie & 0x0f) << 24 | u32::from(self.initial_priority & 0x0f) << 28
    }

    fn unpack(bits: u32) -> Self {
        let bit = |at: u8| bits >> at & 1 == 1;
        let nibble = |at: u8| (bits >> at & 0x0f) as u8;
        Self {
            wce: bit(0),
            d_sense: bit(1),
            swp: bit(2),
            tas: bit(3),
            ewasc: bit(4),
            dexcpt: bit(5),
            test: bit(6),
            mrie: nibble(24),
            initial_priority: nibble(28),
            threshold: 0,
        }
    }
}

/// The mode parameters of a unit, shared by all its nexuses; read on every command.
pub struct ModeCell {
    now: AtomicU32,
    /// Those to go back to: the defaults until others are saved.
    saved: AtomicU32,
    threshold: AtomicU32,
}

impl ModeCell {
    /// The default parameters.
    pub fn new(volatile_cache: bool) -> Self {
        let defaults = ModeValues::defaults(volatile_cache).pack();
        Self { now: AtomicU32::new(defaults), saved: AtomicU32::new(defaults), threshold: AtomicU32::new(0) }
    }

    /// The parameters in force.
    pub fn get(&self) -> ModeValues {
        let threshold = self.threshold.load(Ordering::Relaxed);
        ModeValues { threshold, ..ModeValues::unpack(self.now.load(Ordering::Acquire)) }
    }

    /// Replaces them; tells whether they were others.
    pub fn set(&self, values: ModeValues) -> bool {
        self.now.swap(values.pack(), Ordering::AcqRel) != values.pack()
    }

    /// Sets the threshold, which no initiator can change.
    pub fn set_threshold(&self, count: u32) {
        self.threshold.store(count, Ordering::Relaxed);
    }

    /// The saved parameters.
    pub fn saved(&self) -> ModeValues {
        let threshold = self.threshold.load(Ordering::Relaxed);
        ModeValues { threshold, ..ModeValues::unpack(self.saved.load(Ordering::Acquire)) }
    }

    /// Replaces the saved parameters.
    pub fn save(&self, values: ModeValues) {
        self.saved.store(values.pack(), Ordering::Release);
    }

    /// Back to the saved parameters (after a reset).
    pub fn reset(&self) {
        self.set(self.saved());
    }
}
