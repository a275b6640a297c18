//! A unit as its initiators see it: its target's name, and the portals that lead to it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::multipath::Multipath;
use super::tally::Tally;
use super::timers::Timers;
use crate::glint::IQN_BASE;
use crate::initiator::Port;

/// See the module.
#[derive(Clone, Debug)]
pub struct Site {
    /// The name of the volume.
    pub volume: String,
    /// One for each node, or several of one.
    pub portals: Vec<SocketAddr>,
    /// Of all its initiators.
    pub timers: Timers,
    /// What all its initiators count.
    pub tally: Arc<Tally>,
}

impl Site {
    /// Of this volume.
    pub fn new(volume: &str, portals: Vec<SocketAddr>, timers: Timers) -> Self {
        Self { volume: volume.to_owned(), portals, timers, tally: Arc::default() }
    }

    /// A host of this name with a path to each portal.
    pub fn host(&self, name: &str) -> Multipath {
        let target = format!("{IQN_BASE}:{}", self.volume);
        let port = Port::new(&target, 1).named(&format!("iqn.2026-12.io.glint.test:{name}"));
        Multipath::new(&port, &self.portals, self.timers, &self.tally)
    }
}
