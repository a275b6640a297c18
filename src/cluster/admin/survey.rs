//! All nodes and volumes of a store.

use super::{Admin, AdminError, Read, nodes, told, volumes};
use glint_cluster_core::membership::{Incarnation, Judgement, NodeId, NodeRecord, Numbers, assign};
use glint_cluster_core::ownership::{Epoch, Holder, OwnerRecord, Seen, Wish};
use glint_cluster_core::store::{Body, Directory, DocumentName, Found};
use std::collections::BTreeMap;

/// What there is in a store. What could not be read is in it as such; the rest is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// By their names.
    pub nodes: Vec<NodeReport>,
    /// By their names. A volume that nobody ever used is not known to the store.
    pub volumes: Vec<VolumeReport>,
    /// What is wrong with what belongs to no single one of them.
    pub faults: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Its name.
    pub id: NodeId,
    /// Whether it lives.
    pub state: NodeState,
    /// What it tells about itself, where that could be read.
    pub record: Option<NodeRecord>,
    /// Its relative target port identifiers, by target portal group tag.
    pub ports: BTreeMap<u16, u16>,
    /// Why its record could not be read.
    pub fault: Option<String>,
}

/// Whether a node lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its heartbeat changes.
    Alive,
    /// Its heartbeat stays as it is.
    Dead,
    /// It has gone on purpose.
    Left,
    /// Its heartbeat could not be read.
    Unknown,
    /// Its record is not what was written.
    Damaged,
    /// Its record could not be read, or a newer glint wrote it.
    Unreadable,
}

impl NodeState {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Dead => "dead",
            Self::Left => "left",
            Self::Unknown => "unknown",
            Self::Damaged => "damaged",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeReport {
    /// Its name among the nodes.
    pub name: String,
    /// Who has it.
    pub state: VolumeState,
    /// The epoch and what the owner record says, where that could be read.
    pub seen: Option<Seen>,
    /// Where a person wants it to be, if that has yet to be done.
    pub wish: Option<NodeId>,
    /// Why its record could not be read.
    pub fault: Option<String>,
}

/// Who has a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeState {
    /// A living process.
    Owned,
    /// A process that does not live any more: the next command moves the volume.
    OwnerDead,
    /// A process of which it could not be told whether it lives.
    OwnerUnknown,
    /// Its owner has let go of it; the next command, or the node that it was released to, takes it.
    Released,
    /// Nobody ever had it.
    Nobody,
    /// Its owner record is not what was written; the nodes repair that.
    Damaged,
    /// Its owner record could not be read, or a newer glint wrote it.
    Unreadable,
}

impl VolumeState {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::OwnerDead => "owner-dead",
            Self::OwnerUnknown => "owner-unknown",
            Self::Released => "released",
            Self::Nobody => "nobody",
            Self::Damaged => "damaged",
            Self::Unreadable => "unreadable",
        }
    }
}

impl VolumeReport {
    /// The incarnation that the record names as the owner, dead or alive.
    pub fn owner(&self) -> Option<&Incarnation> {
        self.seen.as_ref().and_then(|seen| owner(&seen.record))
    }
}

pub(super) fn owner(record: &OwnerRecord) -> Option<&Incarnation> {
    match &record.holder {
        Holder::Owned(owner) => Some(owner),
        Holder::Nobody | Holder::Released(_) | Holder::Damaged => None,
    }
}

impl<D: Directory> Admin<D> {
    /// Reads all of it, and watches heartbeats for as long as it takes to tell the living from the dead (`Timing::dead` at most, where the store answers).
    ///
    /// # Errors
    /// [`AdminError::List`] where the store does not tell what is in it.
    pub async fn survey(&self) -> Result<Survey, AdminError> {
        let names = self.names().await?;
        let mut faults = Vec::new();
        let numbers = self.numbers(&mut faults).await;
        let mut nodes = self.nodes(&names, &numbers, &mut faults).await;
        let mut volumes = self.volumes(&names, &mut faults).await;
        let latest = nodes.iter().filter_map(|node| Some((node, node.record.as_ref()?)));
        let latest = latest
            .filter(|(_, record)| !record.left)
            .map(|(node, record)| Incarnation { node: node.id.clone(), boot: record.boot });
        let owners = volumes.iter().filter_map(|volume| volume.owner().cloned());
        let lives = self.judge(latest.chain(owners).collect::<Vec<_>>()).await;
        let judgement =
            |incarnation: &Incarnation| lives.get(incarnation).copied().unwrap_or(Judgement::Unknown);
        for node in &mut nodes {
            if let (NodeState::Unknown, Some(record)) = (node.state, &node.record) {
                node.state = match judgement(&Incarnation { node: node.id.clone(), boot: record.boot }) {
                    Judgement::Alive => NodeState::Alive,
                    Judgement::Dead => NodeState::Dead,
                    Judgement::Unknown => NodeState::Unknown,
                };
            }
        }
        for volume in &mut volumes {
            let judged = volume.owner().map(&judgement);
            volume.state = match judged {
                None => volume.state,
                Some(Judgement::Alive) => VolumeState::Owned,
                Some(Judgement::Dead) => VolumeState::OwnerDead,
                Some(Judgement::Unknown) => VolumeState::OwnerUnknown,
            };
        }
        Ok(Survey { nodes, volumes, faults })
    }

