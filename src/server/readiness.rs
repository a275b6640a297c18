//! Whether the node can serve: what /readyz tells.

use std::sync::atomic::{AtomicBool, Ordering};

/// The conditions of being ready.
#[derive(Debug, Default)]
pub struct Readiness {
    volumes_open: AtomicBool,
    listening: AtomicBool,
    draining: AtomicBool,
}

impl Readiness {
    /// All configured volumes are open, or not.
    pub fn set_volumes_open(&self, open: bool) {
        self.volumes_open.store(open, Ordering::Relaxed);
    }

    /// All portals are bound, or not.
    pub fn set_listening(&self, listening: bool) {
        self.listening.store(listening, Ordering::Relaxed);
    }

    /// The node is about to end.
    pub fn set_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// What keeps the node from being ready; empty when it is.
    pub fn obstacles(&self) -> Vec<&'static str> {
        let conditions = [
            (!self.volumes_open.load(Ordering::Relaxed), "a volume is not open"),
            (!self.listening.load(Ordering::Relaxed), "a portal is not bound"),
            (self.draining.load(Ordering::Relaxed), "draining"),
        ];
        conditions.into_iter().filter_map(|(holds, what)| holds.then_some(what)).collect()
    }
}
