//! What makes this node one of several that serve the same volumes: `[cluster]`, and `--node`, `--store`, `--internal`.

use super::device::DeviceSpec;
use super::endpoint::{Endpoint, Host};
use super::fault::{Findings, Place, Placed};
use super::flags::Flags;
use super::model::{LunConfig, TargetConfig};
use super::name;
use super::reader::Section;
use super::store::StoreUrl;
use super::targets::TargetDraft;
use glint_cluster_core::membership::NodeId;
use glint_cluster_core::ownership::OwnerRecord;
use std::str::FromStr;
use std::time::Duration;

/// With the time until a node that lost its store is silent (4 s) and the age at which a forwarded command is refused (1 s) it makes 12 s: no more than
/// initiators wait (assumption A7 in `docs/ownership.md`).
const HOLD: Duration = Duration::from_secs(7);

/// What this node shares with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Its id among them.
    pub node: NodeId,
    /// Where they keep what they have to agree on.
    pub store: StoreUrl,
    /// Bound for connections of the other nodes; port 0 lets the system pick one.
    pub internal: Endpoint,
    /// What the other nodes are told instead of the bound address; always there when that is a wildcard.
    pub internal_advertise: Option<Endpoint>,
    /// How long a command waits for its volume to have an owner.
    pub hold: Duration,
}

/// The name of a unit among the nodes, the same on all that have its target under the same name: that of the target for LUN 0, with `_NUMBER` for the others.
/// Letters are lower case, as in names made from it and in the comparison of targets' names, and a dot is written `__`, so that it can be part of a document's name.
///
/// No two units of a configuration have the same: no target's name has `_` in it, an odd run of them ends in that of the number, and a number follows that.
pub fn shared_name(target: &TargetConfig, lun: &LunConfig) -> String {
    let name = target.name.to_lowercase().replace('.', "__");
    match lun.number {
        0 => name,
        number => format!("{name}_{number}"),
    }
}

/// What was given so far.
#[derive(Debug, Default)]
pub(super) struct ClusterDraft {
    /// Where `[cluster]` stands.
    section: Option<Place>,
    /// As `[node] id`, which may stand there without a cluster, or as `--node`.
    node: Option<Placed<name::NodeId>>,
    node_flag: bool,
    store: Option<Placed<StoreUrl>>,
    internal: Option<Placed<Endpoint>>,
    internal_advertise: Option<Placed<Endpoint>>,
    hold: Option<Duration>,
    /// Something of it could not be read, of which there is a fault: what is missing may be just that.
    is_broken: bool,
}

impl ClusterDraft {
    /// Reads the `id` of `[node]`.
    pub(super) fn read_node(&mut self, section: &mut Section<'_>) -> Option<name::NodeId> {
        self.node = section.placed("id");
        self.is_broken |= self.node.is_none() && section.has("id");
        self.node.as_ref().map(|node| node.value.clone())
    }

    /// Reads `[cluster]`.
    pub(super) fn read(&mut self, mut section: Section<'_>) {
        self.section = Some(section.place());
        self.store = section.placed("store");
        self.internal = section.placed("internal");
        self.internal_advertise = section.placed("internal_advertise");
        self.hold = Some(section.bounded("hold", HOLD, Duration::from_secs(1)..=Duration::from_secs(60)));
        self.is_broken |= (self.store.is_none() && section.has("store"))
            || (self.internal.is_none() && section.has("internal"))
            || (self.internal_advertise.is_none() && section.has("internal_advertise"));
        section.finish();
    }

    /// Lets the flags win.
    pub(super) fn apply(&mut self, flags: &Flags, findings: &mut Findings) {
        self.node_flag = flags.node.is_some();
        let broken = [
            flag(findings, "--node", flags.node.as_deref(), str::parse, &mut self.node),
            flag(findings, "--store", flags.store.as_deref(), StoreUrl::from_str, &mut self.store),
            flag(findings, "--internal", flags.internal.as_deref(), address, &mut self.internal),
            flag(
                findings,
                "--internal-advertise",
                flags.internal_advertise.as_deref(),
                address,
                &mut self.internal_advertise,
            ),
        ];
        self.is_broken |= broken.contains(&true);
    }

    /// The id that a flag gave to the node.
    pub(super) fn node_of_flag(&self) -> Option<&name::NodeId> {
        self.node.as_ref().filter(|_| self.node_flag).map(|node| &node.value)
    }

