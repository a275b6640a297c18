//! Reading documents, and compare-and-set.

use super::directory::{Directory, DirectoryError};
use super::envelope::{Body, Envelope, Fault, MOST_BYTES};
use super::names::{self, DocumentName, Kind, Nonce};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a step that had no answer, or that others got in the way of, is tried.
const ATTEMPTS: usize = 4;
/// Versions before the newest that stay in any case.
const KEPT: u64 = 4;

/// For how long things count.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// A listing that took longer is not trusted.
    pub listing: Duration,
    /// Superseded versions are kept at least as long: much longer than `listing`, so that a listing has the newest version in it, or the one that was
    /// when it began.
    pub retain: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { listing: Duration::from_secs(30), retain: Duration::from_secs(600) }
    }
}

/// Why nothing is known, or nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The directory refused.
    #[error("{document}: {error}")]
    Directory {
        /// Of which document.
        document: DocumentName,
        /// Why.
        error: DirectoryError,
    },
    /// It changed each time it was read.
    #[error("{0}: it changes too fast to be read")]
    Busy(DocumentName),
    /// A newer glint wrote it, or it would be too large.
    #[error("{0}: {1}")]
    Unfit(DocumentName, String),
}

/// What the newest version is.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// There has never been one; its version counts as 0.
    Nothing,
    /// Whole.
    Body(Body),
    /// It is not what was written. What it said is lost; what was before it no longer counts. Whoever knows what it ought to be may set the next
    /// version, which puts this one aside.
    Damaged(String),
}

/// A document as it was at some moment while it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Counts up by one with each change.
    pub version: u64,
    /// Its contents.
    pub found: Found,
    /// Who wrote it, where that is known.
    pub nonce: Option<Nonce>,
    extra: Body,
}

impl State {
    fn of(version: u64, envelope: Envelope) -> Self {
        let Envelope { nonce, body, extra } = envelope;
        Self { version, found: Found::Body(body), nonce: Some(nonce), extra }
    }

    fn without(version: u64, found: Found) -> Self {
        Self { version, found, nonce: None, extra: Body::new() }
    }
}

/// How a compare-and-set ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The new version is in place and durable.
    Won(State),
    /// It never was in place and never will be.
    Lost,
    /// There are newer versions already. It may have been in place before them.
    Overtaken,
    /// It may be in place, or may still come there as long as nobody else has set that version.
    Unknown(String),
}

/// The documents in a directory.
pub struct Documents<D> {
    directory: D,
    timing: Timing,
    /// Since when the versions below a number are known to be superseded.
    superseded: Mutex<HashMap<DocumentName, (Instant, u64)>>,
}

/// Which documents there are, by one listing.
#[derive(Clone, Debug)]
pub struct Survey {
    began: Instant,
    /// The newest version, and whether it can be read.
    newest: BTreeMap<DocumentName, (u64, bool)>,
}

impl Survey {
    /// When the listing began: by the directory's clock.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The newest version of a document; 0 where there is none.
    pub fn version(&self, document: &DocumentName) -> u64 {
        self.newest.get(document).map_or(0, |(version, _)| *version)
    }

    /// All documents.
    pub fn documents(&self) -> impl Iterator<Item = &DocumentName> {
        self.newest.keys()
    }
}

/// A listing, as far as one document is concerned.
struct Listing {
    /// The newest version and whether it is a file that can be read, not only a damaged one that was put aside.
    newest: Option<(u64, bool)>,
    versions: Vec<u64>,
    temporaries: Vec<(u64, String)>,
}

impl<D: Directory> Documents<D> {
    /// The documents in this directory.
    pub fn new(directory: D, timing: Timing) -> Self {
        Self { directory, timing, superseded: Mutex::default() }
    }

    /// The directory.
    pub fn directory(&self) -> &D {
        &self.directory
    }

    /// The newest version of every document, by one listing: who watches many of them reads those that have changed.
    pub async fn survey(&self) -> Result<Survey, DirectoryError> {
        let began = self.directory.now();
        let files = self.directory.list().await?;
        let mut newest = BTreeMap::new();
        for file in &files {
            let (document, version, readable) = match names::parse(file) {
                Some((document, version, Kind::Version)) => (document, version, true),
                Some((document, version, Kind::Damaged)) => (document, version, false),
                _ => continue,
            };
            if let Some(document) = DocumentName::new(document) {
                let known = newest.entry(document).or_insert((version, readable));
                *known = (*known).max((version, readable));
            }
        }
        Ok(Survey { began, newest })
    }

