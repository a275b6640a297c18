//! What others can tell a connection's task: flags and a waker, so that no message can pile up or be lost.

use futures_util::task::AtomicWaker;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Waker;

const DRAIN: u8 = 1;
const REINSTATED: u8 = 2;
const REVOKED: u8 = 4;
const CUT: u8 = 8;
const CROWDED_OUT: u8 = 16;
/// Not an order but the other way round: the connection has logged in.
const LOGGED_IN: u8 = 32;

/// Why a connection is told to end at once, the session's commands being finished first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dismissal {
    /// The same initiator port has logged in anew.
    Reinstated,
    /// Its target is served no longer, or not to this initiator.
    Revoked,
    /// The process ends.
    Cut,
    /// It has not logged in yet, and others want its place.
    CrowdedOut,
}

/// One connection's orders.
pub(super) struct Orders {
    flags: AtomicU8,
    task: AtomicWaker,
    peer: IpAddr,
}

impl Orders {
    /// For a connection from this address.
    pub(super) fn new(peer: IpAddr) -> Self {
        Self { flags: AtomicU8::default(), task: AtomicWaker::default(), peer }
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

    fn give(&self, flag: u8) {
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
            (CUT, Dismissal::Cut),
            (CROWDED_OUT, Dismissal::CrowdedOut),
        ];
        dismissals.into_iter().find_map(|(flag, why)| (flags & flag != 0).then_some(why))
    }

    /// Whether to drain; true once.
    pub(super) fn take_drain(&self) -> bool {
        self.flags.load(Ordering::Acquire) & DRAIN != 0
            && self.flags.fetch_and(!DRAIN, Ordering::AcqRel) & DRAIN != 0
    }
}
