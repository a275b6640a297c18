//! `[cluster]`: the nodes that serve the same volumes.

use super::device::DeviceSpec;
use super::endpoint::Endpoint;
use super::fault::{Findings, Place, Placed};
use super::flags::Flags;
use super::model::{LunConfig, TargetConfig};
use super::name::NodeId as NodeName;
use super::reader::{Section, Value};
use super::store::StoreUrl;
use super::targets::TargetDraft;
use glint_cluster_core::membership::NodeId;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;

/// Together with the time until a dead node is noticed it has to stay below the time after which initiators repeat a command elsewhere (A7 of
/// `docs/ownership.md`).
const HOLD: Duration = Duration::from_secs(7);
/// Most bytes of a label in a volume's name: `owner-`, the label and `_16383` have to fit the name of a document.
const MOST_LABEL: usize = 108;

/// This node among those that serve the same volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Its name among them, that of [`super::Node`].
    pub node: NodeId,
    /// What they agree on lies there.
    pub store: StoreUrl,
    /// Bound for the connections of other nodes. Port 0 lets the system pick one.
    pub internal: Endpoint,
    /// What other nodes are told, where it is not the bound address.
    pub internal_advertise: Option<Endpoint>,
    /// How long a command waits for an owner of its volume.
    pub hold: Duration,
}

