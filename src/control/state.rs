//! The directory for what outlives the process, and what is done without one.

use crate::state::StateDir;
use std::path::Path;

/// Opens the directory. Where that is not possible nothing is kept and all else works: an initiator that asks for a reservation that
/// outlives a restart is refused then, and knows.
pub(super) fn open(path: &Path) -> Option<StateDir> {
    match StateDir::open(path) {
        Ok(state) => Some(state),
        Err(error) => {
            tracing::warn!(
                "{error}: persistent reservations will not outlive a restart (APTPL is refused) and mode pages cannot be saved; \
                 make {} writable for this user, or set another directory with `state_dir` in [node] or with --state-dir",
                path.display()
            );
            None
        }
    }
}