    async fn numbers(&self, faults: &mut Vec<String>) -> Body {
        let Some(document) = DocumentName::new("numbers") else { return Body::new() };
        match self.documents.read(&document).await.map(|state| state.found) {
            Ok(Found::Nothing) => Body::new(),
            Ok(Found::Body(body)) => body,
            Ok(Found::Damaged(what)) => {
                faults.push(format!("{document} is damaged: {what}"));
                Body::new()
            }
            Err(error) => {
                faults.push(format!("{document} cannot be read: {}", told(&error)));
                Body::new()
            }
        }
    }

    async fn nodes(
        &self,
        names: &[DocumentName],
        numbers: &Body,
        faults: &mut Vec<String>,
    ) -> Vec<NodeReport> {
        let mut reports = Vec::new();
        for id in nodes(names) {
            let Some(document) = id.document() else { continue };
            let (state, record, fault) = match self.node(&document).await {
                Read::Nothing => continue,
                Read::Is(record) if record.left => (NodeState::Left, Some(record), None),
                Read::Is(record) => (NodeState::Unknown, Some(record), None),
                Read::Damaged(what) => (NodeState::Damaged, None, Some(what)),
                Read::Unreadable(why) => (NodeState::Unreadable, None, Some(why)),
            };
            let ports = match assign(numbers, &id, &[]) {
                // New ones would be a guess at what it will be given.
                Ok((Numbers { ports, .. }, None)) => ports,
                Ok((_, Some(_))) => BTreeMap::new(),
                Err(error) => {
                    faults.push(format!("numbers: {error}"));
                    BTreeMap::new()
                }
            };
            reports.push(NodeReport { id, state, record, ports, fault });
        }
        faults.dedup();
        reports
    }

    async fn volumes(&self, names: &[DocumentName], faults: &mut Vec<String>) -> Vec<VolumeReport> {
        let mut reports = Vec::new();
        for name in volumes(names) {
            let Some(document) = OwnerRecord::document(name) else { continue };
            let (state, seen, fault) = match self.owner(&document).await {
                Ok(seen) => match &seen.record.holder {
                    Holder::Nobody => (VolumeState::Nobody, Some(seen), None),
                    Holder::Owned(_) => (VolumeState::OwnerUnknown, Some(seen), None),
                    Holder::Released(_) => (VolumeState::Released, Some(seen), None),
                    Holder::Damaged => (VolumeState::Damaged, Some(seen), None),
                },
                Err(error) => (VolumeState::Unreadable, None, Some(told(&error))),
            };
            let wish = match &seen {
                Some(seen) => self.wish(name, seen.epoch, faults).await,
                None => None,
            };
            reports.push(VolumeReport { name: name.to_owned(), state, seen, wish, fault });
        }
        reports
    }

    async fn wish(&self, volume: &str, epoch: Epoch, faults: &mut Vec<String>) -> Option<NodeId> {
        let document = Wish::document(volume)?;
        let why = match self.documents.read(&document).await.map(|state| state.found) {
            Ok(Found::Nothing) => return None,
            Ok(Found::Body(body)) => match Wish::read(&body) {
                Ok(wish) => return wish.as_of(epoch).cloned(),
                Err(error) => error.to_string(),
            },
            Ok(Found::Damaged(what)) => what,
            Err(error) => told(&error),
        };
        faults.push(format!("{document}: {why}"));
        None
    }
}
