//! What outlives the process: the documents of the units, in a local directory.
//!
//! ```text
//! <state_dir>/units/<naa>/lock          held by the process that serves the unit
//! <state_dir>/units/<naa>/<document>    a line about the document, then the document itself (see [`envelope`])
//! ```
//!
//! Documents are small and replaced as a whole. The directory belongs to its owner alone.

mod envelope;
mod files;
mod unit;

pub use unit::UnitFiles;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Why the directory, or a unit's part of it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A system call failed on this path.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process has the unit's lock.
    #[error(
        "another glint process serves this unit, it holds {}; stop that one, or give this one a `state_dir` \
         (--state-dir) and a volume of its own",
        .0.display()
    )]
    InUse(PathBuf),
}

impl StateError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), error }
    }
}

/// The directory. Units that are open are shared: one that is closed and opened again meets its own lock, not a stranger's.
#[derive(Debug)]
pub struct StateDir {
    units: PathBuf,
    open: Mutex<HashMap<[u8; 8], Weak<UnitFiles>>>,
}

impl StateDir {
    /// Makes the directory where it is missing, readable by its owner alone, and makes sure that it can be written. Blocks.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let units = path.join("units");
        files::make_directory(&units).map_err(StateError::io(&units))?;
        files::check_writable(&units).map_err(StateError::io(&units))?;
        Ok(Self { units, open: Mutex::default() })
    }

    /// The documents of the unit with this NAA designator; its lock is held as long as they are.
    pub async fn unit(&self, naa: [u8; 8]) -> Result<Arc<UnitFiles>, StateError> {
        if let Some(open) = self.lock().get(&naa).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let directory = self.units.join(format!("{:016x}", u64::from_be_bytes(naa)));
        let opening = {
            let directory = directory.clone();
            tokio::task::spawn_blocking(move || UnitFiles::open(directory))
        };
        let unit = opening.await.map_err(|error| StateError::io(&directory)(io::Error::other(error)))??;
        let unit = Arc::new(unit);
        self.lock().insert(naa, Arc::downgrade(&unit));
        Ok(unit)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 8], Weak<UnitFiles>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
