//! What is served, as one immutable snapshot, and the view of it that a connection has through its portal.

use crate::telemetry::VolumeMetrics;
use arc_swap::ArcSwap;
use glint_target_core::login::catalog::{AuthPolicy, Catalog, InitiatorList, TargetEntry};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A target with the device behind it. The device outlives changes of the rest.
pub struct ServedTarget<S> {
    /// iSCSI name.
    pub name: Arc<str>,
    /// TargetAlias.
    pub alias: Option<Arc<str>>,
    /// Who may log in.
    pub initiators: InitiatorList,
    /// What they have to prove.
    pub auth: AuthPolicy,
    /// What runs its commands.
    pub device: Arc<ServedDevice<S>>,
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
    /// RELATIVE TARGET PORT IDENTIFIER of the target ports that these portals make, from 1.
    pub relative_port: u16,
    /// What initiators are told.
    pub addresses: Vec<PortalAddress>,
}

/// An address as SendTargets tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortalAddress {
    /// This one: `host:port`, IPv6 in brackets.
    Fixed(String),
    /// The address by which the asking connection came in, with the port of this wildcard address.
    Local(SocketAddr),
}

impl PortalAddress {
    /// How an initiator that reached us at `local` is told of it; none when it cannot reach it in that address family.
    fn seen_from(&self, local: SocketAddr) -> Option<String> {
        match self {
            PortalAddress::Fixed(address) => Some(address.clone()),
            PortalAddress::Local(bound) => {
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
    /// Our end of the connection.
    pub(super) local: SocketAddr,
}

impl<S> PortalView<S> {
    fn entry(&self, snapshot: &Snapshot<S>, target: &ServedTarget<S>) -> Arc<TargetEntry> {
        let groups = &snapshot.portal_groups;
        let addresses = groups.iter().flat_map(|group| {
            let seen = group.addresses.iter().filter_map(|address| address.seen_from(self.local));
            seen.map(|address| (address, group.tag))
        });
        let mine = groups.iter().find(|group| group.tag == self.tag);
        Arc::new(TargetEntry {
            name: Arc::clone(&target.name),
            alias: target.alias.clone(),
            portal_group_tag: self.tag,
            relative_port: mine.map_or(1, |group| group.relative_port),
            addresses: addresses.collect(),
            initiators: target.initiators.clone(),
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
