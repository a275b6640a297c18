//! The volumes that are connected: one client for each, shared by all its files.

use super::super::open::OpenError;
use crate::config::GlusterVolume;
use glint_gfapi::{Error, Host, Kind, Volume, VolumeConfig};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::time::timeout;

/// How long the servers may take to describe a volume; libgfapi itself would wait for minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A volume in use.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) volume: Volume,
    pub(crate) sharded: bool,
}

/// Each volume's client, if some file uses it; the lock inside is held while it connects.
#[derive(Debug, Default)]
pub(in super::super) struct Volumes {
    slots: Mutex<HashMap<GlusterVolume, Arc<tokio::sync::Mutex<Weak<Connected>>>>>,
    claimed: Arc<Mutex<HashSet<u64>>>,
}

/// A file is one device's while this lives: as long as any write to it may still land. Range locks order writes within a device only.
#[derive(Debug)]
pub(super) struct Claim {
    inode: u64,
    claimed: Arc<Mutex<HashSet<u64>>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.inode);
    }
}

impl Volumes {
    /// Takes a file, whatever path and servers led to it; None when a device has it.
    pub(super) fn claim(&self, inode: u64) -> Option<Claim> {
        let new = self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(inode);
        new.then(|| Claim { inode, claimed: Arc::clone(&self.claimed) })
    }

    /// The client of the volume, connected now if no file of it is open.
    pub(super) async fn get(&self, spec: &GlusterVolume) -> Result<Arc<Connected>, OpenError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(spec.clone()).or_default().clone()
        };
        let mut slot = slot.lock().await;
        if let Some(connected) = slot.upgrade() {
            return Ok(connected);
        }
        let connected = Arc::new(connect(spec, |_| {}).await?);
        if connected.sharded {
            tracing::warn!(volume = %spec, "the volume is sharded: slower FUA, no allocation map; set features.shard off for new ones");
        }
        *slot = Arc::downgrade(&connected);
        Ok(connected)
    }
}

/// A client of its own for the volume, with the usual configuration but for what `adapt` changes.
pub(crate) async fn connect(
    spec: &GlusterVolume,
    adapt: impl FnOnce(&mut VolumeConfig),
) -> Result<Connected, OpenError> {
    let hosts = spec.server_hosts().into_iter().map(|(name, port)| Host { name, port }).collect();
    let mut config = VolumeConfig::new(&*spec.name, hosts);
    adapt(&mut config);
    let connecting = async {
        let volume = Volume::connect(config).await?;
        let sharded = volume.is_sharded().await?;
        Ok(Connected { volume, sharded })
    };
    match timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Ok(connected)) => Ok(connected),
        Ok(Err(error)) => Err(explain(spec, error)),
        Err(_) => Err(unreachable(spec, format!("no answer within {CONNECT_TIMEOUT:?}"))),
    }
}

/// Says what to check.
fn explain(spec: &GlusterVolume, error: Error) -> OpenError {
    match error {
        Error::Library(source) => OpenError::GlusterLibrary { source },
        error if error.kind() == Kind::NotConnected => unreachable(spec, error.to_string()),
        error => OpenError::GlusterVolume {
            volume: spec.to_string(),
            name: spec.name.clone(),
            source: error.into(),
        },
    }
}

fn unreachable(spec: &GlusterVolume, reason: String) -> OpenError {
    let servers: Vec<_> = spec.servers.iter().map(ToString::to_string).collect();
    OpenError::GlusterUnreachable { volume: spec.to_string(), servers: servers.join(", "), reason }
}
