//! Opening units that several nodes serve.

use super::space::SpaceWatcher;
use super::volumes::{VolumeError, Watchers, unit_config};
use crate::backend::{self, BackendContext, Device, LockOwner, OpenOptions, Switch};
use crate::cluster::{Cluster, Groups, Make, SharedTarget, SharedUnit, VolumeParts};
use crate::config::{DeviceSpec, LunConfig, TargetConfig, shared_name};
use futures_util::FutureExt;
use glint_target_core::device::BlockDevice;
use glint_target_core::lun::background::Spawner;
use glint_target_core::lun::memory::UnitMemory;
use glint_target_core::lun::unit::LogicalUnit;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What the store refuses waits so long for somebody to find out whose the volume is.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(8);

/// A unit whose device was seen, and that nobody serves yet.
pub(super) struct OpenShared {
    name: Arc<str>,
    /// What is asked here while another node owns the volume.
    pub(super) shell: Arc<LogicalUnit<Device>>,
    groups: Arc<Groups>,
    naa: [u8; 8],
    fences: bool,
    switch: Arc<Switch>,
    refusals: UnboundedReceiver<u64>,
    make: Arc<Make>,
    device: DeviceSpec,
    options: OpenOptions,
    context: BackendContext,
}

impl OpenShared {
    /// Looks at the device - makes it, where it is missing and has a size - and closes it again: whoever owns the volume opens it.
    pub(super) async fn open(
        target: &TargetConfig,
        lun: &LunConfig,
        max_transfer: u32,
        context: &BackendContext,
        cluster: &Cluster,
        spawner: Arc<dyn Spawner>,
    ) -> Result<Self, VolumeError> {
        let config = unit_config(target, lun, max_transfer);
        let naa = config.identity.naa();
        let name: Arc<str> = shared_name(target, lun).into();
        let options = OpenOptions { clustered: true, ..OpenOptions::from(lun) };
        let device = backend::open(&lun.device, &options, context).await?;
        let size = device.geometry().size;
        let fencing = backend::fencing(&lun.device, context).await?;
        let fences = match &fencing {
            backend::Fencing::Yes => true,
            backend::Fencing::No(reason) => {
                tracing::warn!(
                    volume = %name, reason,
                    "this volume can't be fenced: only clocks keep a node that was taken for dead from writing, see docs/ownership.md"
                );
                false
            }
        };
        let (refused, refusals) = unbounded_channel();
        let switched = device.switched(refused, REFUSAL_PATIENCE);
        let switch = Arc::clone(switched.switch());
        let groups = Groups::new(Arc::clone(&name), cluster.group().await, cluster.hub());
        tracing::info!(target = %target.iqn, lun = lun.number, device = %lun.device, size, fences, "volume known");
        let make = {
            let (groups, low_space) = (Arc::clone(&groups), lun.low_space);
            move |memory: Option<Arc<dyn UnitMemory>>| {
                let unit = LogicalUnit::new(config.clone(), switched.device())
                    .with_spawner(Arc::clone(&spawner))
                    .with_port_groups(Arc::clone(&groups) as _);
                unit.space().set_threshold(low_space);
                match memory {
                    Some(memory) => unit.with_memory(memory),
                    None => unit,
                }
            }
        };
        let shell = Arc::new(make(None));
        Ok(Self {
            name,
            shell,
            groups,
            naa,
            fences,
            switch,
            refusals,
            make: Arc::new(make),
            device: lun.device.clone(),
            options,
            context: context.clone(),
        })
    }

    /// Makes it part of its target.
    pub(super) fn serve(self, target: &Arc<SharedTarget>, lun: u16, watchers: &Watchers) -> VolumeParts {
        let hub = Arc::clone(target.hub());
        let unit = SharedUnit::new(self.name, hub, Arc::clone(target.local()), self.groups);
        target.add_unit(lun, &unit);
        let (name, watchers) = (Arc::clone(target.name()), Arc::clone(watchers));
        let serving = move |unit: Option<&Arc<LogicalUnit<Device>>>| {
            let mut watchers = watchers.lock().unwrap_or_else(PoisonError::into_inner);
            match unit {
                Some(unit) => drop(watchers.insert(lun, SpaceWatcher::start(unit, &name, lun))),
                None => drop(watchers.remove(&lun)),
            }
        };
        let Self { device, options, context, fences, .. } = self;
        let open = move |owner: String| {
            let (device, options, context) = (device.clone(), options.clone(), context.clone());
            async move {
                let owner = LockOwner::new(owner).filter(|_| fences);
                backend::open_owned(&device, &options, &context, owner.as_ref()).await
            }
            .boxed()
        };
        VolumeParts {
            unit,
            target: Arc::clone(target),
            lun,
            naa: self.naa,
            fences,
            switch: self.switch,
            refusals: self.refusals,
            open: Arc::new(open),
            make: self.make,
            serving: Arc::new(serving),
        }
    }
}
