//! The documents of a unit that several nodes serve: in the store that they share, changed by the owner alone.
//!
//! A node that takes a unit over sets all its documents anew ([`SharedDocuments::claim`]). From then on whatever the owner before it sets, however late, is set
//! after a version that is not the newest any more, and lost.

use crate::store::nonce;
use bytes::Bytes;
use glint_cluster_core::ownership::Epoch;
use glint_cluster_core::store::{
    Body, Directory, DocumentName, Documents, Found, Nonce, Outcome, State, StoreError,
};
use glint_target_core::lun::memory::{Document, MemoryError, Remembering, UnitMemory};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The epoch under which a version was set: for people who look.
const EPOCH: &str = "epoch";
/// The contents where they are text, as most are.
const TEXT: &str = "text";
/// The contents where they are not, as hexadecimal digits.
const HEX: &str = "hex";

/// The documents of one unit, as one owner in one epoch sees them.
pub struct SharedDocuments<D> {
    documents: Arc<Documents<D>>,
    unit: String,
    epoch: Epoch,
    /// What was set or claimed last. One change at a time.
    known: Mutex<HashMap<Document, Known>>,
}

/// What is known of a document.
struct Known {
    /// As it was set or claimed last.
    state: State,
    /// What this owner has set and had no answer for: it may arrive late.
    doubtful: Vec<Nonce>,
}

impl<D: Directory + 'static> SharedDocuments<D> {
    /// Takes the documents of the unit with this NAA designator over for an epoch. Once this has succeeded nobody of an earlier epoch changes any.
    pub async fn claim(
        documents: Arc<Documents<D>>,
        naa: [u8; 8],
        epoch: Epoch,
    ) -> Result<Self, MemoryError> {
        let unit = format!("{:016x}", u64::from_be_bytes(naa));
        let shared = Self { documents, unit, epoch, known: Mutex::default() };
        for document in Document::ALL {
            let name = shared.name(document)?;
            let old = shared.documents.read(&name).await.map_err(store_error)?;
            let contents = contents_of(&name, &old)?;
            shared.known.lock().await.insert(document, Known { state: old, doubtful: Vec::new() });
            shared.set(document, contents).await?;
        }
        Ok(shared)
    }

    fn name(&self, document: Document) -> Result<DocumentName, MemoryError> {
        let name = format!("unit-{}-{}", self.unit, document.name());
        DocumentName::new(name.as_str())
            .ok_or_else(|| MemoryError::Store(format!("{name} is no name of a document")))
    }

    /// Sets a document after the version that is known; `None` stands for "nothing was ever kept".
    async fn set(&self, document: Document, contents: Option<Bytes>) -> Result<(), MemoryError> {
        let name = self.name(document)?;
        let mut body = Body::new();
        body.insert(EPOCH.into(), self.epoch.0.into());
        if let Some(contents) = &contents {
            write(contents, &mut body);
        }
        let mut known = self.known.lock().await;
        let Known { state, doubtful } = known.get_mut(&document).ok_or_else(|| gone(&name))?;
        loop {
            let nonce = nonce().map_err(|error| MemoryError::Store(error.to_string()))?;
            let outcome = self.documents.compare_and_set(&name, state, body.clone(), nonce).await;
            let why = match outcome.map_err(store_error)? {
                Outcome::Won(new) => {
                    *state = new;
                    return Ok(());
                }
                Outcome::Lost | Outcome::Overtaken => None,
                Outcome::Unknown(why) => {
                    doubtful.push(nonce);
                    Some(why)
                }
            };
            let found = self.documents.read(&name).await.map_err(store_error)?;
            let is_own = found.nonce.is_some_and(|found| doubtful.contains(&found));
            if found == *state {
                return Err(MemoryError::Store(format!("{name}: {}", why.unwrap_or_default())));
            }
            if !is_own {
                known.remove(&document);
                return Err(gone(&name));
            }
            // It did arrive; or an earlier one of this owner's did, of which nobody knew.
            let is_this = found.nonce == Some(nonce);
            *state = found;
            if is_this {
                return Ok(());
            }
        }
    }
}

impl<D: Directory + 'static> UnitMemory for SharedDocuments<D> {
    fn recall(&self, document: Document) -> Remembering<'_, Option<Bytes>> {
        Box::pin(async move {
            let name = self.name(document)?;
            let known = self.known.lock().await;
            contents_of(&name, &known.get(&document).ok_or_else(|| gone(&name))?.state)
        })
    }

    fn keep(&self, document: Document, contents: Bytes) -> Remembering<'_, ()> {
        Box::pin(async move {
            self.set(document, Some(contents)).await.inspect_err(|error| {
                tracing::error!(unit = self.unit, %error, "what has to outlive the process could not be kept");
            })
        })
    }
}

fn store_error(error: StoreError) -> MemoryError {
    MemoryError::Store(error.to_string())
}

fn gone(name: &DocumentName) -> MemoryError {
    MemoryError::Store(format!("{name}: another node has taken it over"))
}

fn write(contents: &Bytes, body: &mut Body) {
    match std::str::from_utf8(contents) {
        Ok(text) => body.insert(TEXT.into(), text.into()),
        Err(_) => {
            let digits: String = contents.iter().map(|byte| format!("{byte:02x}")).collect();
            body.insert(HEX.into(), digits.into())
        }
    };
}

/// The contents; none where nothing was ever kept.
fn contents_of(name: &DocumentName, state: &State) -> Result<Option<Bytes>, MemoryError> {
    let damaged = |what: &str| MemoryError::Damaged(format!("{name}: {what}"));
    let body = match &state.found {
        Found::Nothing => return Ok(None),
        Found::Damaged(what) => return Err(damaged(what)),
        Found::Body(body) => body,
    };
    match (body.get(TEXT), body.get(HEX)) {
        (None, None) => Ok(None),
        (Some(Value::String(text)), None) => Ok(Some(Bytes::from(text.clone()))),
        (None, Some(Value::String(digits))) => {
            unhex(digits).map(Some).ok_or_else(|| damaged("its contents are no digits"))
        }
        _ => Err(damaged("it has no contents that could be read")),
    }
}

fn unhex(digits: &str) -> Option<Bytes> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
