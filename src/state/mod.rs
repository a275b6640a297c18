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
mod shared;
mod unit;

pub use shared::SharedDocuments;
use unit::Shared;
pub use unit::UnitFiles;

use glint_target_core::lun::memory::Document;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
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
    /// The directory cannot be used, and what was kept of the unit may lie in it.
    #[error(
        "{} cannot be used and may hold what was kept of this unit, such as persistent reservations, so it is not served; make it \
         readable and writable for this user, or set another directory with `state_dir` in [node] or with --state-dir to begin without",
        .0.display()
    )]
    OutOfReach(PathBuf),
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
    open: Mutex<HashMap<[u8; 8], Weak<Shared>>>,
}

impl StateDir {
    /// Makes the directory where it is missing, readable by its owner alone, and makes sure that it can be written. Blocks.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let units = path.join("units");
        files::make_directory(&units).map_err(StateError::io(&units))?;
        files::check_writable(&units).map_err(StateError::io(&units))?;
        Ok(Self { units, open: Mutex::default() })
    }

    /// Makes sure that nothing was kept of a unit in a directory that cannot be opened. Blocks.
    pub fn check_without(path: &Path, naa: [u8; 8]) -> Result<(), StateError> {
        let directory = unit_directory(&path.join("units"), naa);
        for document in Document::ALL {
            match directory.join(document.name()).symlink_metadata() {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                // It is there, or that cannot be told.
                _ => return Err(StateError::OutOfReach(directory)),
            }
        }
        Ok(())
    }

    /// The documents of the unit with this NAA designator; its lock is held as long as they are.
    pub async fn unit(&self, naa: [u8; 8]) -> Result<Arc<UnitFiles>, StateError> {
        if let Some(open) = self.lock().get(&naa).and_then(Weak::upgrade) {
            return Ok(Arc::new(UnitFiles::of(open)));
        }
        let directory = unit_directory(&self.units, naa);
        let opening = {
            let directory = directory.clone();
            tokio::task::spawn_blocking(move || UnitFiles::open(directory))
        };
        let unit = opening.await.map_err(|error| StateError::io(&directory)(io::Error::other(error)))??;
        self.lock().insert(naa, unit.shared());
        Ok(Arc::new(unit))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 8], Weak<Shared>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unit_directory(units: &Path, naa: [u8; 8]) -> PathBuf {
    units.join(format!("{:016x}", u64::from_be_bytes(naa)))
}

#[cfg(test)]
mod tests;
