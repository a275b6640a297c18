//! All connections that are open: their number is bounded, and drain reaches each.

use super::orders::{Dismissal, Orders};
use prometheus::IntGauge;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The open connections.
pub(super) struct Roster {
    state: Mutex<State>,
    left: Notify,
    gauge: IntGauge,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Arc<Orders>>,
    draining: bool,
}

impl Roster {
    pub(super) fn new(gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), left: Notify::new(), gauge })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection in, unless `max` are open or the node drains.
    pub(super) fn enter(self: &Arc<Self>, max: usize) -> Option<Enrolment> {
        let mut state = self.lock();
        if state.draining || state.open.len() >= max {
            return None;
        }
        let id = state.next;
        state.next += 1;
        let orders = Arc::new(Orders::default());
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
