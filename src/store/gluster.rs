//! A directory on a GlusterFS volume, through a client of its own: what is done to block files never holds it up.

use super::clock::Clock;
use super::{StoreOpenError, nonce, within};
use crate::backend::{OpenError, connect_gluster};
use crate::config::GlusterFile;
use bytes::Bytes;
use glint_cluster_core::store::{Directory, DirectoryError};
use glint_gfapi::{Error, Kind, TranslatorOption, Volume};
use rustix::io::Errno;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long it may take to make the directory.
const MAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// A directory on a volume.
#[derive(Debug)]
pub struct GlusterDirectory {
    volume: Volume,
    path: String,
    /// As people write it.
    shown: String,
    pub(super) deadline: Duration,
    clock: Clock,
}

impl GlusterDirectory {
    /// Connects to the volume and makes the directory where it is missing. Each call ends within `deadline`.
    ///
    /// # Errors
    /// [`StoreOpenError::Gluster`].
    pub async fn open(directory: &GlusterFile, deadline: Duration) -> Result<Self, StoreOpenError> {
        // The usual configuration passes by all caches but this one, which keeps the contents of small files and can only be told
        // that no file is small.
        let small = TranslatorOption::new("*-quick-read", "max-file-size", "0");
        let volume = connect_gluster(&directory.volume, |config| config.options.push(small)).await?.volume;
        Self { volume, path: String::new(), shown: directory.to_string(), deadline, clock: Clock::new() }
            .made(directory.path.clone())
            .await
    }

    /// A directory in this one, made where it is missing.
    pub(super) async fn within(&self, name: &str) -> Result<Self, StoreOpenError> {
        let (path, shown) = (format!("{}/{name}", self.path), format!("{}/{name}", self.shown));
        let volume = self.volume.clone();
        Self { volume, path: String::new(), shown, deadline: self.deadline, clock: Clock::new() }
            .made(path)
            .await
    }

    /// The same for the directory of that path.
    async fn made(self, path: String) -> Result<Self, StoreOpenError> {
        let device = || self.shown.clone();
        let doing = "make the directory";
        match timeout(MAKE_TIMEOUT, self.volume.mkdir_all(&path)).await {
            Ok(Ok(())) => {}
            Ok(Err(source)) => {
                return Err(OpenError::GlusterFile { device: device(), doing, source: source.into() }.into());
            }
            Err(_) => {
                return Err(
                    OpenError::GlusterSilent { device: device(), doing, patience: MAKE_TIMEOUT }.into()
                );
            }
        }
        Ok(Self { path, ..self })
    }

    async fn call<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, DirectoryError> {
        within(self.deadline, async { call.await.map_err(|error| told(&error)) }).await
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }
}

/// What an error of GlusterFS means: all that is not known to have left everything as it was may have done it.
fn told(error: &Error) -> DirectoryError {
    let refused = || DirectoryError::Refused(error.to_string());
    match error.errno().map(Errno::from_raw_os_error) {
        Some(Errno::EXIST) => DirectoryError::Exists,
        Some(Errno::NOENT) => DirectoryError::Missing,
        Some(Errno::ACCESS | Errno::PERM | Errno::MLINK) => refused(),
        _ => match error.kind() {
            Kind::NoSpace | Kind::ReadOnly | Kind::Invalid | Kind::Unsupported => refused(),
            _ => DirectoryError::Unknown(error.to_string()),
        },
    }
}

impl Directory for GlusterDirectory {
    async fn list(&self) -> Result<Vec<String>, DirectoryError> {
        self.call(self.volume.list(&self.path)).await
    }

    async fn read(&self, name: &str, most: usize) -> Result<Bytes, DirectoryError> {
        self.call(self.volume.read_whole(&self.file(name), most)).await.map(Bytes::from)
    }

    async fn create(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        self.call(self.volume.create_whole(&self.file(name), Bytes::copy_from_slice(contents))).await
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        self.call(self.volume.link(&self.file(from), &self.file(to))).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        self.call(self.volume.rename(&self.file(from), &self.file(to))).await
    }

    async fn unlink(&self, name: &str) -> Result<(), DirectoryError> {
        self.call(self.volume.unlink(&self.file(name))).await
    }

    /// libgfapi cannot sync a directory: of one that is replicated it reports success and asks no brick. A file that is made beside the
    /// name, so on the same bricks, and synced takes the name along: file systems with one journal (XFS, ext4) keep the order.
    async fn sync(&self, name: &str) -> Result<(), DirectoryError> {
        let nonce = nonce().map_err(|error| DirectoryError::Refused(error.to_string()))?;
        let marker = format!(".{name}.{nonce}");
        let made = self.create(&marker, b"sync").await;
        let _ = self.unlink(&marker).await;
        made
    }

    async fn overwrite(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        self.call(self.volume.overwrite_whole(&self.file(name), Bytes::copy_from_slice(contents))).await
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}
