//! What is served, as one immutable snapshot, and the view of it that a connection has through its portal.

use crate::telemetry::VolumeMetrics;
use arc_swap::ArcSwap;
use glint_target_core::login::catalog::{AuthPolicy, Catalog, InitiatorList, TargetEntry, Whereabouts};
use ipnet::IpNet;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A target with the device behind it. The device outlives changes of the rest.
pub struct ServedTarget<S> {
    /// iSCSI name.
    pub name: Arc<str>,
    /// TargetAlias.
    pub alias: Option<Arc<str>>,
    /// Who may log in, and from where.
    pub access: Access,
    /// Where it is served.
    pub whereabouts: Whereabouts,
    /// What they have to prove.
    pub auth: AuthPolicy,
    /// What runs its commands.
    pub device: Arc<ServedDevice<S>>,
}

/// Who may know of a target and log in to it. Each part that is empty bars nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// By name.
    pub initiators: InitiatorList,
    /// By the address that they come from.
    pub networks: Vec<IpNet>,
    /// By the tag of the portal group that they come to.
    pub groups: Vec<u16>,
}

impl Access {
    /// Whether connections from this address are let in. IPv4 within IPv6 is IPv4 (RFC 4291 §2.5.5.2).
    pub fn lets_in_network(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(&peer))
    }

    /// Whether this portal group serves the target.
    pub fn serves_group(&self, tag: u16) -> bool {
        self.groups.is_empty() || self.groups.contains(&tag)
    }
}

impl<S> ServedTarget<S> {
    /// Whether a session of this initiator may be, over connections from `peer` to the portal group of `tag`.
    pub fn admits(&self, initiator: &str, peer: IpAddr, tag: u16) -> bool {
        let access = &self.access;
        let may = access.initiators.admits(initiator) && access.lets_in_network(peer);
        may && access.serves_group(tag) && self.whereabouts == Whereabouts::Here
    }
}

/// A SCSI target device and the metrics of its units.
pub struct ServedDevice<S> {
    /// Runs commands.
    pub server: S,
    /// By logical unit number, in ascending order.
    pub volumes: ArcSwap<Vec<(u16, Arc<VolumeMetrics>)>>,
}

impl<S> ServedDevice<S> {
    /// The metrics of a unit.
    pub fn volume(&self, number: u16) -> Option<Arc<VolumeMetrics>> {
        let volumes = self.volumes.load();
        let at = volumes.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        volumes.get(at).map(|(_, metrics)| Arc::clone(metrics))
    }
}

/// A group of addresses through which all targets can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalGroup {
    /// Target portal group tag.
    pub tag: u16,
    /// What initiators are told.
    pub addresses: Vec<PortalAddress>,
}

/// An address as SendTargets tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalAddress {
    /// What is told.
    pub told: Told,
    /// Whether there is TLS behind it. It is told to those who came the same way: others could make nothing of it, or would leave the
    /// tunnel for a plain connection.
    pub tls: bool,
}

/// How an address is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// So: `host:port`, IPv6 in brackets.
    Fixed(String),
    /// The address by which the asking connection came in, with the port of this wildcard address.
    Local(SocketAddr),
    /// This link-local address, to those who came in by it: it means nothing on other links.
    Link(SocketAddr),
}

impl Told {
    /// How an initiator that reached us at `local` is told of it; none when it cannot reach it.
    fn seen_from(&self, local: SocketAddr) -> Option<String> {
        match self {
            Told::Fixed(address) => Some(address.clone()),
            // Without its scope, which is of this machine alone.
            Told::Link(bound) => {
                (bound.ip() == local.ip()).then(|| SocketAddr::new(bound.ip(), bound.port()).to_string())
            }
            Told::Local(bound) => {
                let ip = local.ip().to_canonical();
                let reachable = match bound.ip() {
                    IpAddr::V4(_) => ip.is_ipv4(),
                    // Bound without IPV6_V6ONLY unless there is an IPv4 wildcard of its own beside it.
                    IpAddr::V6(_) => true,
                };
                reachable.then(|| SocketAddr::new(ip, bound.port()).to_string())
            }
        }
    }
}

