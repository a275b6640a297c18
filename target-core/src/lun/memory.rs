//! What a logical unit remembers when the process ends: small documents, each replaced as a whole.

use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

/// The documents of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Document {
    /// Registrations and the persistent reservation (APTPL).
    Reservations,
    /// Saved mode parameters.
    ModeParameters,
    /// What SET IDENTIFYING INFORMATION has set.
    IdentifyingInformation,
    /// Formatting or sanitizing that is under way or has failed; empty when there is none.
    MediumCondition,
}

impl Document {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Reservations, Self::ModeParameters, Self::IdentifyingInformation, Self::MediumCondition];

    /// A short name, fit for a file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reservations => "reservations",
            Self::ModeParameters => "mode-parameters",
            Self::IdentifyingInformation => "identifying-information",
            Self::MediumCondition => "medium-condition",
        }
    }
}

/// Why a document could not be read or kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Its store could not be reached, or refused.
    #[error("{0}")]
    Store(String),
    /// It is there, and it is not what was written.
    #[error("the document is damaged: {0}")]
    Damaged(String),
}

/// The answer of a [`UnitMemory`].
pub type Remembering<'a, T> = Pin<Box<dyn Future<Output = Result<T, MemoryError>> + Send + 'a>>;

/// Keeps the documents of one unit.
pub trait UnitMemory: Send + Sync + 'static {
    /// A document as it was kept last; none where nothing was kept.
    fn recall(&self, document: Document) -> Remembering<'_, Option<Bytes>>;

    /// Replaces a document. When this is ready with success, the new contents outlive a crash of the process and of the host; after a
    /// failure either the old or the new ones are there, whole.
    fn keep(&self, document: Document, contents: Bytes) -> Remembering<'_, ()>;
}

/// Why a document could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKept {
    /// What happened.
    pub error: MemoryError,
    /// The old contents could not be put back either: nobody knows which are there.
    pub in_doubt: bool,
}

/// Replaces a document. Where that fails the old contents are put back, for the next start must not find what was refused.
pub async fn replace(
    memory: &dyn UnitMemory,
    document: Document,
    new: Bytes,
    old: impl FnOnce() -> Bytes,
) -> Result<(), NotKept> {
    let Err(error) = memory.keep(document, new).await else { return Ok(()) };
    let old = old();
    let is_back = memory.keep(document, old.clone()).await.is_ok()
        || memory.recall(document).await.is_ok_and(|found| found.unwrap_or_default() == old);
    Err(NotKept { error, in_doubt: !is_back })
}
