//! Looking at the store: one listing for all documents that are watched, and a reading of each that has changed.

use super::{Engine, Event};
use futures_util::StreamExt;
use futures_util::stream;
use glint_cluster_core::membership::NodeRecord;
use glint_cluster_core::ownership::{Input, Seen, Wish};
use glint_cluster_core::store::{Body, Directory, DocumentName, Documents, Found, State, StoreError, Survey};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The store is looked at so often, also when no volume asks for it: for nodes that come and go, and for wishes.
const PAUSE: Duration = Duration::from_millis(500);
/// Documents that are read at a time.
const READS: usize = 16;

/// What a look has found.
pub struct Looked {
    /// Documents that have changed, and those that could not be read.
    changed: Vec<(DocumentName, Result<State, StoreError>)>,
    /// All names, so that what has gone is forgotten.
    survey: Survey,
}

/// Whether a document is watched.
fn is_watched(document: &DocumentName) -> bool {
    let name = document.as_str();
    ["owner-", "node-", "wish-"].iter().any(|kind| name.starts_with(kind)) || name == "numbers"
}

async fn look<D: Directory>(
    documents: Arc<Documents<D>>,
    known: HashMap<DocumentName, u64>,
    wanted: HashSet<DocumentName>,
) -> Result<Looked, String> {
    let survey = documents.survey().await.map_err(|error| error.to_string())?;
    let listed: HashSet<_> = survey.documents().filter(|document| is_watched(document)).cloned().collect();
    let has_changed = |document: &DocumentName| known.get(document) != Some(&survey.version(document));
    let stale: Vec<_> = wanted.union(&listed).filter(|document| has_changed(document)).cloned().collect();
    let read = |document: DocumentName| {
        let (documents, survey) = (&documents, &survey);
        async move {
            let state = documents.read_surveyed(survey, &document).await;
            (document, state)
        }
    };
    let changed = stream::iter(stale).map(read).buffer_unordered(READS).collect().await;
    Ok(Looked { changed, survey })
}

impl Engine {
    /// Begins a look, if one is due and none is under way.
    pub(super) fn look(&mut self, now: Instant) {
        let asks = self.volumes.values().any(|volume| !volume.reading.is_empty());
        if self.is_looking || (!asks && now < self.look_due) {
            return;
        }
        self.is_looking = true;
        self.look_due = now + PAUSE;
        for volume in self.volumes.values_mut() {
            let asked = std::mem::take(&mut volume.reading);
            volume.being_read.extend(asked);
        }
        let known = self.cache.iter().map(|(document, state)| (document.clone(), state.version)).collect();
        let wanted = self.volumes.values().map(|volume| volume.document.clone()).collect();
        let documents = Arc::clone(&self.parts.documents);
        self.spawn(async move { Event::Looked(look(documents, known, wanted).await) });
    }

    pub(super) fn looked(&mut self, now: Instant, looked: Result<Looked, String>) {
        self.is_looking = false;
        let mut unread = HashSet::new();
        let has_looked = match looked {
            Ok(looked) => {
                self.take_changes(now, looked, &mut unread);
                true
            }
            Err(error) => {
                tracing::debug!(error, "the store could not be looked at");
                false
            }
        };
        for name in self.names() {
            let Some(volume) = self.volumes.get_mut(&name) else { continue };
            let asked = std::mem::take(&mut volume.being_read);
            let is_read = has_looked && !unread.contains(&volume.document);
            let seen = self.cache.get(&volume.document).filter(|_| is_read).map(Seen::of);
            for ticket in asked {
                self.drive(&name, Input::Read(ticket, seen.clone()));
            }
        }
        self.heed_wishes();
    }

    fn take_changes(&mut self, now: Instant, looked: Looked, unread: &mut HashSet<DocumentName>) {
        let Looked { changed, survey } = looked;
        let mut is_membership_new = false;
        for (document, state) in changed {
            match state {
                Ok(state) => {
                    if let Found::Damaged(what) = &state.found {
                        self.report(&document, &format!("it is damaged: {what}"));
                    } else {
                        self.reported.remove(&document);
                    }
                    is_membership_new |=
                        document.as_str().starts_with("node-") || document.as_str() == "numbers";
                    self.cache.insert(document, state);
                }
                Err(error) => {
                    self.report(&document, &error.to_string());
                    unread.insert(document);
                }
            }
        }
        let own: HashSet<_> = self.volumes.values().map(|volume| &volume.document).collect();
        self.cache.retain(|document, _| survey.version(document) > 0 || own.contains(document));
        if is_membership_new {
            self.take_members(now);
        }
    }

    /// Tells once what is wrong with a document.
    fn report(&mut self, document: &DocumentName, what: &str) {
        if self.reported.get(document).is_none_or(|told| told != what) {
            tracing::error!(%document, "a document of the store can't be used: {what}");
            self.reported.insert(document.clone(), what.to_owned());
        }
    }

    /// The records of all nodes that can be read.
    pub(super) fn records(&mut self) -> Vec<(String, NodeRecord)> {
        let bodies: Vec<(DocumentName, Body)> = self
            .cache
            .iter()
            .filter(|(document, _)| document.as_str().starts_with("node-"))
            .filter_map(|(document, state)| match &state.found {
                Found::Body(body) => Some((document.clone(), body.clone())),
                Found::Nothing | Found::Damaged(_) => None,
            })
            .collect();
        let mut records = Vec::new();
        for (document, body) in bodies {
            match NodeRecord::read(&body) {
                Ok(record) => {
                    // Once: a node may be called `node-1`.
                    let node = document.as_str().strip_prefix("node-").unwrap_or_default().to_owned();
                    records.push((node, record));
                }
                Err(error) => self.report(&document, &error.to_string()),
            }
        }
        records
    }

    /// What people want: the owner lets go of a volume, or the named node takes one that nobody has.
    fn heed_wishes(&mut self) {
        for name in self.names() {
            let Some(volume) = self.volumes.get(&name) else { continue };
            let Some(document) = Wish::document(&name) else { continue };
            let wish = match self.cache.get(&document).map(|state| &state.found) {
                Some(Found::Body(body)) => Wish::read(body).ok(),
                _ => None,
            };
            let Some(wish) = wish else { continue };
            if volume.machine.seen().is_some_and(|seen| seen.epoch == wish.epoch)
                && !volume.machine.is_moving()
            {
                self.drive(&name, Input::Move(wish.to));
            }
        }
    }
}
