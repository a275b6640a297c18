//! The directories under the document store of a cluster: local, or on a GlusterFS volume.
//!
//! Each call ends within the deadline that the directory was opened with: what had not been begun then never happens, what had may still be done.

mod clock;
mod gluster;
mod local;
mod nonce;

pub(crate) use clock::Clock;
pub use gluster::GlusterDirectory;
pub use local::LocalDirectory;
pub use nonce::nonce;

use crate::backend::OpenError;
use crate::config::StoreUrl;
use bytes::Bytes;
use glint_cluster_core::store::{Directory, DirectoryError};
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The local directory can't be made or looked at.
    #[error("{}: {error}", path.display())]
    Local {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The volume can't be reached, or the directory on it not be made.
    #[error(transparent)]
    Gluster(#[from] OpenError),
}

/// The directory of a store.
#[derive(Debug)]
pub enum Store {
    /// A local one.
    Local(LocalDirectory),
    /// One on a GlusterFS volume.
    Gluster(GlusterDirectory),
}

impl Store {
    /// Opens the store's directory; makes it where it is missing. Each call on it ends within `deadline`.
    ///
    /// # Errors
    /// [`StoreOpenError`].
    pub async fn open(url: &StoreUrl, deadline: Duration) -> Result<Self, StoreOpenError> {
        Ok(match url {
            StoreUrl::Local(path) => Self::Local(LocalDirectory::open(path, deadline).await?),
            StoreUrl::Gluster(directory) => Self::Gluster(GlusterDirectory::open(directory, deadline).await?),
        })
    }

    /// A directory in this one; makes it where it is missing. `name` may have several parts.
    ///
    /// # Errors
    /// [`StoreOpenError`].
    pub async fn within(&self, name: &str) -> Result<Self, StoreOpenError> {
        Ok(match self {
            Self::Local(directory) => Self::Local(directory.within(name).await?),
            Self::Gluster(directory) => Self::Gluster(directory.within(name).await?),
        })
    }
}

/// Waits for an answer until the deadline.
async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<T, DirectoryError>>,
) -> Result<T, DirectoryError> {
    match tokio::time::timeout(deadline, call).await {
        Ok(answer) => answer,
        Err(_) => Err(DirectoryError::Unknown(format!("no answer within {deadline:?}"))),
    }
}

/// Hands a call on to the directory that it is.
macro_rules! either {
    ($store:expr, $directory:ident => $call:expr) => {
        match $store {
            Store::Local($directory) => $call,
            Store::Gluster($directory) => $call,
        }
    };
}

impl Directory for Store {
    async fn list(&self) -> Result<Vec<String>, DirectoryError> {
        either!(self, directory => directory.list().await)
    }

    async fn read(&self, name: &str, most: usize) -> Result<Bytes, DirectoryError> {
        either!(self, directory => directory.read(name, most).await)
    }

    async fn create(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        either!(self, directory => directory.create(name, contents).await)
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        either!(self, directory => directory.link(from, to).await)
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        either!(self, directory => directory.rename(from, to).await)
    }

    async fn unlink(&self, name: &str) -> Result<(), DirectoryError> {
        either!(self, directory => directory.unlink(name).await)
    }

    async fn sync(&self, name: &str) -> Result<(), DirectoryError> {
        either!(self, directory => directory.sync(name).await)
    }

    async fn overwrite(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        either!(self, directory => directory.overwrite(name, contents).await)
    }

    fn now(&self) -> Instant {
        either!(self, directory => directory.now())
    }
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