/// All that initiators can find at one moment.
pub struct Snapshot<S> {
    targets: Vec<Arc<ServedTarget<S>>>,
    by_name: HashMap<String, usize>,
    portal_groups: Vec<PortalGroup>,
    discovery_auth: AuthPolicy,
}

impl<S> Snapshot<S> {
    /// Targets in the order in which SendTargets tells them; their names differ.
    pub fn new(
        targets: Vec<Arc<ServedTarget<S>>>,
        portal_groups: Vec<PortalGroup>,
        discovery_auth: AuthPolicy,
    ) -> Self {
        let by_name =
            targets.iter().enumerate().map(|(at, target)| (target.name.to_ascii_lowercase(), at)).collect();
        Self { targets, by_name, portal_groups, discovery_auth }
    }

    /// Nothing at all.
    pub fn empty() -> Self {
        Self::new(Vec::new(), Vec::new(), AuthPolicy::Open)
    }

    /// The same with other targets.
    #[must_use]
    pub fn with_targets(&self, targets: Vec<Arc<ServedTarget<S>>>) -> Self {
        Self::new(targets, self.portal_groups.clone(), self.discovery_auth.clone())
    }

    /// All targets.
    pub fn targets(&self) -> &[Arc<ServedTarget<S>>] {
        &self.targets
    }

    /// The target of this name, compared without regard to ASCII case.
    pub fn target(&self, name: &str) -> Option<&Arc<ServedTarget<S>>> {
        self.targets.get(*self.by_name.get(&name.to_ascii_lowercase())?)
    }
}

/// The catalog as one connection sees it.
pub(super) struct PortalView<S> {
    pub(super) snapshot: Arc<ArcSwap<Snapshot<S>>>,
    /// Tag of the portal group by which the connection came.
    pub(super) tag: u16,
    /// Whether it came through TLS.
    pub(super) tls: bool,
    /// Our end of the connection.
    pub(super) local: SocketAddr,
    /// The initiator's end.
    pub(super) peer: IpAddr,
}

impl<S> PortalView<S> {
    fn entry(&self, snapshot: &Snapshot<S>, target: &ServedTarget<S>) -> Arc<TargetEntry> {
        let access = &target.access;
        let groups = snapshot.portal_groups.iter().filter(|group| access.serves_group(group.tag));
        let addresses = groups.flat_map(|group| {
            let alike = group.addresses.iter().filter(|address| address.tls == self.tls);
            let seen = alike.filter_map(|address| address.told.seen_from(self.local));
            seen.map(|address| (address, group.tag))
        });
        Arc::new(TargetEntry {
            name: Arc::clone(&target.name),
            alias: target.alias.clone(),
            portal_group_tag: self.tag,
            // One number for both: it stays when other groups come and go, and reservations remember it.
            relative_port: self.tag,
            addresses: addresses.collect(),
            initiators: access.initiators.clone(),
            lets_in_network: access.lets_in_network(self.peer),
            served_here: access.serves_group(self.tag),
            whereabouts: target.whereabouts.clone(),
            auth: target.auth.clone(),
        })
    }
}

impl<S: Send + Sync> Catalog for PortalView<S> {
    fn target(&self, name: &str) -> Option<Arc<TargetEntry>> {
        let snapshot = self.snapshot.load();
        snapshot.target(name).map(|target| self.entry(&snapshot, target))
    }

    fn targets(&self) -> Vec<Arc<TargetEntry>> {
        let snapshot = self.snapshot.load();
        snapshot.targets.iter().map(|target| self.entry(&snapshot, target)).collect()
    }

    fn discovery_auth(&self) -> AuthPolicy {
        self.snapshot.load().discovery_auth.clone()
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
