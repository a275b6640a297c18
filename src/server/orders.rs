//! What others can tell a connection's task: flags and a waker, so that no message can pile up or be lost.

use super::connection::Candidate;
use futures_util::task::AtomicWaker;
use glint_target_core::session::event::Leg;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

const DRAIN: u16 = 1;
const REINSTATED: u16 = 2;
const REVOKED: u16 = 4;
const CUT: u16 = 8;
const CROWDED_OUT: u16 = 16;
/// Not an order but the other way round: the connection has logged in.
const LOGGED_IN: u16 = 32;
const RESET: u16 = 64;
/// The device server has something to tell.
const NOTICED: u16 = 128;
/// Others ask to join the session.
const KNOCK: u16 = 256;
/// Some connections of the session are to end.
const WITHDRAWN: u16 = 512;
/// What is declared in logins has changed.
const REDECLARED: u16 = 1024;

/// Why a connection is told to end at once, the session's commands being finished first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dismissal {
    /// The same initiator port has logged in anew.
    Reinstated,
    /// Its target is not served to this initiator any more.
    Revoked,
    /// Another session has reset the target.
    TargetReset,
    /// The process ends.
    Cut,
    /// It has not logged in yet, and others want its place.
    CrowdedOut,
}

/// One connection's orders.
pub(super) struct Orders {
    flags: AtomicU16,
    task: AtomicWaker,
    peer: IpAddr,
    door: Mutex<Door>,
    legs: Mutex<Legs>,
}

/// Who waits to join the session. Looked at only when somebody has knocked.
#[derive(Default)]
struct Door {
    waiting: Vec<Candidate>,
    /// The session has ended.
    is_shut: bool,
}

/// The connections of the session. Looked at when one comes or goes, and when it is judged anew who may be here.
struct Legs {
    open: Vec<(Leg, IpAddr)>,
    withdrawn: Vec<Leg>,
}

impl Orders {
    /// For a connection from this address.
    pub(super) fn new(peer: IpAddr) -> Self {
        let legs = Legs { open: vec![(Leg::FIRST, peer)], withdrawn: Vec::new() };
        Self {
            flags: AtomicU16::default(),
            task: AtomicWaker::default(),
            peer,
            door: Mutex::default(),
            legs: Mutex::new(legs),
        }
    }

    /// Where the connection comes from.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Ask the initiator to log out, and end after that.
    pub(super) fn drain(&self) {
        self.give(DRAIN);
    }

    /// End.
    pub(super) fn dismiss(&self, why: Dismissal) {
        self.give(match why {
            Dismissal::Reinstated => REINSTATED,
            Dismissal::Revoked => REVOKED,
            Dismissal::TargetReset => RESET,
            Dismissal::Cut => CUT,
            Dismissal::CrowdedOut => CROWDED_OUT,
        });
    }

    /// Notes that the connection has logged in.
    pub(super) fn set_logged_in(&self) {
        self.flags.fetch_or(LOGGED_IN, Ordering::Relaxed);
    }

    /// Tells a connection to end that has not logged in and was not told so before; whether it is one.
    pub(super) fn crowd_out(&self) -> bool {
        let may = self.flags.load(Ordering::Relaxed) & (LOGGED_IN | CROWDED_OUT) == 0;
        if may {
            self.dismiss(Dismissal::CrowdedOut);
        }
        may
    }

    fn give(&self, flag: u16) {
        self.flags.fetch_or(flag, Ordering::Release);
        self.task.wake();
    }

    /// Has `waker` woken by the next order.
    pub(super) fn register(&self, waker: &Waker) {
        self.task.register(waker);
    }

    /// The dismissal, if there was one.
    pub(super) fn dismissal(&self) -> Option<Dismissal> {
        let flags = self.flags.load(Ordering::Acquire);
        let dismissals = [
            (REINSTATED, Dismissal::Reinstated),
            (REVOKED, Dismissal::Revoked),
            (RESET, Dismissal::TargetReset),
            (CUT, Dismissal::Cut),
            (CROWDED_OUT, Dismissal::CrowdedOut),
        ];
        dismissals.into_iter().find_map(|(flag, why)| (flags & flag != 0).then_some(why))
    }

    /// Whether there is anything to be done or known; almost always not.
    pub(super) fn is_any(&self) -> bool {
        self.flags.load(Ordering::Acquire) & !LOGGED_IN != 0
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a connection to be let into the session; it comes back when that has ended.
    pub(super) fn knock(&self, candidate: Box<Candidate>) -> Result<(), Box<Candidate>> {
        let mut door = self.door();
        if door.is_shut {
            return Err(candidate);
        }
        door.waiting.push(*candidate);
        drop(door);
        self.give(KNOCK);
        Ok(())
    }

    /// Those who have asked.
    pub(super) fn take_knocking(&self) -> Vec<Candidate> {
        if self.flags.load(Ordering::Acquire) & KNOCK == 0 {
            return Vec::new();
        }
        self.flags.fetch_and(!KNOCK, Ordering::AcqRel);
        std::mem::take(&mut self.door().waiting)
    }

    /// The session ends: who has asked and is not let in is given back, and nobody can ask any more.
    pub(super) fn shut(&self) -> Vec<Candidate> {
        let mut door = self.door();
        door.is_shut = true;
        std::mem::take(&mut door.waiting)
    }

    fn legs(&self) -> MutexGuard<'_, Legs> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more connection of the session, from this address.
    pub(super) fn opened(&self, leg: Leg, peer: IpAddr) {
        self.legs().open.push((leg, peer));
    }

    /// One connection less.
    pub(super) fn closed(&self, leg: Leg) {
        self.legs().open.retain(|(open, _)| *open != leg);
    }

    /// The connections of the session, and where they come from.
    pub(super) fn open(&self) -> Vec<(Leg, IpAddr)> {
        self.legs().open.clone()
    }

    /// End these connections of the session.
    pub(super) fn withdraw(&self, legs: impl IntoIterator<Item = Leg>) {
        self.legs().withdrawn.extend(legs);
        self.give(WITHDRAWN);
    }

    /// The connections that are to end.
    pub(super) fn take_withdrawn(&self) -> Vec<Leg> {
        if !self.take(WITHDRAWN) {
            return Vec::new();
        }
        std::mem::take(&mut self.legs().withdrawn)
    }

    /// Whether to drain; true once.
    pub(super) fn take_drain(&self) -> bool {
        self.take(DRAIN)
    }

    /// The initiator is to learn what is declared in logins now.
    pub(super) fn redeclare(&self) {
        self.give(REDECLARED);
    }

    /// Whether it is to; true once.
    pub(super) fn take_redeclared(&self) -> bool {
        self.take(REDECLARED)
    }

    /// Whether the device server has something to tell; true once.
    pub(super) fn take_noticed(&self) -> bool {
        self.take(NOTICED)
    }

    fn take(&self, flag: u16) -> bool {
        self.flags.load(Ordering::Acquire) & flag != 0
            && self.flags.fetch_and(!flag, Ordering::AcqRel) & flag != 0
    }
}

/// As the waker of a listener to notices.
impl Wake for Orders {
    fn wake(self: Arc<Self>) {
        self.give(NOTICED);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.give(NOTICED);
    }
}
