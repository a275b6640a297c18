//! The volumes that are connected: one client for each, shared by all its files.

use super::super::open::OpenError;
use super::super::space::{Room, StoreRoom};
use super::patience::classify;
use super::probe::Probes;
use crate::config::GlusterVolume;
use glint_gfapi::{Error, Host, Kind, Volume, VolumeConfig};
use glint_target_core::device::DeviceError;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
    room: StoreRoom,
}

impl Connected {
    /// How much room the volume has, as its bricks said lately.
    pub(super) async fn room(&self) -> Result<Room, DeviceError> {
        let ask = async {
            let space = self.volume.space().await.map_err(|error| classify(&error))?;
            Ok(Room { total: space.total, free: space.free })
        };
        self.room.get(ask).await
    }
}

/// Each volume's client, if some file uses it; the lock inside is held while it connects.
#[derive(Debug, Default)]
pub(in super::super) struct Volumes {
    slots: Mutex<HashMap<GlusterVolume, Arc<tokio::sync::Mutex<Weak<Connected>>>>>,
    claimed: Claimed,
    pub(super) fencing: Probes,
}

/// By inode, how many have the file, and whether the bricks order them.
type Claimed = Arc<Mutex<HashMap<u64, (usize, Order)>>>;

/// What keeps the writes of two devices on one file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// There are no two.
    Alone,
    /// The bricks refuse those of the former when the next has fenced it: what the former still has under way keeps nobody out.
    Fenced,
}

/// A file is one device's while this lives: as long as any write to it may still land. Range locks order writes within a device only.
#[derive(Debug)]
pub(super) struct Claim {
    inode: u64,
    claimed: Claimed,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut entry) = claimed.entry(self.inode) {
            entry.get_mut().0 -= 1;
            if entry.get().0 == 0 {
                entry.remove();
            }
        }
    }
}

impl Volumes {
    /// Takes a file, whatever path and servers led to it; None when a device has it and nothing would keep the two apart.
    pub(super) fn claim(&self, inode: u64, order: Order) -> Option<Claim> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let (holders, held) = claimed.entry(inode).or_insert((0, order));
        if *holders > 0 && (order, *held) != (Order::Fenced, Order::Fenced) {
            return None;
        }
        *holders += 1;
        Some(Claim { inode, claimed: Arc::clone(&self.claimed) })
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
        Ok(Connected { volume, sharded, room: StoreRoom::default() })
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
