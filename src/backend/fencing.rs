//! Whether a store can keep everybody but the owner of a file from it.

use super::open::{BackendContext, OpenError};
use crate::config::DeviceSpec;

/// What a store does about one that thinks it still owns a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// It refuses all of its I/O.
    Yes,
    /// Nothing, for this reason.
    No(String),
}

/// Finds out by trial whether the device's store fences. Stores are tried once in the life of a context; one that cannot be reached is an error, and is
/// tried anew the next time.
pub async fn fencing(spec: &DeviceSpec, context: &BackendContext) -> Result<Fencing, OpenError> {
    match spec {
        DeviceSpec::Gluster(file) => context.volumes.fencing(file).await,
        DeviceSpec::File(_) | DeviceSpec::Ram | DeviceSpec::Null => {
            Ok(Fencing::No("local files have no mandatory locks".to_owned()))
        }
    }
}
