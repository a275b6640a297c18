//! Whether the bricks of a volume fence: tried with a file of its own beside the block file.

use super::super::fencing::Fencing;
use super::super::open::OpenError;
use super::volumes::{Connected, Volumes};
use crate::config::{DeviceSpec, GlusterFile, GlusterVolume};
use bytes::Bytes;
use glint_gfapi::{Error, File, Kind, LockOwner, OpenOptions};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long the trial may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the files of trials are called; when they were made and something random follow.
const PREFIX: &str = ".glint-fencing-trial.";
/// After how many seconds such a file was left behind by a process that has ended.
const LEFT_BEHIND: u64 = 600;
const BLOCK: usize = 4096;
/// What makes a volume fence.
const ADVICE: &str = "set locks.mandatory-locking to forced and features.enforce-mandatory-lock to on";

/// What has been found out; its clients stay connected, so that files of theirs can be taken over without delay.
#[derive(Debug, Default)]
pub(super) struct Probes(Mutex<HashMap<GlusterVolume, Arc<OnceCell<Probed>>>>);

#[derive(Debug)]
struct Probed {
    fencing: Fencing,
    _client: Arc<Connected>,
}

impl Volumes {
    /// Whether the bricks of the file's volume fence.
    pub(in super::super) async fn fencing(&self, file: &GlusterFile) -> Result<Fencing, OpenError> {
        let cell = {
            let mut cells = self.fencing.0.lock().unwrap_or_else(PoisonError::into_inner);
            cells.entry(file.volume.clone()).or_default().clone()
        };
        let probe = async {
            let client = self.get(&file.volume).await?;
            let device = || DeviceSpec::Gluster(file.clone()).to_string();
            let doing = "try whether its volume fences";
            match timeout(PATIENCE, probe(&client, &file.path)).await {
                Ok(Ok(fencing)) => {
                    tracing::info!(volume = %file.volume, ?fencing, "tried whether the volume fences");
                    Ok(Probed { fencing, _client: client })
                }
                Ok(Err(source)) => {
                    Err(OpenError::GlusterFile { device: device(), doing, source: source.into() })
                }
                Err(_) => Err(OpenError::GlusterSilent { device: device(), doing, patience: PATIENCE }),
            }
        };
        Ok(cell.get_or_try_init(|| probe).await?.fencing.clone())
    }
}

async fn probe(client: &Connected, path: &str) -> Result<Fencing, Error> {
    if let Some(reason) = unfit(client).await? {
        return Ok(Fencing::No(reason.to_owned()));
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    client.volume.mkdir_all(directory).await?;
    collect(client, if directory.is_empty() { "/" } else { directory }).await?;
    let random = RandomState::new().hash_one(path);
    let trial = format!("{directory}/{PREFIX}{}.{random:016x}", seconds());
    let first = client.volume.create(&trial, OpenOptions::default()).await?;
    let tried = match client.volume.open(&trial, OpenOptions::default()).await {
        Ok(second) => contend(&first, &second, random).await,
        Err(error) => Err(error),
    };
    // One that stays is collected later.
    let _ = client.volume.unlink(&trial).await;
    tried
}

/// What is known not to work, whatever a trial says.
async fn unfit(client: &Connected) -> Result<Option<&'static str>, Error> {
    let translators = client.volume.translators().await?;
    let has = |kind: &str| translators.iter().any(|translator| translator.kind == kind);
    let arbiter = ["arbiter-count", "thin-arbiter"];
    let is_set = |key: &str| {
        translators.iter().any(|translator| translator.option(key).is_some_and(|value| value != "0"))
    };
    Ok(if client.sharded {
        Some("the volume is sharded, and only the first shard of a file would be fenced")
    } else if arbiter.into_iter().any(is_set) {
        Some("the volume has an arbiter, and GlusterFS' fencing is not for those")
    } else if has("cluster/disperse") {
        Some("the volume is dispersed, and GlusterFS' fencing is not for those")
    } else {
        None
    })
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Removes what trials have left behind.
async fn collect(client: &Connected, directory: &str) -> Result<(), Error> {
    let now = seconds();
    for name in client.volume.list(directory).await? {
        if made_at(&name).is_some_and(|made| made + LEFT_BEHIND < now) {
            // Another node may be quicker.
            let _ = client.volume.unlink(&format!("{directory}/{name}")).await;
        }
    }
    Ok(())
}

fn made_at(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split_once('.')?.0.parse().ok()
}

/// Two take the file from each other: each time the other has to be refused.
async fn contend(first: &File, second: &File, random: u64) -> Result<Fencing, Error> {
    let owner = |name: &str| LockOwner::new(format!("{name} {random:016x}"));
    let (Some(one), Some(other)) = (owner("trial 1"), owner("trial 2")) else {
        return Err(Error::Os {
            operation: "fd_set_lkowner",
            errno: rustix::io::Errno::INVAL.raw_os_error(),
        });
    };
    first.truncate(BLOCK as u64).await?;
    for (holder, owner, former) in [(first, &one, second), (second, &other, first)] {
        match holder.fence(owner).await {
            Err(error) if matches!(error.kind(), Kind::Unsupported | Kind::Invalid) => {
                return Ok(Fencing::No(format!("the volume has no mandatory locks ({error}); {ADVICE}")));
            }
            fenced => fenced?,
        }
        write(holder).await?;
        for refused in [write(former).await, former.read(0, BLOCK).await.map(drop)] {
            match refused {
                Err(error) if error.kind() == Kind::OwnershipLost => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    return Ok(Fencing::No(format!("the volume lets others use a locked file; {ADVICE}")));
                }
            }
        }
    }
    Ok(Fencing::Yes)
}

async fn write(file: &File) -> Result<(), Error> {
    file.write(0, &[Bytes::from_static(&[0; BLOCK])], false).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_trials_are_collected() {
        assert_eq!(made_at(".glint-fencing-trial.1700000000.00ff"), Some(1_700_000_000));
        for name in ["disk.img", ".glint-fencing-trial.x.00ff", ".glint-fencing-trial.1700000000"] {
            assert_eq!(made_at(name), None, "{name}");
        }
    }
}
