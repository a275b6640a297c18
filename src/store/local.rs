//! A local directory. Its calls block, so they have threads of their own.

use super::clock::Clock;
use super::{StoreOpenError, within};
use bytes::Bytes;
use glint_cluster_core::store::{Directory, DirectoryError};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A directory of this machine's file system.
#[derive(Debug)]
pub struct LocalDirectory {
    path: PathBuf,
    deadline: Duration,
    clock: Clock,
}

impl LocalDirectory {
    /// The directory at this path, made where it is missing. Each call ends within `deadline`.
    ///
    /// # Errors
    /// [`StoreOpenError::Local`].
    pub async fn open(path: &Path, deadline: Duration) -> Result<Self, StoreOpenError> {
        let made = path.to_owned();
        let make = move || DirBuilder::new().recursive(true).mode(0o700).create(&made);
        let made = tokio::task::spawn_blocking(make).await.unwrap_or_else(|error| Err(error.into()));
        made.map_err(|error| StoreOpenError::Local { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), deadline, clock: Clock::new() })
    }

    /// A directory in this one, made where it is missing.
    pub(super) async fn within(&self, name: &str) -> Result<Self, StoreOpenError> {
        Self::open(&self.path.join(name), self.deadline).await
    }

    /// Makes the call on a thread that may block, unless its time has passed before it has its turn.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, DirectoryError> {
        let (answer, answered) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            if !answer.is_closed() {
                // Nobody need be waiting any more.
                let _ = answer.send(call());
            }
        });
        within(self.deadline, async {
            match answered.await {
                Ok(done) => done.map_err(|error| told(&error)),
                Err(_) => Err(DirectoryError::Unknown("the call was not made".into())),
            }
        })
        .await
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// What an error of the system means: all that is not known to have left everything as it was may have done it.
fn told(error: &io::Error) -> DirectoryError {
    match error.kind() {
        ErrorKind::AlreadyExists => DirectoryError::Exists,
        ErrorKind::NotFound => DirectoryError::Missing,
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::FileTooLarge
        | ErrorKind::TooManyLinks
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput
        | ErrorKind::Unsupported => DirectoryError::Refused(error.to_string()),
        _ => DirectoryError::Unknown(error.to_string()),
    }
}

impl Directory for LocalDirectory {
    async fn list(&self) -> Result<Vec<String>, DirectoryError> {
        let path = self.path.clone();
        self.call(move || {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                // Other names are not ours.
                names.extend(entry?.file_name().into_string());
            }
            Ok(names)
        })
        .await
    }

    async fn read(&self, name: &str, most: usize) -> Result<Bytes, DirectoryError> {
        let path = self.file(name);
        self.call(move || {
            let mut contents = Vec::new();
            File::open(path)?.take(most as u64).read_to_end(&mut contents)?;
            Ok(contents.into())
        })
        .await
    }

    async fn create(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        let (path, contents) = (self.file(name), contents.to_vec());
        self.call(move || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(&contents).and_then(|()| file.sync_all()).inspect_err(|_| {
                // Half a file is nothing. Where it cannot be taken away either, the next listing shows it.
                let _ = fs::remove_file(&path);
            })
        })
        .await
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        let (from, to) = (self.file(from), self.file(to));
        self.call(move || fs::hard_link(from, to)).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        let (from, to) = (self.file(from), self.file(to));
        self.call(move || fs::rename(from, to)).await
    }

    async fn unlink(&self, name: &str) -> Result<(), DirectoryError> {
        let path = self.file(name);
        self.call(move || fs::remove_file(path)).await
    }

    async fn sync(&self, _name: &str) -> Result<(), DirectoryError> {
        let path = self.path.clone();
        self.call(move || File::open(path)?.sync_all()).await
    }

    async fn overwrite(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        let (path, contents) = (self.file(name), contents.to_vec());
        self.call(move || {
            // Not cut first: a reader would find it empty.
            let mut how = OpenOptions::new();
            let file = how.write(true).create(true).truncate(false).mode(0o600).open(path)?;
            file.write_all_at(&contents, 0)?;
            let len = contents.len() as u64;
            if file.metadata()?.len() > len { file.set_len(len) } else { Ok(()) }
        })
        .await
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}
