//! Reservations of a unit: persistent ones (SPC-5 5.14), and those by RESERVE and RELEASE (SPC-2 5.5.1) with the exceptions of SPC-4
//! 5.12.3 that let both live side by side (CRH).
//!
//! [`state`] and [`actions`] are what the standard says, as pure functions of names. This file keeps the one state of a unit: it knows
//! which nexuses are there, lets one PERSISTENT RESERVE OUT after the other change the state, and answers every command's question
//! whether it conflicts, which costs one atomic load as long as nobody has reserved anything.

pub mod actions;
pub mod document;
pub mod kind;
mod preemption;
pub mod registrant;
pub mod state;
mod turn;

pub use preemption::abort_tasks_of;
pub use turn::Turn;

use crate::scsi::command::{Nexus, NexusId};
use crate::scsi::row::ReservationClass;
use crate::scsi::sense::Status;
use arc_swap::ArcSwap;
use document::Notebook;
use registrant::{InitiatorPort, Registrant};
use state::State;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A nexus holds the unit by RESERVE.
const RESERVED: u8 = 1;
/// There is a persistent reservation.
const HELD: u8 = 2;
/// Somebody is registered.
const REGISTERED: u8 = 4;

/// See the module.
#[derive(Default)]
pub struct Reservations {
    /// Which of the bits above hold.
    present: AtomicU8,
    view: ArcSwap<View>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Arc<State>,
    /// The nexuses that are logged in.
    nexuses: HashMap<NexusId, Registrant>,
    /// The nexus that holds the unit by RESERVE.
    reserved_by: Option<NexusId>,
    /// A PERSISTENT RESERVE OUT is under way; those that wait for it.
    busy: bool,
    waiting: Vec<Waker>,
    notebook: Notebook,
}

/// What commands are measured against.
#[derive(Default)]
struct View {
    reserved_by: Option<NexusId>,
    /// There is a persistent reservation, and whether it keeps readers out.
    exclusive_access: Option<bool>,
    /// Those whom it keeps out of nothing: its holders, and who is registered where that suffices.
    admitted: Vec<NexusId>,
    state: Arc<State>,
}

impl Reservations {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what has changed visible to commands.
    fn publish(&self, inner: &Inner) {
        let state = &inner.state;
        let reservation = state.reservation();
        let admitted = reservation.map_or_else(Vec::new, |reservation| {
            let admits = |registrant| {
                let standing = state.standing(registrant);
                standing.holds || standing.registered && reservation.kind.admits_registrants()
            };
            let nexuses = inner.nexuses.iter().filter(|(_, registrant)| admits(registrant));
            nexuses.map(|(nexus, _)| *nexus).collect()
        });
        let present = [
            (inner.reserved_by.is_some(), RESERVED),
            (reservation.is_some(), HELD),
            (state.registrations().len() > 0, REGISTERED),
        ];
        self.view.store(Arc::new(View {
            reserved_by: inner.reserved_by,
            exclusive_access: reservation.map(|reservation| reservation.kind.is_exclusive_access()),
            admitted,
            state: Arc::clone(state),
        }));
        let present = present.iter().filter(|(holds, _)| *holds).fold(0, |bits, (_, bit)| bits | bit);
        self.present.store(present, Ordering::Release);
    }

    /// Registrations and the persistent reservation as they are.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.view.load().state)
    }

    /// Begins with what was kept the last time.
    pub(super) fn restore(&self, state: State, notebook: Notebook) {
        let mut inner = self.lock();
        inner.state = Arc::new(state);
        inner.notebook = notebook;
        self.publish(&inner);
    }

    /// A nexus came into being: it has what is registered for its ports.
    pub fn admit(&self, nexus: &Nexus) {
        let mut inner = self.lock();
        inner.nexuses.insert(nexus.id, Registrant::of(nexus));
        self.publish_if_any(&inner);
    }

    /// A nexus is lost: what it held by RESERVE ends, registrations and persistent reservations stay (SPC-5 5.14.1).
    pub fn forget(&self, nexus: NexusId) {
        let mut inner = self.lock();
        inner.nexuses.remove(&nexus);
        inner.reserved_by.take_if(|holder| *holder == nexus);
        self.publish_if_any(&inner);
    }

    /// For changes that mean nothing while nothing is reserved.
    fn publish_if_any(&self, inner: &Inner) {
        if self.present.load(Ordering::Relaxed) != 0 {
            self.publish(inner);
        }
    }

    /// RESERVE: the whole unit for a nexus.
    pub fn reserve(&self, nexus: NexusId) -> Result<(), Status> {
        let mut inner = self.lock();
        if inner.busy {
            // Whether it conflicts is not known yet.
            return Err(Status::Busy);
        }
        if inner.state.registrations().len() > 0 {
            return match self.view.load().admitted.contains(&nexus) {
                // SPC-4 5.12.3: GOOD, and nothing is reserved.
                true => Ok(()),
                false => Err(Status::ReservationConflict),
            };
        }
        if *inner.reserved_by.get_or_insert(nexus) != nexus {
            return Err(Status::ReservationConflict);
        }
        self.publish(&inner);
        Ok(())
    }

    /// RELEASE: gives up what the nexus holds by RESERVE; nothing happens when it holds nothing.
    pub fn release(&self, nexus: NexusId) {
        let mut inner = self.lock();
        if inner.reserved_by.take_if(|holder| *holder == nexus).is_some() {
            self.publish(&inner);
        }
    }

    /// A reset: ends what is held by RESERVE, and nothing that is persistent (SPC-5 5.14.1).
    pub fn reset(&self) {
        let mut inner = self.lock();
        if inner.reserved_by.take().is_some() {
            self.publish(&inner);
        }
    }

    /// Whether a command of this class, sent by this nexus, meets a reservation that forbids it.
    pub fn conflicts(&self, nexus: NexusId, class: ReservationClass) -> bool {
        use ReservationClass::{Exempt, Persistent, Read, Release, Reserve, Tolerant, Write};
        let concerns = match class {
            Exempt => 0,
            Tolerant | Persistent => RESERVED,
            Read | Write => RESERVED | HELD,
            Reserve | Release => RESERVED | REGISTERED,
            ReservationClass::WriteUnless(_) => RESERVED | HELD,
        };
        if self.present.load(Ordering::Acquire) & concerns == 0 {
            return false;
        }
        let view = self.view.load();
        let reserved = match class {
            Exempt | Release => false,
            // SPC-2 5.5.1: not even from the nexus that holds the unit.
            Persistent => view.reserved_by.is_some(),
            _ => view.reserved_by.is_some_and(|holder| holder != nexus),
        };
        let kept_out = match class {
            Exempt | Tolerant | Persistent => false,
            Read => view.exclusive_access == Some(true),
            Write | ReservationClass::WriteUnless(_) => view.exclusive_access.is_some(),
            Reserve | Release => view.state.registrations().len() > 0,
        };
        reserved || kept_out && !view.admitted.contains(&nexus)
    }

    /// Initiator ports with this name that are logged in.
    pub fn ports_named(&self, name: &str) -> Vec<InitiatorPort> {
        let inner = self.lock();
        let ports = inner.nexuses.values().map(|registrant| &registrant.initiator);
        let mut ports: Vec<_> = ports.filter(|port| port.name.eq_ignore_ascii_case(name)).cloned().collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

#[cfg(test)]
mod model_tests;

#[cfg(test)]
mod oracle;
