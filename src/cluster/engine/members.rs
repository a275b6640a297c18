//! The other nodes: their records, their heartbeats, the connections to them.

use super::{Engine, Event, Fate};
use crate::cluster::clock;
use crate::cluster::link::Fingerprint;
use crate::cluster::links::{self, Whereabouts};
use crate::cluster::node::Neighbour;
use glint_cluster_core::membership::{
    Incarnation, Judgement, MOST_BEAT_BYTES, NodeId, NodeRecord, Numbers, Portal,
};
use glint_cluster_core::ownership::{Holder, Member as Group};
use glint_cluster_core::store::{Directory, DirectoryError, DocumentName, Found};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Nexuses of a node whose connection is lost are kept so long at least.
const GUESTS: Duration = Duration::from_secs(10);

/// Another node, as its record tells.
pub struct Member {
    pub record: NodeRecord,
    pub incarnation: Incarnation,
    /// Ends the connection to it.
    link: Option<CancellationToken>,
}

impl Member {
    /// Whether a connection to it is one to the node of that record.
    fn is_where(&self, record: &NodeRecord) -> bool {
        let of = |record: &NodeRecord| (record.boot, record.internal.clone(), record.certificate.clone());
        of(&self.record) == of(record)
    }
}

impl Engine {
    /// The records have changed.
    pub(super) fn take_members(&mut self, now: Instant) {
        let mut certificates = HashMap::new();
        let mut present = HashSet::new();
        for (node, record) in self.records() {
            let Some(node) = NodeId::new(node) else { continue };
            let incarnation = Incarnation { node: node.clone(), boot: record.boot };
            if node == self.me().node {
                if record.boot != self.me().boot {
                    tracing::error!(%node, "another process has started under the name of this node: this one ends");
                    self.parts.fate.send_replace(Fate::Replaced);
                }
                continue;
            }
            if record.left {
                continue;
            }
            if let Some(certificate) = Fingerprint::parse(&record.certificate) {
                certificates.insert(incarnation.clone(), certificate);
            }
            present.insert(node.clone());
            if let Some(known) = self.members.get_mut(&node).filter(|known| known.is_where(&record)) {
                known.record = record;
                continue;
            }
            if let Some(old) = self.members.remove(&node) {
                old.link.iter().for_each(CancellationToken::cancel);
            }
            tracing::info!(%node, boot = %record.boot, internal = record.internal, group = record.group, "a node of the store");
            self.members.insert(node, Member { record, incarnation, link: None });
        }
        for (node, gone) in self.members.extract_if(.., |node, _| !present.contains(node)) {
            tracing::info!(%node, "a node has left the store");
            gone.link.iter().for_each(CancellationToken::cancel);
        }
        self.parts.certificates.send_replace(certificates);
        let neighbours = self.neighbours();
        self.parts.neighbours.send_if_modified(|known| {
            let is_new = *known != neighbours;
            *known = neighbours;
            is_new
        });
        if self.term.is_some() {
            self.connect_all();
        }
        self.watch_peers(now);
        self.take_groups();
        self.prefer_all();
        self.is_view_new = true;
    }

    /// Begins the connections that there are to be.
    pub(super) fn connect_all(&mut self) {
        let Self { members, parts, .. } = self;
        for member in members.values_mut().filter(|member| member.link.is_none()) {
            let Some(certificate) = Fingerprint::parse(&member.record.certificate) else { continue };
            let to = Whereabouts {
                peer: member.incarnation.clone(),
                address: member.record.internal.clone(),
                certificate,
            };
            let cancelled = CancellationToken::new();
            member.link = Some(cancelled.clone());
            let (end, hub) = (Arc::clone(&parts.end), Arc::clone(&parts.hub));
            parts.workers.assign(move || async move {
                cancelled.run_until_cancelled(links::keep(end, hub, to)).await;
            });
        }
    }

    /// Ends all connections.
    pub(super) fn cut_all(&mut self) {
        for member in self.members.values_mut() {
            member.link.take().iter().for_each(CancellationToken::cancel);
        }
    }

