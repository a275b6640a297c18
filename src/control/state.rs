//! The directory for what outlives the process, and what is done without one.

use crate::state::{StateDir, StateError, UnitFiles};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// See the module.
pub(super) enum Store {
    Open(StateDir),
    /// A directory that cannot be used.
    Closed(PathBuf),
}

impl Store {
    /// Opens the directory. Where that is not possible nothing is kept and all else works: an initiator that asks for a reservation that
    /// outlives a restart is refused then, and knows.
    pub(super) fn open(path: &Path) -> Self {
        match StateDir::open(path) {
            Ok(state) => Self::Open(state),
            Err(error) => {
                tracing::warn!(
                    "{error}: persistent reservations will not outlive a restart (APTPL is refused) and mode pages cannot be saved; \
                     make {} writable for this user, or set another directory with `state_dir` in [node] or with --state-dir",
                    path.display()
                );
                Self::Closed(path.to_owned())
            }
        }
    }

    /// What is kept of a unit, none where nothing can be kept. A unit of which something may have been kept before is not served without
    /// it: those whom its reservation keeps out would be let in.
    pub(super) async fn unit(&self, naa: [u8; 8]) -> Result<Option<Arc<UnitFiles>>, StateError> {
        match self {
            Self::Open(state) => state.unit(naa).await.map(Some),
            Self::Closed(path) => {
                let looked_up = path.clone();
                let check = tokio::task::spawn_blocking(move || StateDir::check_without(&looked_up, naa));
                check.await.unwrap_or_else(|_| Err(StateError::OutOfReach(path.clone())))?;
                Ok(None)
            }
        }
    }
}