    /// The newest version as of a survey, or a newer one.
    pub async fn read_surveyed(&self, survey: &Survey, document: &DocumentName) -> Result<State, StoreError> {
        match self.open_listed(document, survey.began, survey.newest.get(document).copied()).await? {
            Some(state) => Ok(state),
            None => self.read(document).await,
        }
    }

    /// The newest version.
    pub async fn read(&self, document: &DocumentName) -> Result<State, StoreError> {
        for _ in 0..ATTEMPTS {
            let began = self.directory.now();
            let newest = self.listing(document).await?.newest;
            if let Some(state) = self.open_listed(document, began, newest).await? {
                return Ok(state);
            }
        }
        Err(StoreError::Busy(document.clone()))
    }

    /// Reads what a listing that began at `began` has told is the newest version. None where that is not so any more, or it was too long ago.
    async fn open_listed(
        &self,
        document: &DocumentName,
        began: Instant,
        newest: Option<(u64, bool)>,
    ) -> Result<Option<State>, StoreError> {
        let opened = match newest {
            None => Ok(State::without(0, Found::Nothing)),
            Some((version, false)) => Ok(State::without(version, Found::Damaged("it was put aside".into()))),
            Some((version, true)) => match self.open(document, version).await {
                Ok(Ok(envelope)) => Ok(State::of(version, envelope)),
                Ok(Err(Fault::Damaged(what))) => Ok(State::without(version, Found::Damaged(what))),
                Ok(Err(fault @ Fault::TooNew(_))) => {
                    Err(StoreError::Unfit(document.clone(), fault.to_string()))
                }
                // Put aside or collected in the meantime: there is a newer one.
                Err(DirectoryError::Missing) => return Ok(None),
                Err(error) => Err(StoreError::Directory { document: document.clone(), error }),
            },
        };
        // Who was stopped in between may find a number that was collected, and given anew by another who was stopped.
        match self.directory.now().saturating_duration_since(began) > self.timing.listing {
            true => Ok(None),
            false => opened.map(Some),
        }
    }

    /// Sets the version after `old`, unless somebody else has. `nonce` is random, and used but once.
    pub async fn compare_and_set(
        &self,
        document: &DocumentName,
        old: &State,
        body: Body,
        nonce: Nonce,
    ) -> Result<Outcome, StoreError> {
        let unfit = |what: &str| StoreError::Unfit(document.clone(), what.to_owned());
        let version = old.version.checked_add(1).ok_or_else(|| unfit("there are no versions left"))?;
        let envelope = Envelope { nonce, body, extra: old.extra.clone() };
        let file = envelope.seal(document, version);
        if file.len() > MOST_BYTES {
            return Err(unfit("it is too large"));
        }
        let temporary = document.temporary(version, nonce);
        if let Err(error) = self.directory.create(&temporary, &file).await {
            // Nothing leads to it but its own name, which is collected later if it is there after all.
            let _ = self.directory.unlink(&temporary).await;
            return Err(StoreError::Directory { document: document.clone(), error });
        }
        let outcome = match self.link(document, version, nonce, &temporary).await? {
            Some(not_linked) => not_linked,
            None => self.confirm(document, old, State::of(version, envelope)).await,
        };
        // As long as it is in doubt the name stays: a retried link that finds it gone could not tell why. It is collected later.
        if !matches!(outcome, Outcome::Unknown(_)) {
            let _ = self.directory.unlink(&temporary).await;
        }
        Ok(outcome)
    }

    /// Gives the prepared file its name. None when it has it.
    async fn link(
        &self,
        document: &DocumentName,
        version: u64,
        nonce: Nonce,
        temporary: &str,
    ) -> Result<Option<Outcome>, StoreError> {
        let mut doubt = None;
        for _ in 0..ATTEMPTS {
            let error = match self.directory.link(temporary, &document.version(version)).await {
                Ok(()) => return Ok(None),
                Err(error) => error,
            };
            match error {
                // The temporary file is collected when the version is there: it may have got there by an attempt of which nothing was heard.
                DirectoryError::Exists | DirectoryError::Missing => {
                    match self.open(document, version).await {
                        Ok(Ok(envelope)) if envelope.nonce == nonce => return Ok(None),
                        Ok(Ok(_)) => return Ok(Some(Outcome::Lost)),
                        // So old that it has been collected, or damaged and put aside.
                        Err(DirectoryError::Missing) if doubt.is_none() => return Ok(Some(Outcome::Lost)),
                        Err(DirectoryError::Missing) => return Ok(Some(Outcome::Overtaken)),
                        Ok(Err(fault)) => return Ok(Some(Outcome::Unknown(fault.to_string()))),
                        Err(error) => doubt = Some(error),
                    }
                }
                DirectoryError::Refused(_) if doubt.is_none() => {
                    let _ = self.directory.unlink(temporary).await;
                    return Err(StoreError::Directory { document: document.clone(), error });
                }
                error => doubt = Some(error),
            }
        }
        Ok(Some(Outcome::Unknown(doubt.map_or_else(String::new, |error| error.to_string()))))
    }

