//! The documents of one unit.

use super::{StateError, envelope, files};
use bytes::Bytes;
use glint_target_core::lun::memory::{Document, MemoryError, Remembering, UnitMemory};
use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// A directory of documents, each a file. Files are touched on tokio's blocking threads only.
#[derive(Debug)]
pub struct UnitFiles {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    directory: PathBuf,
    /// Its lock goes when it is closed: when nothing is done with the files any more, wanted or not.
    _lock: File,
    /// One file operation at a time, in the order in which they were asked for; also those that nobody waits for any more. Holds the
    /// documents that were found damaged: what is kept next must not destroy the evidence.
    damaged: Arc<Mutex<HashSet<Document>>>,
}

impl UnitFiles {
    /// Makes the directory where it is missing and takes its lock. Blocks.
    pub(super) fn open(directory: PathBuf) -> Result<Self, StateError> {
        files::make_directory(&directory).map_err(StateError::io(&directory))?;
        let path = directory.join("lock");
        let lock = files::lock(&path).map_err(StateError::io(&path))?;
        let lock = lock.ok_or(StateError::InUse(path))?;
        Ok(Self { shared: Arc::new(Shared { directory, _lock: lock, damaged: Arc::default() }) })
    }

    /// The same unit once more: it waits for what is still done with the files.
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) fn shared(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// Does something with the files, on a thread where that may block.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, &mut HashSet<Document>) -> Result<T, MemoryError> + Send + 'static,
    ) -> Remembering<'_, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let mut damaged = Arc::clone(&shared.damaged).lock_owned().await;
            let work = tokio::task::spawn_blocking(move || work(&shared, &mut damaged));
            work.await.map_err(|error| MemoryError::Store(error.to_string()))?
        })
    }
}

impl Shared {
    fn path(&self, document: Document) -> PathBuf {
        self.directory.join(document.name())
    }

    /// The unit's name, which is the directory's.
    fn unit(&self) -> String {
        self.directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn recall(&self, document: Document) -> Result<Option<Bytes>, MemoryError> {
        let path = self.path(document);
        let file = files::read(&path).map_err(|error| store_error(&path, error))?;
        file.map(|file| envelope::open(document.name(), &self.unit(), file))
            .transpose()
            .map_err(|fault| MemoryError::Damaged(format!("{}: {fault}", path.display())))
    }

    fn keep(&self, document: Document, contents: &[u8], was_damaged: bool) -> Result<(), MemoryError> {
        let path = self.path(document);
        if contents.len() > envelope::MOST_BYTES {
            let bytes = contents.len();
            return Err(MemoryError::Store(format!("{}: {bytes} bytes are too many", path.display())));
        }
        if was_damaged
            && let Some(aside) = files::set_aside(&path).map_err(|error| store_error(&path, error))?
        {
            tracing::warn!(path = %path.display(), aside = %aside.display(), "the damaged document is put aside");
        }
        let file = envelope::seal(document.name(), &self.unit(), contents);
        files::replace(&path, &file).map_err(|error| store_error(&path, error))
    }
}

fn store_error(path: &std::path::Path, error: std::io::Error) -> MemoryError {
    MemoryError::Store(format!("{}: {error}", path.display()))
}

impl UnitMemory for UnitFiles {
    fn recall(&self, document: Document) -> Remembering<'_, Option<Bytes>> {
        self.blocking(move |shared, damaged| {
            let recalled = shared.recall(document);
            if matches!(recalled, Err(MemoryError::Damaged(_))) {
                damaged.insert(document);
            }
            recalled
        })
    }

    fn keep(&self, document: Document, contents: Bytes) -> Remembering<'_, ()> {
        self.blocking(move |shared, damaged| {
            if let Err(error) = shared.keep(document, &contents, damaged.contains(&document)) {
                tracing::error!(%error, "what has to outlive the process could not be kept");
                return Err(error);
            }
            damaged.remove(&document);
            Ok(())
        })
    }
}