/// The name of a volume in the store: the target's label, and `_N` where it is not LUN 0. What the name of a document can't have is written as `_a` for
/// `A` and `__` for `.`, and a label that is too long as `_0` and its SHA-256: so no two volumes have one name.
pub fn shared_name(target: &TargetConfig, lun: &LunConfig) -> String {
    let mut name = String::new();
    for letter in target.name.chars() {
        match letter {
            '.' => name.push_str("__"),
            'A'..='Z' => name.extend(['_', letter.to_ascii_lowercase()]),
            other => name.push(other),
        }
    }
    if name.len() > MOST_LABEL {
        name = "_0".to_owned();
        for byte in Sha256::digest(target.name.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
    }
    if lun.number != 0 {
        let _ = write!(name, "_{}", lun.number);
    }
    name
}

/// A setting as it was given: its place, and its value unless that had a fault.
type Given<T> = Option<(Place, Option<T>)>;

/// What was read of it.
#[derive(Debug)]
pub(super) struct ClusterDraft {
    /// That of `[cluster]`.
    section: Option<Place>,
    /// Where the node's name was given; it is the host's otherwise.
    node: Option<Place>,
    store: Given<StoreUrl>,
    internal: Given<Endpoint>,
    internal_advertise: Given<Endpoint>,
    hold: Duration,
}

impl Default for ClusterDraft {
    fn default() -> Self {
        Self { section: None, node: None, store: None, internal: None, internal_advertise: None, hold: HOLD }
    }
}

impl ClusterDraft {
    /// Takes what `[cluster]` says.
    pub(super) fn read(&mut self, mut section: Section<'_>) {
        fn given<T: Value>(section: &mut Section<'_>, key: &'static str) -> Given<T> {
            let value = section.value(key);
            section.has(key).then(|| (section.place_of(key), value))
        }
        self.section = Some(section.place());
        self.store = given(&mut section, "store");
        self.internal = given(&mut section, "internal");
        self.internal_advertise = given(&mut section, "internal_advertise");
        self.hold = section.bounded("hold", HOLD, Duration::from_secs(1)..=Duration::from_secs(60));
        section.finish();
    }

    /// The node's name was given there.
    pub(super) fn note_node(&mut self, place: Place) {
        self.node = Some(place);
    }

    /// Lets the flags win.
    pub(super) fn apply(&mut self, flags: &Flags, findings: &mut Findings) {
        fn given<T>(
            findings: &mut Findings,
            (flag, text): (&str, &Option<String>),
            read: impl Fn(&str) -> Result<T, String>,
        ) -> Given<T> {
            let text = text.as_ref()?;
            let place = Place::Flag(format!("{flag} {text}"));
            let value = read(text).map_err(|message| findings.fault(place.clone(), message));
            Some((place, value.ok()))
        }
        let endpoint = |text: &str| Endpoint::parse(text, None);
        let store = given(findings, ("--store", &flags.store), StoreUrl::from_str);
        let internal = given(findings, ("--internal", &flags.internal), endpoint);
        let advertise = given(findings, ("--internal-advertise", &flags.internal_advertise), endpoint);
        if internal.is_some() && advertise.is_none() {
            // What the file says of its own address would not be true of this one.
            self.internal_advertise = None;
        }
        self.store = store.or(self.store.take());
        self.internal = internal.or(self.internal.take());
        self.internal_advertise = advertise.or(self.internal_advertise.take());
    }

    /// What it is as a whole, if there is a cluster and no fault in it.
    pub(super) fn check(
        &self,
        node: &NodeName,
        targets: &[TargetDraft],
        findings: &mut Findings,
    ) -> Option<ClusterConfig> {
        let (store, internal) = match (&self.store, &self.internal) {
            (Some((_, store)), Some((place, internal))) => (store, (place, internal)),
            (None, None) if self.section.is_none() && self.internal_advertise.is_none() => return None,
            (Some(_), None) => {
                let message = "other nodes have to reach this one: add `internal` to [cluster], or --internal, such as 10.0.0.1:3261";
                return lacks(findings, self.place(), message);
            }
            _ => {
                let message = "nodes agree by a store that all of them reach: add `store` to [cluster], or --store, such as gluster://gluster1/vol1/glint/store";
                return lacks(findings, self.place(), message);
            }
        };
        let node = self.check_node(node, findings);
        let internal = self.check_internal(internal, findings);
        let store = store.clone()?;
        check_devices(&store, targets, findings);
        let advertise = self.internal_advertise.as_ref().and_then(|(_, value)| value.clone());
        Some(ClusterConfig {
            node: node?,
            store,
            internal: internal?,
            internal_advertise: advertise,
            hold: self.hold,
        })
    }

    fn place(&self) -> Place {
        let store = self.store.as_ref().map(|(place, _)| place);
        let internal = self.internal.as_ref().map(|(place, _)| place);
        let advertise = self.internal_advertise.as_ref().map(|(place, _)| place);
        let place = store.or(internal).or(self.section.as_ref()).or(advertise);
        place.cloned().unwrap_or(Place::File)
    }

    fn check_node(&self, node: &NodeName, findings: &mut Findings) -> Option<NodeId> {
        let Some(place) = &self.node else {
            let message = "other nodes have to know this one by a name that it keeps: add `id` to [node], or --node, such as n1";
            return lacks(findings, self.place(), message);
        };
        let known = NodeId::new(&**node);
        if known.is_none() {
            let message = format!(
                "{node:?} can't be the id of a node in a cluster, as files of the store are named after it: use up to 63 small letters, digits and '-'",
                node = &**node
            );
            findings.fault(place.clone(), message);
        }
        known
    }

    fn check_internal(
        &self,
        (place, internal): (&Place, &Option<Endpoint>),
        findings: &mut Findings,
    ) -> Option<Endpoint> {
        let internal = internal.as_ref()?;
        if let Some(fault) = internal.why_not_bound() {
            findings.fault(place.clone(), fault);
        }
        if internal.is_unspecified() && self.internal_advertise.is_none() {
            let message = format!(
                "other nodes can't connect to {internal}: add `internal_advertise` to [cluster], or --internal-advertise, with the address by which they reach this one"
            );
            findings.fault(place.clone(), message);
        }
        if let Some((place, Some(told))) = &self.internal_advertise
            && (told.port == 0 || told.is_unspecified())
        {
            findings.fault(place.clone(), format!("other nodes can't connect to {told}"));
        }
        Some(internal.clone())
    }
}

fn lacks<T>(findings: &mut Findings, place: Place, message: &str) -> Option<T> {
    findings.fault(place, message);
    None
}

/// All nodes have to find the same bytes.
fn check_devices(store: &StoreUrl, targets: &[TargetDraft], findings: &mut Findings) {
    for target in targets {
        let Placed { value: config, .. } = &target.target;
        for (lun, place) in config.luns.iter().zip(&target.lun_places) {
            let why = match (&lun.device, store) {
                (DeviceSpec::Ram, _) => "is the memory of one process",
                (DeviceSpec::File(_), StoreUrl::Gluster(_)) => "is of one machine, and the store is not",
                (DeviceSpec::File(_), StoreUrl::Local(_))
                | (DeviceSpec::Gluster(_) | DeviceSpec::Null, _) => continue,
            };
            let message = format!(
                "{} {why}: nodes that share volumes need devices that all of them reach, such as gluster://gluster1/vol1/blocks/{}.img",
                lun.device, config.name
            );
            findings.fault(place.clone(), message);
        }
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