    /// The new version has its name. Makes that durable, and makes sure that it was not a number of long ago, given anew.
    async fn confirm(&self, document: &DocumentName, old: &State, new: State) -> Outcome {
        let mut doubt = String::new();
        for _ in 0..ATTEMPTS {
            if let Err(error) = self.directory.sync(&document.version(new.version)).await {
                doubt = error.to_string();
                continue;
            }
            let listing = match self.listing(document).await {
                Ok(listing) => listing,
                Err(error) => {
                    doubt = error.to_string();
                    continue;
                }
            };
            match listing.newest {
                Some((newest, _)) if newest > new.version => return Outcome::Overtaken,
                Some((newest, true)) if newest == new.version => {
                    if matches!(old.found, Found::Damaged(_)) {
                        let (from, to) = (document.version(old.version), document.damaged(old.version));
                        let _ = self.directory.rename(&from, &to).await;
                    }
                    self.collect(document, &listing).await;
                    return Outcome::Won(new);
                }
                _ => return Outcome::Unknown("it has gone again".into()),
            }
        }
        Outcome::Unknown(doubt)
    }

    /// Takes away what nobody needs: temporary files of versions that are set, and versions that have been superseded for long. Whatever goes
    /// wrong here is made up for the next time.
    async fn collect(&self, document: &DocumentName, listing: &Listing) {
        let Some((newest, _)) = listing.newest else { return };
        let now = self.directory.now();
        let floor = {
            let mut superseded = self.superseded.lock().unwrap_or_else(PoisonError::into_inner);
            let (since, floor) =
                *superseded.entry(document.clone()).or_insert((now, newest.saturating_sub(KEPT)));
            let is_due = now.saturating_duration_since(since) >= self.timing.retain;
            if is_due {
                superseded.insert(document.clone(), (now, newest.saturating_sub(KEPT)));
            }
            if is_due { floor } else { 0 }
        };
        for version in listing.versions.iter().filter(|version| **version < floor) {
            let _ = self.directory.unlink(&document.version(*version)).await;
        }
        for (version, file) in &listing.temporaries {
            if *version <= newest {
                let _ = self.directory.unlink(file).await;
            }
        }
    }

    async fn listing(&self, document: &DocumentName) -> Result<Listing, StoreError> {
        for _ in 0..ATTEMPTS {
            let began = self.directory.now();
            let files = self.directory.list().await;
            let files = files.map_err(|error| StoreError::Directory { document: document.clone(), error })?;
            if self.directory.now().saturating_duration_since(began) > self.timing.listing {
                continue;
            }
            let mut listing = Listing { newest: None, versions: Vec::new(), temporaries: Vec::new() };
            for file in files {
                match names::parse(&file) {
                    Some((name, version, kind)) if name == document.as_str() => match kind {
                        Kind::Version => {
                            listing.newest = listing.newest.max(Some((version, true)));
                            listing.versions.push(version);
                        }
                        Kind::Damaged => listing.newest = listing.newest.max(Some((version, false))),
                        Kind::Temporary => listing.temporaries.push((version, file)),
                    },
                    _ => {}
                }
            }
            return Ok(listing);
        }
        Err(StoreError::Busy(document.clone()))
    }

    async fn open(
        &self,
        document: &DocumentName,
        version: u64,
    ) -> Result<Result<Envelope, Fault>, DirectoryError> {
        // One byte more than fits, so that what is too long is seen to be.
        let file = self.directory.read(&document.version(version), MOST_BYTES + 1).await?;
        Ok(Envelope::open(document, version, &file))
    }
}

#[cfg(test)]
#[path = "linearizable_tests.rs"]
mod linearizable;
#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;
