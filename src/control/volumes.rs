//! The targets that are open, their units and the devices below.

use super::shared::OpenShared;
use super::space::SpaceWatcher;
use super::state::Store;
use crate::backend::{self, BackendContext, Device, OpenError, OpenOptions};
use crate::cluster::{Cluster, Front, SharedTarget};
use crate::config::{LunConfig, TargetConfig};
use crate::server::catalog::ServedDevice;
use crate::state::StateError;
use crate::telemetry::metrics::Metrics;
use arc_swap::ArcSwap;
use glint_target_core::device::{BlockDevice, DeviceError};
use glint_target_core::lun::background::Spawner;
use glint_target_core::lun::copy::CopyManager;
use glint_target_core::lun::identity::Identity;
use glint_target_core::lun::memory::{Document, MemoryError};
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::throttle::Limits;
use glint_target_core::lun::unit::{LogicalUnit, UnitConfig};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a unit that is closed may take to end its commands, and then to flush.
const CLOSE_PATIENCE: Duration = Duration::from_secs(30);

/// What runs the commands of one target.
pub(super) type Served = ServedDevice<Front>;

/// Why a change of a unit failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum VolumeError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(
        "its {} cannot be recalled, so it is not served: {error}; repair the document in the state directory, or remove it to begin \
         without",
        document.name()
    )]
    Recall { document: Document, error: MemoryError },
    #[error("it has {found} bytes, more than the {wanted} asked for; nothing is cut off without `shrink`")]
    WouldShrink { found: u64, wanted: u64 },
    #[error("it has {found} bytes, less than the {wanted} asked for; add `grow` to let it grow")]
    WouldGrow { found: u64, wanted: u64 },
    #[error("its size could not be changed: {0}")]
    Resize(DeviceError),
}

/// A target that is open.
pub(super) struct OpenTarget {
    pub(super) device: Arc<Served>,
    /// The units that are open, as they were configured.
    luns: BTreeMap<u16, LunConfig>,
    /// Who looks after their space.
    watchers: Watchers,
}

/// Who looks after the space of units, by their numbers.
pub(super) type Watchers = Arc<Mutex<BTreeMap<u16, SpaceWatcher>>>;

/// What has to be done to a target's units.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) close: Vec<u16>,
    pub(super) resize: Vec<LunConfig>,
    pub(super) open: Vec<LunConfig>,
}

impl OpenTarget {
    /// A target without units; `copies` is its node's. Where there are other nodes they serve it too.
    pub(super) fn new(name: Arc<str>, copies: Arc<CopyManager<Device>>, cluster: Option<&Cluster>) -> Self {
        let local = TargetDevice::sharing(name, copies);
        let server = match cluster {
            None => Front::alone(local),
            Some(cluster) => {
                let shared = SharedTarget::new(Arc::clone(cluster.hub()), Arc::new(local));
                cluster.hub().add_target(&shared);
                Front::shared(shared)
            }
        };
        let device = Arc::new(ServedDevice { server, volumes: ArcSwap::default() });
        Self { device, luns: BTreeMap::new(), watchers: Arc::default() }
    }

    /// The units as this node executes commands on them.
    fn local(&self) -> &Arc<TargetDevice<Device>> {
        self.device.server.local()
    }

    /// Compares what is open with what is wanted.
    pub(super) fn changes(&self, wanted: &TargetConfig) -> Changes {
        let mut changes = Changes::default();
        for number in self.luns.keys() {
            if !wanted.luns.iter().any(|lun| lun.number == *number) {
                changes.close.push(*number);
            }
        }
        for lun in &wanted.luns {
            match self.luns.get(&lun.number) {
                Some(open) if open == lun => {}
                Some(open) if differs_in_passing(open, lun) => changes.resize.push(lun.clone()),
                Some(_) => {
                    changes.close.push(lun.number);
                    changes.open.push(lun.clone());
                }
                None => changes.open.push(lun.clone()),
            }
        }
        changes
    }

    /// Opens a unit, one command of which carries `max_transfer` bytes at most: what it remembers and its device. Nothing is served
    /// yet, so that several can be opened at a time.
    pub(super) async fn open(
        target: &TargetConfig,
        lun: &LunConfig,
        max_transfer: u32,
        context: &BackendContext,
        state: &Store,
        spawner: Arc<dyn Spawner>,
    ) -> Result<Arc<LogicalUnit<Device>>, VolumeError> {
        let config = unit_config(target, lun, max_transfer);
        // Its lock comes first: a unit that another process serves is left alone.
        let memory = state.unit(config.identity.naa()).await?;
        let device = backend::open(&lun.device, &OpenOptions::from(lun), context).await?;
        let size = device.geometry().size;
        tracing::info!(target = %target.iqn, lun = lun.number, device = %lun.device, size, "volume open");
        let unit = LogicalUnit::new(config, device).with_spawner(spawner);
        unit.space().set_threshold(lun.low_space);
        let Some(memory) = memory else { return Ok(Arc::new(unit)) };
        let unit = Arc::new(unit.with_memory(memory));
        unit.recall().await.map_err(|(document, error)| VolumeError::Recall { document, error })?;
        Ok(unit)
    }

    /// Serves a unit.
    pub(super) fn add(&mut self, lun: LunConfig, unit: Arc<LogicalUnit<Device>>, metrics: &Metrics) {
        let watcher = SpaceWatcher::start(&unit, self.local().name(), lun.number);
        self.watchers().insert(lun.number, watcher);
        self.local().add_unit(lun.number, unit);
        self.know(lun, metrics);
    }

