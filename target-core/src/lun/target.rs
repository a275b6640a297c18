//! The target device: which units there are, which nexuses, and how a command finds its unit.

use super::alua::TARGET_PORT_GROUP;
use super::copy::CopyManager;
use super::notice::{Listener, Notices};
use super::throttle::{Limits, Meter, Throttle, Throttling};
use super::unit::LogicalUnit;
use crate::device::BlockDevice;
use crate::scsi::command::{
    Command, DeviceServer, Nexus, NexusId, Outcome, TaskManagement, TaskManagementOutcome,
};
use crate::scsi::lun_address::{LunAddress, LunKind};
use crate::scsi::row::Site;
use crate::scsi::sense::Asc;
use crate::scsi::table::Table;
use crate::scsi::{asc, dispatch, no_unit};
use arc_swap::ArcSwap;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// A unit and its number, in ascending order of the numbers.
pub type Inventory<D> = Vec<(u16, Arc<LogicalUnit<D>>)>;

/// The logical units of one target.
pub struct TargetDevice<D> {
    name: Arc<str>,
    /// Replaced as a whole when units come and go; commands only ever load it.
    units: ArcSwap<Inventory<D>>,
    ports: ArcSwap<BTreeMap<u16, u16>>,
    /// Those that are logged in. Also held while the inventory changes, so that no nexus misses a unit.
    nexuses: Mutex<HashMap<NexusId, Arc<Nexus>>>,
    copies: Arc<CopyManager<D>>,
    notices: Arc<Notices>,
    throttling: Arc<Throttling>,
}

impl<D: BlockDevice> TargetDevice<D> {
    /// A target without units, alone on its node.
    pub fn new(name: Arc<str>) -> Self {
        Self::sharing(name, Arc::default())
    }

    /// A target without units, with the copy manager of its node.
    pub fn sharing(name: Arc<str>, copies: Arc<CopyManager<D>>) -> Self {
        Self {
            name,
            units: ArcSwap::default(),
            ports: ArcSwap::default(),
            nexuses: Mutex::default(),
            copies,
            notices: Arc::default(),
            throttling: Arc::new(Throttling::new(Table::<D>::toll)),
        }
    }

    /// The copy manager.
    pub fn copies(&self) -> &Arc<CopyManager<D>> {
        &self.copies
    }

    /// Its iSCSI name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The units, in ascending order of their numbers.
    pub fn units(&self) -> Arc<Inventory<D>> {
        self.units.load_full()
    }

    /// The unit of this number.
    pub fn unit(&self, number: u16) -> Option<Arc<LogicalUnit<D>>> {
        let units = self.units.load();
        let at = units.binary_search_by_key(&number, |(own, _)| *own).ok()?;
        units.get(at).map(|(_, unit)| unit.clone())
    }

    /// Adds a unit under a number below 16384, in place of one that has the number already, and tells every nexus; returns the unit that it replaced.
    pub fn add_unit(&self, number: u16, unit: Arc<LogicalUnit<D>>) -> Option<Arc<LogicalUnit<D>>> {
        let nexuses = self.lock();
        nexuses.values().for_each(|nexus| unit.admit(nexus));
        self.copies.unit_added(&self.name, &unit);
        let replaced =
            self.change_inventory(|units| match units.binary_search_by_key(&number, |(own, _)| *own) {
                Ok(at) => units.get_mut(at).map(|place| std::mem::replace(&mut place.1, unit)),
                Err(at) => {
                    units.insert(at, (number, unit));
                    None
                }
            });
        replaced.inspect(|unit| self.copies.unit_removed(&self.name, unit))
    }

    /// Puts a unit in place of one that is the same to initiators: this node takes a volume over, or has let go of it. Every nexus is told of the
    /// condition, and of nothing else. Tasks of the one before come to their end there; see [`LogicalUnit::settled`].
    pub fn replace_unit(
        &self,
        number: u16,
        unit: Arc<LogicalUnit<D>>,
        condition: Asc,
    ) -> Option<Arc<LogicalUnit<D>>> {
        let nexuses = self.lock();
        let mut after = Inventory::clone(&self.units());
        let at = after.binary_search_by_key(&number, |(own, _)| *own).ok()?;
        nexuses.values().for_each(|nexus| unit.admit_with(nexus, condition));
        self.copies.unit_added(&self.name, &unit);
        let old = after.get_mut(at).map(|place| std::mem::replace(&mut place.1, unit))?;
        self.units.store(Arc::new(after));
        self.copies.unit_removed(&self.name, &old);
        self.notices.announce(LunAddress::from_number(number), condition);
        Some(old)
    }

    /// Where a command is executed that comes to a unit which several nodes serve.
    pub fn site(cdb: &[u8]) -> Site {
        Table::<D>::site(cdb)
    }

    /// Takes a unit away and tells every nexus. Tasks that run on it come to their end; see [`LogicalUnit::settled`].
    pub fn remove_unit(&self, number: u16) -> Option<Arc<LogicalUnit<D>>> {
        let _nexuses = self.lock();
        let at = self.units.load().binary_search_by_key(&number, |(own, _)| *own).ok()?;
        let removed = self.change_inventory(|units| Some(units.remove(at).1));
        removed.inspect(|unit| self.copies.unit_removed(&self.name, unit))
    }

