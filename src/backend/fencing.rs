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

#[cfg(test)]
mod tests {
    use super::super::{OpenOptions, open, open_owned};
    use super::*;
    use crate::config::FileIo;
    use glint_target_core::device::BlockDevice;
    use std::time::Duration;

    #[tokio::test]
    async fn files_are_not_fenced() {
        let node = BackendContext::new(Duration::from_secs(5), FileIo::Threads).unwrap();
        let none = Fencing::No("local files have no mandatory locks".to_owned());
        assert_eq!(fencing(&DeviceSpec::Null, &node).await.unwrap(), none);
        let directory = tempfile::tempdir().unwrap();
        let spec = DeviceSpec::File(directory.path().join("disk.img"));
        assert_eq!(fencing(&spec, &node).await.unwrap(), none);
        let how = OpenOptions { clustered: true, size: Some(1 << 20), ..OpenOptions::default() };
        assert!(open_owned(&spec, &how, &node, None).await.is_err(), "it is not made");
        // Nobody is kept out by a lock: neither by who opened it first, nor by a former owner.
        let first = open(&spec, &how, &node).await.unwrap();
        let owned = open_owned(&spec, &how, &node, None).await.unwrap();
        first.write(0, &vec![1; 4096].into(), false).await.unwrap();
        let next = open_owned(&spec, &how, &node, None).await.unwrap();
        assert_eq!(next.read(0, 4096).await.unwrap(), vec![1; 4096]);
        assert_eq!(owned.read(0, 4096).await.unwrap(), vec![1; 4096]);
    }
}