    /// Counts what is done to a unit, and limits it.
    fn know(&mut self, lun: LunConfig, metrics: &Metrics) {
        let volume = metrics.volume(self.local().name(), lun.number);
        self.device.volumes.rcu(|volumes| {
            let mut volumes: Vec<_> = volumes.iter().filter(|(own, _)| *own != lun.number).cloned().collect();
            volumes.push((lun.number, Arc::clone(&volume)));
            volumes.sort_by_key(|(number, _)| *number);
            volumes
        });
        self.limit(lun.number, lun.limits);
        self.luns.insert(lun.number, lun);
    }

    fn watchers(&self) -> MutexGuard<'_, BTreeMap<u16, SpaceWatcher>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a unit that other nodes serve too.
    pub(super) fn add_shared(
        &mut self,
        lun: LunConfig,
        opened: OpenShared,
        cluster: &Cluster,
        metrics: &Metrics,
    ) {
        if let Some(target) = self.device.server.as_shared() {
            self.local().add_unit(lun.number, Arc::clone(&opened.shell));
            cluster.add(opened.serve(target, lun.number, &self.watchers));
            self.know(lun, metrics);
        }
    }

    /// Takes a unit away: its commands end, its device is flushed and closed.
    pub(super) async fn close(&mut self, number: u16, metrics: &Metrics, cluster: Option<&Cluster>) {
        self.luns.remove(&number);
        let shared = self.device.server.as_shared();
        if let Some((cluster, target)) = cluster.zip(shared)
            && let Some(unit) = target.unit(number)
        {
            if tokio::time::timeout(CLOSE_PATIENCE, cluster.remove(unit.name())).await.is_err() {
                tracing::error!(volume = %unit.name(), "the volume could not be let go of before it is closed");
            }
            target.remove_unit(number);
        }
        let watcher = self.watchers().remove(&number);
        if let Some(watcher) = watcher {
            watcher.stop().await;
        }
        // Commands that wait find out that it is gone.
        self.limit(number, Limits::NONE);
        let Some(unit) = self.local().remove_unit(number) else { return };
        let name = Arc::clone(self.local().name());
        if tokio::time::timeout(CLOSE_PATIENCE, unit.settled()).await.is_err() {
            tracing::error!(target = %name, lun = number, "commands did not end before the volume is closed");
        }
        match tokio::time::timeout(CLOSE_PATIENCE, unit.device().flush()).await {
            Ok(Ok(())) => tracing::info!(target = %name, lun = number, "volume closed"),
            Ok(Err(error)) => tracing::error!(target = %name, lun = number, %error, "flush at close failed"),
            Err(_) => tracing::error!(target = %name, lun = number, "flush at close did not end"),
        }
        self.device
            .volumes
            .rcu(|volumes| volumes.iter().filter(|(own, _)| *own != number).cloned().collect::<Vec<_>>());
        metrics.forget_volume(&name, number);
    }

    /// Gives a unit the size, the limits and the threshold that are wanted now; initiators are told of the size by a unit attention.
    pub(super) async fn resize(&mut self, lun: LunConfig) -> Result<(), VolumeError> {
        let Some(unit) = self.local().unit(lun.number) else { return Ok(()) };
        let found = unit.device().geometry().size;
        unit.space().set_threshold(lun.low_space);
        self.limit(lun.number, lun.limits);
        match lun.size {
            Some(wanted) if wanted < found && !lun.shrink => {
                return Err(VolumeError::WouldShrink { found, wanted });
            }
            Some(wanted) if wanted > found && !lun.grow => {
                return Err(VolumeError::WouldGrow { found, wanted });
            }
            Some(wanted) if wanted != found => {
                let resized = match unit.device().resize(wanted).await {
                    // Another node owns it, and does it when its configuration says the same.
                    Err(DeviceError::OwnershipLost) if self.device.server.as_shared().is_some() => {
                        self.luns.insert(lun.number, lun);
                        return Ok(());
                    }
                    resized => resized,
                };
                // A cut that is given up may have been made, or be made yet.
                if unit.device().geometry().size != found {
                    self.local().capacity_changed(lun.number);
                }
                resized.map_err(VolumeError::Resize)?;
                let target = self.local().name();
                let change = if wanted > found { "has grown" } else { "was cut short, as configured" };
                tracing::info!(%target, lun = lun.number, from = found, to = wanted, "volume {change}");
            }
            _ => {}
        }
        self.luns.insert(lun.number, lun);
        Ok(())
    }

    /// From now on these are the limits of a unit that is served.
    fn limit(&self, number: u16, limits: Limits) {
        if let Some(volume) = self.device.volume(number) {
            self.local().limit(number, Instant::now(), limits, || volume);
        }
    }

    /// The numbers of all units.
    pub(super) fn numbers(&self) -> Vec<u16> {
        self.luns.keys().copied().collect()
    }
}

/// What a unit is made with.
pub(super) fn unit_config(target: &TargetConfig, lun: &LunConfig, max_transfer: u32) -> UnitConfig {
    let names = target.identity(lun);
    UnitConfig {
        identity: Identity { naa: names.naa, ..Identity::new(names.serial) },
        block_size: lun.block_size,
        read_only: lun.read_only,
        removable: lun.removable,
        max_transfer,
    }
}

/// Whether a unit that is open need not be closed to become the other.
fn differs_in_passing(open: &LunConfig, wanted: &LunConfig) -> bool {
    let &LunConfig { size, preallocate, grow, shrink, low_space, limits, .. } = wanted;
    LunConfig { size, preallocate, grow, shrink, low_space, limits, ..open.clone() } == *wanted
}
