//! What people ask of a cluster from outside of it, through its store: who lives and who owns what, and to move a volume. No node is asked, so it also tells
//! what is to be told when none answers.

mod life;
mod moving;
mod survey;

pub use moving::{MoveError, Moved};
pub use survey::{NodeReport, NodeState, Survey, VolumeReport, VolumeState};

use crate::config::StoreUrl;
use crate::store::{Store, StoreOpenError};
use glint_cluster_core::membership::{NodeId, NodeRecord, Timing};
use glint_cluster_core::ownership::{OwnerRecord, Seen};
use glint_cluster_core::store::{
    self as documents, Directory, DirectoryError, DocumentName, Documents, Found, StoreError,
};
use std::time::Duration;

/// How long a call to the store may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long it may take to come to the store.
const OPENING: Duration = Duration::from_secs(40);

/// Why the store tells nothing at all.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// It could not be opened.
    #[error(
        "cannot reach the store {0}: {1}; give the URL that the nodes have, from where it can be reached"
    )]
    Open(StoreUrl, StoreOpenError),
    /// It did not come in time.
    #[error("cannot reach the store {0}: no answer within {patience:?}; is its host up?", patience = OPENING)]
    Silent(StoreUrl),
    /// There is no such directory. The nodes make it; one that looks does not.
    #[error(
        "there is no store {0}: no such directory; give the URL that the nodes have, from where it can be reached"
    )]
    NoDirectory(StoreUrl),
    /// It did not tell what is in it.
    #[error("cannot read the store: {0}; is its volume up, and may this user read it?")]
    List(#[from] DirectoryError),
}

/// A cluster as seen through its store.
pub struct Admin<D> {
    documents: Documents<D>,
    timing: Timing,
}

impl Admin<Store> {
    /// Comes to the store.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn open(url: &StoreUrl) -> Result<Self, AdminError> {
        if let StoreUrl::Local(path) = url
            && !path.is_dir()
        {
            return Err(AdminError::NoDirectory(url.clone()));
        }
        match tokio::time::timeout(OPENING, Store::open(url, DEADLINE)).await {
            Ok(Ok(store)) => Ok(Self::new(store, Timing::default())),
            Ok(Err(error)) => Err(AdminError::Open(url.clone(), error)),
            Err(_) => Err(AdminError::Silent(url.clone())),
        }
    }
}

/// What a document says, or why that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Read<T> {
    /// There is none.
    Nothing,
    /// This.
    Is(T),
    /// Not what was written.
    Damaged(String),
    /// It could not be read, or a newer glint wrote it.
    Unreadable(String),
}

impl<D: Directory> Admin<D> {
    /// Looks through this directory, at nodes with these times.
    pub fn new(directory: D, timing: Timing) -> Self {
        Self { documents: Documents::new(directory, documents::Timing::default()), timing }
    }

    /// The documents that there are.
    async fn names(&self) -> Result<Vec<DocumentName>, AdminError> {
        Ok(self.documents.survey().await?.documents().cloned().collect())
    }

    async fn node(&self, document: &DocumentName) -> Read<NodeRecord> {
        match self.documents.read(document).await.map(|state| state.found) {
            Ok(Found::Nothing) => Read::Nothing,
            Ok(Found::Damaged(what)) => Read::Damaged(what),
            Ok(Found::Body(body)) => match NodeRecord::read(&body) {
                Ok(record) => Read::Is(record),
                Err(error) => Read::Damaged(error.to_string()),
            },
            Err(error) => Read::Unreadable(told(&error)),
        }
    }

    async fn owner(&self, document: &DocumentName) -> Result<Seen, StoreError> {
        self.documents.read(document).await.map(|state| Seen::of(&state))
    }
}

/// The error without the name of the document, which stands beside it.
fn told(error: &StoreError) -> String {
    match error {
        StoreError::Directory { error, .. } => error.to_string(),
        StoreError::Busy(_) => "it changes too fast to be read".into(),
        StoreError::Unfit(_, why) => why.clone(),
    }
}

/// The nodes that have a record among these documents.
fn nodes(documents: &[DocumentName]) -> impl Iterator<Item = NodeId> {
    documents.iter().filter_map(|document| NodeId::new(document.as_str().strip_prefix("node-")?))
}

/// The volumes that have an owner record among these documents.
fn volumes(documents: &[DocumentName]) -> impl Iterator<Item = &str> {
    documents.iter().filter_map(OwnerRecord::volume)
}

#[cfg(test)]
mod tests;
