//! A node's entries in the store: its numbers and its record.

use crate::store::{Store, nonce};
use glint_cluster_core::membership::{BootId, NodeId, NodeRecord, Numbers, NumbersError, assign};
use glint_cluster_core::store::{Body, DocumentName, Documents, Found, Outcome, State, StoreError};
use std::time::Duration;

/// Others may change the same document at the same time.
const ATTEMPTS: usize = 20;
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Why an entry can't be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum RegistrationError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the document {0} is damaged: {1}; it tells which numbers are given, so nothing is guessed: restore it from a backup of the store"
    )]
    Damaged(DocumentName, String),
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    #[error("others changed the document {0} each time; try again")]
    Contended(DocumentName),
    #[error("{0:?} is no name of a document")]
    Name(String),
    #[error("no random numbers: {0}")]
    Random(String),
    #[error("another process has started under the name of this node")]
    Replaced,
}

/// The numbers of a node with these portal group tags; those that are new are given.
pub async fn numbers(
    documents: &Documents<Store>,
    node: &NodeId,
    tags: &[u16],
) -> Result<Numbers, RegistrationError> {
    let name = document("numbers")?;
    for _ in 0..ATTEMPTS {
        let state = documents.read(&name).await?;
        let body = match &state.found {
            Found::Body(body) => body.clone(),
            Found::Nothing => Body::new(),
            Found::Damaged(what) => return Err(RegistrationError::Damaged(name, what.clone())),
        };
        let (numbers, changed) = assign(&body, node, tags)?;
        let Some(changed) = changed else { return Ok(numbers) };
        if is_set(documents, &name, &state, changed).await? {
            return Ok(numbers);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(RegistrationError::Contended(name))
}

/// Sets the record of a node. `own`: the start of it whose record it has to be still; whatever is there is replaced otherwise.
pub async fn register(
    documents: &Documents<Store>,
    node: &NodeId,
    record: &NodeRecord,
    own: Option<BootId>,
) -> Result<(), RegistrationError> {
    let name = node.document().ok_or_else(|| RegistrationError::Name(node.to_string()))?;
    for _ in 0..ATTEMPTS {
        let state = documents.read(&name).await?;
        let mut body = match &state.found {
            Found::Body(body) => body.clone(),
            // What it ought to be is known here.
            Found::Nothing | Found::Damaged(_) => Body::new(),
        };
        if let (Some(own), Ok(there)) = (own, NodeRecord::read(&body))
            && there.boot != own
        {
            return Err(RegistrationError::Replaced);
        }
        record.write(&mut body);
        if matches!(&state.found, Found::Body(there) if *there == body) {
            return Ok(());
        }
        if is_set(documents, &name, &state, body).await? {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(RegistrationError::Contended(name))
}

fn document(name: &str) -> Result<DocumentName, RegistrationError> {
    DocumentName::new(name).ok_or_else(|| RegistrationError::Name(name.to_owned()))
}

async fn is_set(
    documents: &Documents<Store>,
    name: &DocumentName,
    old: &State,
    body: Body,
) -> Result<bool, RegistrationError> {
    let nonce = nonce().map_err(|error| RegistrationError::Random(error.to_string()))?;
    let outcome = documents.compare_and_set(name, old, body, nonce).await?;
    // What is in doubt is read again.
    Ok(matches!(outcome, Outcome::Won(_)))
}