    /// The whole, where the node is one of several; what is wrong with it, or with a target that all are to serve, is noted.
    pub(super) fn finish(&self, targets: &[TargetDraft], findings: &mut Findings) -> Option<ClusterConfig> {
        let first = self.first_place()?;
        if self.is_broken {
            return None;
        }
        let node = match &self.node {
            Some(node) => Some(node_id(node, findings)),
            None => {
                let message = "a node of several needs a name that it keeps wherever it runs; add --node NAME, or `id` in [node]";
                findings.fault(first.clone(), message);
                None
            }
        };
        if self.store.is_none() {
            let message = "nodes that serve the same volumes agree in a store; add --store gluster://HOST/VOLUME/DIR (or a directory that all of them see), or `store` in [cluster]";
            findings.fault(first.clone(), message);
        }
        if self.internal.is_none() {
            let message = "the other nodes need an address to reach this one; add --internal HOST:PORT, or `internal` in [cluster]";
            findings.fault(first.clone(), message);
        }
        self.check_addresses(findings);
        let store = self.store.as_ref()?;
        targets.iter().for_each(|target| check_target(target, &store.value, findings));
        Some(ClusterConfig {
            node: node??,
            store: store.value.clone(),
            internal: self.internal.as_ref()?.value.clone(),
            internal_advertise: self.internal_advertise.as_ref().map(|address| address.value.clone()),
            hold: self.hold.unwrap_or(HOLD),
        })
    }

    /// Where it is said that the node is one of several; none where it is not.
    fn first_place(&self) -> Option<&Place> {
        let node = self.node.as_ref().filter(|_| self.node_flag).map(|node| &node.place);
        let store = self.store.as_ref().map(|store| &store.place);
        let internal = self.internal.as_ref().map(|internal| &internal.place);
        let advertise = self.internal_advertise.as_ref().map(|advertise| &advertise.place);
        self.section.as_ref().or(store).or(internal).or(advertise).or(node)
    }

    fn check_addresses(&self, findings: &mut Findings) {
        if let Some(internal) = &self.internal {
            if let Some(fault) = internal.value.why_not_bound() {
                findings.fault(internal.place.clone(), fault);
            }
            if internal.value.is_unspecified() && self.internal_advertise.is_none() {
                let message = format!(
                    "other nodes cannot connect to {}; say the address by which they reach this one: --internal-advertise HOST:PORT, or `internal_advertise` in [cluster]",
                    internal.value
                );
                findings.fault(internal.place.clone(), message);
            }
        }
        if let Some(Placed { value, place }) = &self.internal_advertise {
            if value.port == 0 || value.is_unspecified() {
                findings.fault(place.clone(), format!("other nodes cannot connect to {value}"));
            } else if matches!(value.host, Host::Zoned(..)) {
                findings.fault(place.clone(), format!("the zone in {value} means nothing to others"));
            }
        }
    }
}

fn address(text: &str) -> Result<Endpoint, String> {
    Endpoint::parse(text, None)
}

/// Puts the value of a flag where it wins. True where it could not be read.
fn flag<T>(
    findings: &mut Findings,
    name: &str,
    text: Option<&str>,
    read: fn(&str) -> Result<T, String>,
    into: &mut Option<Placed<T>>,
) -> bool {
    let Some(text) = text else { return false };
    let place = Place::Flag(format!("{name} {text}"));
    match read(text) {
        Ok(value) => {
            *into = Some(Placed { value, place });
            false
        }
        Err(message) => {
            findings.fault(place, message);
            true
        }
    }
}

fn node_id(node: &Placed<name::NodeId>, findings: &mut Findings) -> Option<NodeId> {
    let id = NodeId::new(node.value.to_string());
    if id.is_none() {
        let message = format!(
            "{:?} is no name for a node of several; use up to 63 lower-case letters, digits and '-', as for a host",
            &*node.value
        );
        findings.fault(node.place.clone(), message);
    }
    id
}

/// Each unit has to have a device that all nodes reach, and a name that fits into the store.
fn check_target(target: &TargetDraft, store: &StoreUrl, findings: &mut Findings) {
    let config = &target.target.value;
    for (lun, place) in config.luns.iter().zip(&target.lun_places) {
        match (&lun.device, store) {
            (DeviceSpec::Ram, _) => {
                let message = "ram: is memory of this process, which no other node sees; use gluster://HOST/VOLUME/PATH, or serve it from a glint without a store";
                findings.fault(place.clone(), message);
            }
            (DeviceSpec::File(_), StoreUrl::Gluster(_)) => {
                let message = format!(
                    "{} is a file of this machine, but nodes with a store on GlusterFS may run on others; put the file on GlusterFS, or use a store in a directory that all nodes see beside it",
                    lun.device
                );
                findings.fault(place.clone(), message);
            }
            (DeviceSpec::File(_) | DeviceSpec::Gluster(_) | DeviceSpec::Null, _) => {}
        }
        let name = shared_name(config, lun);
        if OwnerRecord::document(&name).is_none() {
            let message = format!(
                "the nodes would know it as {name:?}, of {} bytes, which does not fit into their store; give the target a shorter name",
                name.len()
            );
            findings.fault(place.clone(), message);
        }
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