    /// SPC-5 6.33: every unit that stays tells that the inventory has changed.
    fn change_inventory<T>(&self, change: impl FnOnce(&mut Inventory<D>) -> T) -> T {
        let before = self.units();
        let mut after = Inventory::clone(&before);
        let result = change(&mut after);
        let after = Arc::new(after);
        // The inventory first: who hears of the change and asks at once must not be told the old one.
        self.units.store(after.clone());
        let has_stayed = |(number, unit): &&(u16, Arc<LogicalUnit<D>>)| {
            before.iter().any(|(own, other)| own == number && Arc::ptr_eq(other, unit))
        };
        let stayed: Vec<_> = after.iter().filter(has_stayed).collect();
        stayed.iter().for_each(|(_, unit)| unit.attentions().raise(asc::REPORTED_LUNS_DATA_HAS_CHANGED));
        // Once for all units, as it is told by one of them only (SAM-5 5.14.4).
        let lun = LunAddress::from_number(stayed.first().map_or(0, |(number, _)| *number));
        self.notices.announce(lun, asc::REPORTED_LUNS_DATA_HAS_CHANGED);
        result
    }

    /// The size of a unit's device has changed: tells every nexus.
    pub fn capacity_changed(&self, number: u16) {
        if let Some(unit) = self.unit(number) {
            unit.capacity_changed();
            self.notices.announce(LunAddress::from_number(number), asc::CAPACITY_DATA_HAS_CHANGED);
        }
    }

    /// From now on these are the limits of a unit; `meter` hears of those who waited, from when it has any.
    pub fn limit(&self, number: u16, now: Instant, limits: Limits, meter: impl FnOnce() -> Arc<dyn Meter>) {
        let _nexuses = self.lock();
        self.throttling.limit(number, now, limits, || Arc::new(Throttle::new(meter())));
    }

    /// Those who are told what no command asks for.
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// All ports, each by its RELATIVE TARGET PORT IDENTIFIER and its portal group tag; the one through which a nexus came counts as
    /// known anyway.
    pub fn set_ports(&self, ports: impl IntoIterator<Item = (u16, u16)>) {
        self.ports.store(Arc::new(ports.into_iter().collect()));
    }

    /// The ports as a nexus is told of them: the portal group tag of each RELATIVE TARGET PORT IDENTIFIER.
    pub fn ports(&self, nexus: &Nexus) -> BTreeMap<u16, u16> {
        let mut ports = BTreeMap::clone(&self.ports.load());
        ports.insert(nexus.relative_port, nexus.portal_group_tag);
        ports
    }

    /// The nexuses that are logged in, in the order in which they came.
    pub fn nexuses(&self) -> Vec<Arc<Nexus>> {
        let mut nexuses: Vec<_> = self.lock().values().cloned().collect();
        nexuses.sort_by_key(|nexus| nexus.id);
        nexuses
    }

    /// A nexus is there that has been somewhere else before: another node has it, or this one takes its units over. It hears of that condition first.
    pub fn admit(&self, nexus: &Arc<Nexus>, condition: Asc) {
        let mut nexuses = self.lock();
        nexuses.insert(nexus.id, Arc::clone(nexus));
        self.copies.nexus_established(nexus);
        self.units().iter().for_each(|(_, unit)| unit.admit_with(nexus, condition));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NexusId, Arc<Nexus>>> {
        self.nexuses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: BlockDevice> DeviceServer for TargetDevice<D> {
    async fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> Outcome {
        let kind = command.lun.kind();
        if let LunKind::Unit(number) = kind
            && let Some(unit) = self.unit(number)
        {
            return dispatch::run(self, &unit, nexus, &command).await;
        }
        let units = self.units.load();
        let numbers: Vec<u16> = units.iter().map(|(number, _)| *number).collect();
        // All units of a target are served by the same nodes.
        let group = units.first().map_or(TARGET_PORT_GROUP, |(_, unit)| unit.own_port_group());
        let place = no_unit::Place { kind, nexus, group, units: &numbers };
        Outcome::Done(no_unit::answer::<D>(&command, &place))
    }

    async fn manage(&self, nexus: &Arc<Nexus>, function: TaskManagement) -> TaskManagementOutcome {
        super::manage::manage(self, nexus.id, function).await
    }

    fn throttling(&self) -> Option<&Arc<Throttling>> {
        Some(&self.throttling)
    }

    fn listen(&self, nexus: NexusId, waker: Waker) -> Listener {
        self.notices.listen(nexus, waker)
    }

    fn nexus_established(&self, nexus: &Arc<Nexus>) {
        self.admit(nexus, asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED);
    }

    fn nexus_lost(&self, nexus: &Arc<Nexus>) {
        let mut nexuses = self.lock();
        nexuses.remove(&nexus.id);
        self.copies.nexus_lost(nexus.id);
        self.units().iter().for_each(|(_, unit)| super::manage::lose_nexus(unit, nexus.id));
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
