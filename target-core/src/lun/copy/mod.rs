//! The copy manager (SPC-5 5.17): copies between the units of this node without the data passing through an initiator.
//!
//! One manager is shared by all targets of a node, for initiators often have one target for each unit. It knows which units there are,
//! which nexuses, and which tokens stand for which blocks ([`tokens`]). What third-party copy commands have come to is known by the unit that
//! they were sent to ([`operations`]).
//!
//! Who may copy: an initiator reaches a unit only through a nexus that it has, at that moment, with the target of that unit. The copy
//! reads and writes on behalf of this nexus, so that reservations and access to targets hold for copies as they do for reads and writes.
//! Since a name is only claimed, the nexus through which the command came must have been let in on the strength of what the other target
//! asks for too ([`Nexus::proofs`]): whoever copies from a unit could have logged in to its target.

pub mod operations;
pub mod permits;
pub mod tokens;
pub mod watch;

use super::unit::LogicalUnit;
use crate::device::BlockDevice;
use crate::scsi::command::{Nexus, NexusId};
use permits::Permits;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokens::Tokens;

/// Pieces of the data of copies that are in memory at a time, in all of the node.
const PIECES: usize = 32;

/// See the module.
pub struct CopyManager<D> {
    directory: Mutex<Directory<D>>,
    permits: Permits,
    tokens: Tokens<D>,
    now: fn() -> Instant,
}

struct Directory<D> {
    units: Vec<Listed<D>>,
    nexuses: HashMap<NexusId, Arc<Nexus>>,
}

/// A unit that is served.
struct Listed<D> {
    target: Arc<str>,
    unit: Weak<LogicalUnit<D>>,
}

/// A unit within reach of an initiator.
pub struct Reached<D> {
    /// The unit.
    pub unit: Arc<LogicalUnit<D>>,
    /// The initiator's nexus with the unit's target.
    pub nexus: Arc<Nexus>,
}

impl<D> Clone for Reached<D> {
    fn clone(&self) -> Self {
        Self { unit: Arc::clone(&self.unit), nexus: Arc::clone(&self.nexus) }
    }
}

impl<D: BlockDevice> Default for CopyManager<D> {
    fn default() -> Self {
        Self::new(Instant::now)
    }
}

impl<D: BlockDevice> CopyManager<D> {
    /// A manager that takes the time from `now`.
    pub fn new(now: fn() -> Instant) -> Self {
        let directory = Directory { units: Vec::new(), nexuses: HashMap::new() };
        Self {
            directory: Mutex::new(directory),
            permits: Permits::new(PIECES),
            tokens: Tokens::default(),
            now,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Directory<D>> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time.
    pub fn now(&self) -> Instant {
        (self.now)()
    }

    /// Leave to hold pieces in memory.
    pub fn permits(&self) -> &Permits {
        &self.permits
    }

    /// The tokens that are valid.
    pub fn tokens(&self) -> &Tokens<D> {
        &self.tokens
    }

    /// A unit is served by a target.
    pub fn unit_added(&self, target: &Arc<str>, unit: &Arc<LogicalUnit<D>>) {
        let mut directory = self.lock();
        directory.units.retain(|listed| listed.unit.strong_count() > 0);
        directory.units.push(Listed { target: Arc::clone(target), unit: Arc::downgrade(unit) });
    }

    /// A unit is no longer served by a target: no step of a copy begins on it any more.
    pub fn unit_removed(&self, target: &str, unit: &Arc<LogicalUnit<D>>) {
        let is_it = |listed: &Listed<D>| {
            &*listed.target == target && std::ptr::eq(listed.unit.as_ptr(), Arc::as_ptr(unit))
        };
        self.lock().units.retain(|listed| !is_it(listed));
    }

    /// A nexus came into being.
    pub fn nexus_established(&self, nexus: &Arc<Nexus>) {
        self.lock().nexuses.insert(nexus.id, Arc::clone(nexus));
        self.tokens.sweep(self.now());
    }

    /// A nexus is lost: nothing is reached through it any more.
    pub fn nexus_lost(&self, nexus: NexusId) {
        self.lock().nexuses.remove(&nexus);
        self.tokens.sweep(self.now());
    }

    /// The first unit that `wanted` agrees to among those that the initiator of `nexus` may reach.
    pub fn reach(
        &self,
        nexus: &Arc<Nexus>,
        wanted: impl Fn(&Arc<LogicalUnit<D>>) -> bool,
    ) -> Option<Reached<D>> {
        let directory = self.lock();
        let units =
            directory.units.iter().filter_map(|listed| Some((&listed.target, listed.unit.upgrade()?)));
        let mut reached = units.filter(|(_, unit)| wanted(unit)).filter_map(|(target, unit)| {
            let nexus = directory.nexus_with(target, nexus)?;
            Some(Reached { unit, nexus })
        });
        reached.next()
    }

    /// Whether the unit is still within reach.
    pub fn is_reachable(&self, end: &Reached<D>) -> bool {
        let directory = self.lock();
        directory.nexuses.contains_key(&end.nexus.id)
            && directory.units.iter().any(|listed| std::ptr::eq(listed.unit.as_ptr(), Arc::as_ptr(&end.unit)))
    }
}

impl<D> Directory<D> {
    /// The nexus that the initiator of `own` has with a target: `own` itself, else one of the same initiator port, else any of the same
    /// name (RFC 7143 §4.4.1: the name is the initiator); of those only such as `own` could have had too.
    fn nexus_with(&self, target: &str, own: &Arc<Nexus>) -> Option<Arc<Nexus>> {
        if own.target_name.eq_ignore_ascii_case(target) && self.nexuses.contains_key(&own.id) {
            return Some(Arc::clone(own));
        }
        let same = self.nexuses.values().filter(|nexus| {
            nexus.target_name.eq_ignore_ascii_case(target)
                && nexus.initiator_name.eq_ignore_ascii_case(&own.initiator_name)
                && own.suffices_for(nexus)
        });
        same.min_by_key(|nexus| (nexus.isid != own.isid, nexus.id)).cloned()
    }
}