    pub(super) fn set_cut(&mut self, peer: &Incarnation, cut: Option<Instant>) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.cut = cut;
        }
        self.is_view_new = true;
    }

    /// The groups of the nodes that live and cannot be reached from here.
    pub(super) fn unreachable(&self) -> Vec<u16> {
        let is_out_of_reach = |member: &&Member| {
            self.peers.get(&member.incarnation).is_some_and(|peer| peer.is_out_of_reach(self.peers.timing()))
        };
        self.members.values().filter(is_out_of_reach).map(|member| member.record.group).collect()
    }

    /// Watches the heartbeats of all nodes, and of all who are told to own something.
    pub(super) fn watch_peers(&mut self, now: Instant) {
        let me = self.me().clone();
        let mut watched: HashSet<_> =
            self.members.values().map(|member| member.incarnation.clone()).collect();
        for volume in self.volumes.values() {
            if let Some(Holder::Owned(owner)) = volume.machine.seen().map(|seen| &seen.record.holder)
                && *owner != me
            {
                watched.insert(owner.clone());
            }
        }
        self.peers.retain(|peer| watched.contains(peer));
        for peer in &watched {
            self.peers.watch(peer.clone(), now);
        }
        let timing = *self.peers.timing();
        self.parts.hub.retain_guests(|guests| {
            guests.cut_since().is_none_or(|cut| now < cut + GUESTS.max(timing.dead))
                && watched.contains(guests.of())
        });
        if now < self.beats_due {
            return;
        }
        self.beats_due = now + timing.beat / 2;
        for peer in watched {
            if self.beats_read.insert(peer.clone()) {
                let documents = Arc::clone(&self.parts.documents);
                self.spawn(async move {
                    let began = clock::now();
                    let read = documents.directory().read(&peer.beat_file(), MOST_BEAT_BYTES).await;
                    let read = match read {
                        Ok(beat) => Some(Some(beat)),
                        Err(DirectoryError::Missing) => Some(None),
                        Err(_) => None,
                    };
                    Event::BeatRead(peer, began, read)
                });
            }
        }
    }

    pub(super) fn beat_read(
        &mut self,
        whose: &Incarnation,
        began: Instant,
        now: Instant,
        read: Option<Option<bytes::Bytes>>,
    ) {
        self.beats_read.remove(whose);
        let timing = *self.peers.timing();
        let Some((beat, peer)) = read.zip(self.peers.get_mut(whose)) else { return };
        let before = (peer.watch.judgement(), peer.is_out_of_reach(&timing));
        peer.watch.read(began, now, beat);
        let after = (peer.watch.judgement(), peer.is_out_of_reach(&timing));
        if before == after {
            return;
        }
        self.is_view_new = true;
        match (before.0, after.0) {
            (Judgement::Alive, Judgement::Dead) => {
                tracing::warn!(node = %whose.node, "a node is dead: no heartbeat")
            }
            (Judgement::Dead, Judgement::Alive) => {
                tracing::info!(node = %whose.node, "a node is alive again")
            }
            _ => {}
        }
        if !before.1 && after.1 {
            tracing::warn!(node = %whose.node, "a node lives and can't be reached over the internal network: its volumes are unavailable here");
        }
    }

    /// The target port groups as the records have them.
    pub(super) fn take_groups(&mut self) {
        let me = Group { incarnation: self.me().clone(), group: self.parts.numbers.group };
        let of =
            |member: &Member| Group { incarnation: member.incarnation.clone(), group: member.record.group };
        self.groups = self.members.values().map(of).chain([me]).collect();
        self.groups.sort_by_key(|group| group.group);
        self.ports = self.groups.iter().map(|group| self.ports_of(&group.incarnation.node)).collect();
    }

    /// The numbers of a node.
    fn numbers_of(&self, node: &NodeId) -> Option<Numbers> {
        let numbers = DocumentName::new("numbers").and_then(|document| self.cache.get(&document));
        match numbers.map(|state| &state.found) {
            Some(Found::Body(body)) => Numbers::of(body, node),
            _ => None,
        }
    }

    /// RELATIVE TARGET PORT IDENTIFIERs of a node's ports.
    fn ports_of(&self, node: &NodeId) -> Vec<u16> {
        let numbers = match *node == self.me().node {
            true => Some(self.parts.numbers.clone()),
            false => self.numbers_of(node),
        };
        numbers.map_or_else(Vec::new, |numbers| numbers.ports.values().copied().collect())
    }

    /// The portals of the other nodes.
    fn neighbours(&self) -> Vec<Neighbour> {
        let of_member = |(node, member): (&NodeId, &Member)| {
            let numbers = self.numbers_of(node);
            let of_portal = |portal: &Portal| {
                let number = *numbers.as_ref()?.ports.get(&portal.tag)?;
                let addresses = match portal.advertised.is_empty() {
                    true => vec![portal.bound.clone()],
                    false => portal.advertised.clone(),
                };
                Some(Neighbour { tag: portal.tag, number, addresses })
            };
            member.record.portals.iter().filter_map(of_portal).collect::<Vec<_>>()
        };
        self.members.iter().flat_map(of_member).collect()
    }

    /// Where each volume is to be when all is well.
    fn prefer_all(&mut self) {
        let nodes: Vec<NodeId> = self.members.keys().cloned().chain([self.me().node.clone()]).collect();
        for (name, volume) in &mut self.volumes {
            volume.prefer(preferred(name, &nodes));
        }
    }

    /// Where a volume is to be when all is well.
    pub(super) fn preferred_of(&self, volume: &str) -> Option<NodeId> {
        let nodes: Vec<NodeId> = self.members.keys().cloned().chain([self.me().node.clone()]).collect();
        preferred(volume, &nodes)
    }
}

/// The node of the highest hash with the volume: all nodes choose alike, each gets as many as any other, and when one comes or goes only the volumes
/// that it gets or had are chosen anew.
fn preferred(volume: &str, nodes: &[NodeId]) -> Option<NodeId> {
    use sha2::{Digest, Sha256};
    let weight = |node: &NodeId| Sha256::digest(format!("{volume}\n{node}"));
    nodes.iter().max_by_key(|node| weight(node)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_spread_evenly_and_stay_when_a_node_goes() {
        let nodes: Vec<_> = ["n1", "n2", "n3"].iter().filter_map(|node| NodeId::new(*node)).collect();
        let volumes: Vec<_> = (0..3000).map(|number| format!("disk{number}")).collect();
        let count = |node: &NodeId| {
            volumes.iter().filter(|volume| preferred(volume, &nodes).as_ref() == Some(node)).count()
        };
        for node in &nodes {
            assert!((850..1150).contains(&count(node)), "{node}: {}", count(node));
        }
        for volume in &volumes {
            let before = preferred(volume, &nodes).unwrap();
            if before != nodes[2] {
                assert_eq!(preferred(volume, &nodes[..2]).unwrap(), before);
            }
        }
    }
}
