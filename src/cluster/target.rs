//! A target whose units several nodes serve.

use super::hub::Hub;
use super::unit::SharedUnit;
use crate::backend::Device;
use arc_swap::ArcSwap;
use futures_util::future::join_all;
use glint_target_core::lun::target::TargetDevice;
use glint_target_core::lun::task_set::Abort;
use glint_target_core::scsi::command::{
    Command, DeviceServer, Nexus, NexusId, Outcome, TaskManagement, TaskManagementOutcome,
};
use glint_target_core::scsi::lun_address::{LunAddress, LunKind};
use glint_target_core::scsi::sense::Asc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A unit and its number, in ascending order of the numbers.
type Inventory = Vec<(u16, Arc<SharedUnit>)>;

/// See the module.
pub struct SharedTarget {
    hub: Arc<Hub>,
    local: Arc<TargetDevice<Device>>,
    units: ArcSwap<Inventory>,
}

impl SharedTarget {
    /// Without units; `local` has the units as this node executes commands on them.
    pub fn new(hub: Arc<Hub>, local: Arc<TargetDevice<Device>>) -> Arc<Self> {
        Arc::new(Self { hub, local, units: ArcSwap::default() })
    }

    /// Its iSCSI name.
    pub fn name(&self) -> &Arc<str> {
        self.local.name()
    }

    /// The units as this node executes commands on them.
    pub fn local(&self) -> &Arc<TargetDevice<Device>> {
        &self.local
    }

    /// What all shared targets of the node have in common.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// All units.
    pub fn units(&self) -> Arc<Inventory> {
        self.units.load_full()
    }

    /// The unit of this number.
    pub fn unit(&self, number: u16) -> Option<Arc<SharedUnit>> {
        let units = self.units.load();
        let at = units.binary_search_by_key(&number, |(own, _)| *own).ok()?;
        units.get(at).map(|(_, unit)| Arc::clone(unit))
    }

    /// The unit of this address.
    pub fn unit_at(&self, lun: LunAddress) -> Option<Arc<SharedUnit>> {
        match lun.kind() {
            LunKind::Unit(number) => self.unit(number),
            LunKind::ReportLuns | LunKind::Unknown => None,
        }
    }

    /// One more unit, or another under this number.
    pub fn add_unit(&self, number: u16, unit: &Arc<SharedUnit>) {
        self.change(|units| {
            units.retain(|(own, _)| *own != number);
            units.push((number, Arc::clone(unit)));
            units.sort_by_key(|(own, _)| *own);
        });
    }

    /// One unit less.
    pub fn remove_unit(&self, number: u16) {
        self.change(|units| units.retain(|(own, _)| *own != number));
    }

    fn change(&self, change: impl Fn(&mut Inventory)) {
        self.units.rcu(|units| {
            let mut units = Inventory::clone(units);
            change(&mut units);
            units
        });
    }

    /// Runs a command that came in at this node.
    pub async fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> Outcome {
        match self.unit_at(command.lun) {
            Some(unit) => unit.execute(nexus, command).await,
            None => self.local.execute(nexus, command).await,
        }
    }

    /// Carries out a task management function that came in at this node.
    pub async fn manage(&self, nexus: &Arc<Nexus>, function: TaskManagement) -> TaskManagementOutcome {
        if let Some(lun) = function.lun() {
            return match self.unit_at(lun) {
                Some(unit) => unit.manage(nexus, function).await,
                None => self.local.manage(nexus, function).await,
            };
        }
        // What ends with the nexus everywhere, or is reset everywhere.
        let whole = |lun| match function {
            TaskManagement::ITNexusReset => TaskManagement::AbortTaskSet { lun },
            _ => TaskManagement::LogicalUnitReset { lun },
        };
        let units = self.units();
        let elsewhere = units.iter().filter(|(_, unit)| unit.gate().epoch().is_none());
        join_all(elsewhere.map(|(number, unit)| unit.manage(nexus, whole(LunAddress::from_number(*number)))))
            .await;
        self.local.manage(nexus, function).await
    }

    /// The owner of a unit aborts the tasks of a nexus: what its transport here holds of it ends too. How many tasks there were.
    pub async fn abort_held(&self, nexus: NexusId, lun: LunAddress, how: Abort) -> u32 {
        let LunKind::Unit(number) = lun.kind() else { return 0 };
        if let Some(unit) = self.unit(number) {
            unit.abort_waiting(nexus, None);
        }
        let count = Arc::new(AtomicU32::new(0));
        let silenced = {
            let count = Arc::clone(&count);
            move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        self.local.notices().abort(number, |own| (own == nexus).then_some(how), silenced).all().await;
        count.load(Ordering::Relaxed)
    }

    /// The owner of a unit tells of a change, for initiators that want to hear of it at once.
    pub fn event(&self, nexus: NexusId, lun: LunAddress, condition: Asc) {
        self.local.notices().announce_to(nexus, lun, condition);
    }

    /// A nexus came into being at this node.
    pub fn nexus_established(self: &Arc<Self>, nexus: &Arc<Nexus>) {
        self.hub.nexus_established(nexus, self);
        self.local.nexus_established(nexus);
    }

    /// It is lost.
    pub fn nexus_lost(&self, nexus: &Arc<Nexus>) {
        self.local.nexus_lost(nexus);
        self.hub.nexus_lost(nexus);
    }
}
