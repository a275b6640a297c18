//! The other incarnations as this node sees them: their heartbeats, and the internal connections to them.

use super::node::{Incarnation, NodeId};
use super::observer::{Judgement, Watch};
use super::timing::Timing;
use std::collections::BTreeMap;
use std::time::Instant;

/// Another incarnation.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its heartbeat.
    pub watch: Watch,
    /// Since when there has been no internal connection; none while there is one.
    pub cut: Option<Instant>,
}

impl Peer {
    /// It lives and cannot be reached from here: its heartbeat has changed well after the connection was lost, so it was not its death that cut it.
    pub fn is_out_of_reach(&self, timing: &Timing) -> bool {
        let after = self.cut.zip(self.watch.changed());
        self.watch.judgement() == Judgement::Alive
            && after.is_some_and(|(cut, changed)| changed >= cut + timing.beat * 2)
    }
}

/// All that are watched: those in the nodes' records, and those in the owner records.
#[derive(Clone, Debug)]
pub struct Peers {
    timing: Timing,
    peers: BTreeMap<Incarnation, Peer>,
}

impl Peers {
    /// None yet.
    pub fn new(timing: Timing) -> Self {
        Self { timing, peers: BTreeMap::new() }
    }

    /// Begins to watch.
    pub fn watch(&mut self, incarnation: Incarnation, now: Instant) {
        let peer = || Peer { watch: Watch::new(self.timing), cut: Some(now) };
        self.peers.entry(incarnation).or_insert_with(peer);
    }

    /// Forgets those for which this is not true.
    pub fn retain(&mut self, keep: impl Fn(&Incarnation) -> bool) {
        self.peers.retain(|incarnation, _| keep(incarnation));
    }

    /// One of them.
    pub fn get(&self, incarnation: &Incarnation) -> Option<&Peer> {
        self.peers.get(incarnation)
    }

    /// One of them.
    pub fn get_mut(&mut self, incarnation: &Incarnation) -> Option<&mut Peer> {
        self.peers.get_mut(incarnation)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Incarnation, &Peer)> {
        self.peers.iter()
    }

    /// What to think of one; nothing of one that is not watched.
    pub fn judgement(&self, incarnation: &Incarnation) -> Judgement {
        self.get(incarnation).map_or(Judgement::Unknown, |peer| peer.watch.judgement())
    }

    /// The living incarnation of a node.
    pub fn alive(&self, node: &NodeId) -> Option<(&Incarnation, &Peer)> {
        let lives = |peer: &Peer| peer.watch.judgement() == Judgement::Alive;
        self.iter().find(|(incarnation, peer)| incarnation.node == *node && lives(peer))
    }

    /// The agreed times.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }
}
