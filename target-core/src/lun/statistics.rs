//! What a unit counts about its commands on blocks.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted in one direction.
#[derive(Default)]
pub struct Tally {
    bytes: AtomicU64,
    unrecovered: AtomicU64,
}

impl Tally {
    /// So many bytes of logical blocks were carried by a command.
    pub fn carried(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A command ended in a medium error.
    pub fn failed(&self) {
        self.unrecovered.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes that were carried.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Commands that ended in a medium error.
    pub fn unrecovered(&self) -> u64 {
        self.unrecovered.load(Ordering::Relaxed)
    }

    /// Begins at zero again.
    pub fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.unrecovered.store(0, Ordering::Relaxed);
    }
}

/// The counters of a unit, from when it was opened or they were reset.
#[derive(Default)]
pub struct Statistics {
    /// Of commands that may change the medium.
    pub written: Tally,
    /// Of commands that only read it.
    pub read: Tally,
}
