//! All connections that are open: their number is bounded, and drain reaches each.

use super::orders::{Dismissal, Orders};
use prometheus::IntGauge;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// For every so many connections that may be open there may be one more that has been told to make room and is on its way out.
const LEAVING: usize = 4;

/// The open connections.
pub(super) struct Roster {
    state: Mutex<State>,
    left: Notify,
    gauge: IntGauge,
}

#[derive(Default)]
struct State {
    next: u64,
    /// In the order in which they came.
    open: BTreeMap<u64, Arc<Orders>>,
    draining: bool,
}

impl Roster {
    pub(super) fn new(gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), left: Notify::new(), gauge })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection from `peer` in, unless the node drains or `max` are open and all of them have logged in. Of those that have not, the oldest
    /// makes room: peers that connect and say nothing must not lock initiators out until their time is over.
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr, max: usize) -> Option<Enrolment> {
        let mut state = self.lock();
        let leaving = max / LEAVING + 1;
        if state.draining || state.open.len() >= max.saturating_add(leaving) {
            return None;
        }
        if state.open.len() >= max && !state.open.values().any(|orders| orders.crowd_out()) {
            return None;
        }
        let id = state.next;
        state.next += 1;
        let orders = Arc::new(Orders::new(peer));
        state.open.insert(id, Arc::clone(&orders));
        self.gauge.set(i64::try_from(state.open.len()).unwrap_or(i64::MAX));
        Some(Enrolment { roster: Arc::clone(self), id, orders })
    }

    /// Lets nobody in any more and asks all to leave.
    pub(super) fn drain(&self) {
        let mut state = self.lock();
        state.draining = true;
        state.open.values().for_each(|orders| orders.drain());
    }

    /// Has all tell their initiators what is declared in logins now.
    pub(super) fn redeclare(&self) {
        self.lock().open.values().for_each(|orders| orders.redeclare());
    }

    /// Has all leave at once.
    pub(super) fn cut(&self) {
        self.lock().open.values().for_each(|orders| orders.dismiss(Dismissal::Cut));
    }

    /// Ready when no connection is open.
    pub(super) async fn empty(&self) {
        loop {
            let left = self.left.notified();
            if self.lock().open.is_empty() {
                return;
            }
            left.await;
        }
    }
}

/// A connection's place in the roster, given back when dropped.
pub(super) struct Enrolment {
    roster: Arc<Roster>,
    id: u64,
    pub(super) orders: Arc<Orders>,
}

impl Drop for Enrolment {
    fn drop(&mut self) {
        let mut state = self.roster.lock();
        state.open.remove(&self.id);
        self.roster.gauge.set(i64::try_from(state.open.len()).unwrap_or(i64::MAX));
        drop(state);
        self.roster.left.notify_waiters();
    }
}
