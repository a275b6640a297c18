//! Moving a volume by hand: a wish is written, and its owner, or the node that is to have it, is waited for.

use super::survey::owner;
use super::{Admin, AdminError, Read, nodes, told, volumes};
use crate::store::nonce;
use glint_cluster_core::membership::{Incarnation, Judgement, NodeId};
use glint_cluster_core::ownership::{Holder, OwnerRecord, Seen, Wish};
use glint_cluster_core::store::{Body, Directory, DocumentName, Found, Outcome};
use std::time::{Duration, Instant};

/// How often the owner record is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How often others may get in the way of a wish.
const ATTEMPTS: usize = 4;

/// How a move ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// What the owner record says now.
    pub seen: Seen,
    /// The node that had it before, if one had.
    pub from: Option<NodeId>,
    /// It was there already.
    pub was_there: bool,
    /// From the wish to the new owner record.
    pub took: Duration,
}

/// Why a volume was not moved, or not seen to be.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The store tells nothing.
    #[error(transparent)]
    Store(#[from] AdminError),
    /// A document of the store cannot be read or written.
    #[error("{0}: {1}; nothing was moved")]
    Document(DocumentName, String),
    /// There is no such volume.
    #[error(
        "no volume {name:?} in the store; there {}. One that no initiator has used yet is not in it",
        listed("is none", "are", known)
    )]
    NoVolume {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is no such node.
    #[error("no node {name} in the store; there {}", listed("is none", "are", known))]
    NoNode {
        /// What was asked for.
        name: NodeId,
        /// What there is.
        known: Vec<String>,
    },
    /// It has gone on purpose.
    #[error("node {0} has left; start it again, or choose another (`glint nodes`)")]
    NodeLeft(NodeId),
    /// Its heartbeat stays as it is.
    #[error(
        "node {0} is dead: its heartbeat does not change; start it again, or choose another (`glint nodes`)"
    )]
    NodeDead(NodeId),
    /// Its heartbeat cannot be read.
    #[error(
        "cannot tell whether node {0} is alive: its heartbeat cannot be read; try again, or look at the store"
    )]
    NodeUnknown(NodeId),
    /// The owner record is not what was written.
    #[error(
        "the owner record of {0} is damaged; the nodes repair it within seconds once a command comes for the volume: try again then"
    )]
    VolumeDamaged(String),
    /// Others wish something else at the same time.
    #[error("somebody else is moving {volume} to {to} at the same time; nothing was done here")]
    Rival {
        /// The volume.
        volume: String,
        /// Where the other wants it.
        to: NodeId,
    },
    /// It did not happen in time. It may still.
    #[error("{volume} is not at {to} after {patience:?}: {now}. It may still come: see `glint nodes`, and the logs of {to} and of the owner for what is in the way{}", error.as_ref().map_or_else(String::new, |error| format!(" (the store: {error})")))]
    Late {
        /// The volume.
        volume: String,
        /// Where it is to go.
        to: NodeId,
        /// How long was waited.
        patience: Duration,
        /// What the owner record said last.
        now: String,
        /// Why the record could not be read the last time.
        error: Option<String>,
    },
}

fn listed(none: &str, some: &str, names: &[String]) -> String {
    match names {
        [] => none.to_owned(),
        names => format!("{some}: {}", names.join(", ")),
    }
}

/// What an owner record says, as a sentence about the volume.
fn holding(seen: &Seen) -> String {
    let epoch = seen.epoch.0;
    match &seen.record.holder {
        Holder::Nobody => "nobody has it".into(),
        Holder::Owned(owner) => format!("{} has it (epoch {epoch})", owner.node),
        Holder::Released(None) => format!("it was released to whoever wants it (epoch {epoch})"),
        Holder::Released(Some(to)) => format!("it was released to {to} (epoch {epoch})"),
        Holder::Damaged => format!("its owner record is damaged (epoch {epoch})"),
    }
}

impl<D: Directory> Admin<D> {
    /// Has a volume moved to a node, and waits until the owner record names that. `tell` hears of each step.
    ///
    /// # Errors
    /// [`MoveError`]. But for [`MoveError::Late`], nothing was done.
    pub async fn move_volume(
        &self,
        volume: &str,
        to: &NodeId,
        patience: Duration,
        mut tell: impl FnMut(&str),
    ) -> Result<Moved, MoveError> {
        let names = self.names().await?;
        let known = || volumes(&names).map(str::to_owned).collect();
        let no_volume = || MoveError::NoVolume { name: volume.to_owned(), known: known() };
        let document = OwnerRecord::document(volume).ok_or_else(no_volume)?;
        let first = self.seen(&document).await?;
        match first.record.holder {
            Holder::Nobody => return Err(no_volume()),
            Holder::Damaged => return Err(MoveError::VolumeDamaged(volume.to_owned())),
            Holder::Owned(_) | Holder::Released(_) => {}
        }
        let target = self.living(to, &names).await?;
        let begun = Instant::now();
        let from = owner(&first.record).map(|owner| owner.node.clone());
        let moved = |seen, was_there| Moved { seen, from: from.clone(), was_there, took: begun.elapsed() };
        if owner(&first.record) == Some(&target) {
            return Ok(moved(first, true));
        }
        tell(&holding(&first));
        self.wish_for(volume, &first, to).await?;
        tell(&format!("asked for it to go to {to}"));
        let (mut wished, mut last, mut error) = (first.epoch, first.clone(), None);
        while begun.elapsed() < patience {
            tokio::time::sleep(LOOK.min(patience)).await;
            let seen = match self.owner(&document).await {
                Ok(seen) => seen,
                // The nodes may reach the store although this one does not, for a while.
                Err(failed) => {
                    error = Some(told(&failed));
                    continue;
                }
            };
            error = None;
            if seen.epoch != last.epoch {
                tell(&holding(&seen));
            }
            last = seen.clone();
            match &seen.record.holder {
                // Its former process, where it was that at first, does not count.
                Holder::Owned(owner) if owner.node == *to && seen.epoch != first.epoch => {
                    return Ok(moved(seen, false));
                }
                // On its way.
                Holder::Released(Some(next)) if next == to => {}
                Holder::Damaged => {}
                // It went elsewhere in between, so the wish is void. It is still wanted.
                _ if seen.epoch != wished => {
                    self.wish_for(volume, &seen, to).await?;
                    wished = seen.epoch;
                }
                _ => {}
            }
        }
        Err(MoveError::Late {
            volume: volume.to_owned(),
            to: to.clone(),
            patience,
            now: holding(&last),
            error,
        })
    }

    async fn seen(&self, document: &DocumentName) -> Result<Seen, MoveError> {
        self.owner(document).await.map_err(|error| MoveError::Document(document.clone(), told(&error)))
    }

    /// The process that the node has now, which lives.
    async fn living(&self, node: &NodeId, names: &[DocumentName]) -> Result<Incarnation, MoveError> {
        let no_node = || MoveError::NoNode {
            name: node.clone(),
            known: nodes(names).map(|node| node.to_string()).collect(),
        };
        let document = node.document().ok_or_else(no_node)?;
        let record = match self.node(&document).await {
            Read::Nothing => return Err(no_node()),
            Read::Is(record) => record,
            Read::Damaged(why) => return Err(MoveError::Document(document, format!("damaged: {why}"))),
            Read::Unreadable(why) => return Err(MoveError::Document(document, why)),
        };
        if record.left {
            return Err(MoveError::NodeLeft(node.clone()));
        }
        let incarnation = Incarnation { node: node.clone(), boot: record.boot };
        match self.judge([incarnation.clone()]).await.get(&incarnation) {
            Some(Judgement::Alive) => Ok(incarnation),
            Some(Judgement::Dead) => Err(MoveError::NodeDead(node.clone())),
            Some(Judgement::Unknown) | None => Err(MoveError::NodeUnknown(node.clone())),
        }
    }

    /// Writes the wish about the volume as it was seen.
    async fn wish_for(&self, volume: &str, seen: &Seen, to: &NodeId) -> Result<(), MoveError> {
        let wish = Wish { epoch: seen.epoch, to: to.clone() };
        let document = Wish::document(volume)
            .ok_or_else(|| MoveError::NoVolume { name: volume.to_owned(), known: Vec::new() })?;
        let failed = |why: String| MoveError::Document(document.clone(), why);
        let mut doubt = "others change it all the time".to_owned();
        let mut began_at = None;
        for _ in 0..ATTEMPTS {
            let state = self.documents.read(&document).await.map_err(|error| failed(told(&error)))?;
            let mut body = match &state.found {
                Found::Body(body) => body.clone(),
                // What is damaged is of no use to anybody: a wish counts once.
                Found::Nothing | Found::Damaged(_) => Body::new(),
            };
            match Wish::read(&body) {
                Ok(found) if found == wish => return Ok(()),
                // Set since this began, about the same epoch: two people at once. An older one is replaced.
                Ok(Wish { epoch, to })
                    if epoch == wish.epoch && began_at.is_some_and(|at| at != state.version) =>
                {
                    return Err(MoveError::Rival { volume: volume.to_owned(), to });
                }
                _ => {}
            }
            began_at = began_at.or(Some(state.version));
            wish.write(&mut body);
            let nonce = nonce().map_err(|error| failed(error.to_string()))?;
            match self.documents.compare_and_set(&document, &state, body, nonce).await {
                Ok(Outcome::Won(_)) => return Ok(()),
                Ok(Outcome::Lost | Outcome::Overtaken) => {}
                Ok(Outcome::Unknown(why)) => doubt = why,
                Err(error) => return Err(failed(told(&error))),
            }
        }
        Err(failed(doubt))
    }
}
