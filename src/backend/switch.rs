//! A device that several nodes have and one at a time may touch: there is something behind it only while this node owns it.
//!
//! A store that fences refuses the I/O of all but the owner. What it refuses here (it is "lost") waits until somebody has found out whose the device is: it
//! goes on when the device is opened again, under the same epoch or a new one, and fails when it is closed.

use super::Backend;
use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, join_all};
use glint_target_core::device::{Capabilities, DeviceError, Geometry};
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// What is open, and since which opening.
#[derive(Debug)]
struct Opened {
    backend: Backend,
    opening: u64,
    /// The epoch, for who is told of a refusal.
    epoch: u64,
    /// Dropped with this: when nothing uses it any more.
    _used: oneshot::Sender<Infallible>,
}

/// Resolves when nothing that was begun on an opening can change anything any more.
type Ended = Shared<BoxFuture<'static, ()>>;

/// What a switched device and the one who switches it share.
#[derive(Debug)]
pub struct Switch {
    opened: ArcSwapOption<Opened>,
    openings: AtomicU64,
    /// Told while nothing is open: as it was the last time.
    last: ArcSwap<(Geometry, Capabilities)>,
    changed: Notify,
    refusals: UnboundedSender<u64>,
    /// For how long what was refused waits.
    patience: Duration,
    /// Of each opening that has not ended yet, the present one included.
    ends: Mutex<Vec<Ended>>,
}

impl Switch {
    pub(super) fn new(
        last: (Geometry, Capabilities),
        refusals: UnboundedSender<u64>,
        patience: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            opened: ArcSwapOption::empty(),
            openings: AtomicU64::new(0),
            last: ArcSwap::from_pointee(last),
            changed: Notify::new(),
            refusals,
            patience,
            ends: Mutex::default(),
        })
    }

    pub(super) fn open_backend(&self, backend: Backend, epoch: u64) {
        let opening = self.openings.fetch_add(1, Ordering::Relaxed) + 1;
        let (used, unused) = oneshot::channel::<Infallible>();
        let changes = backend.changes_ended();
        let ended = async move {
            let _ = unused.await;
            changes.await;
        };
        let mut ends = self.ends();
        ends.retain(|ended| ended.clone().now_or_never().is_none());
        ends.push(ended.boxed().shared());
        drop(ends);
        self.opened.store(Some(Arc::new(Opened { backend, opening, epoch, _used: used })));
        self.changed.notify_waiters();
    }

    fn ends(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After [`close`](Self::close): waits until nothing that was begun before can change anything any more. A store that does not
    /// fence is not handed over before. It takes as long as the store takes to answer, which may be for ever.
    pub async fn closed(&self) {
        let ends = self.ends().clone();
        join_all(ends).await;
    }

    /// Nothing goes to it any more; what is on its way there comes back by itself, and the last that does closes it. What waits fails.
    pub fn close(&self) {
        if let Some(opened) = self.opened.swap(None) {
            self.last.store(Arc::new(opened.backend.told()));
        }
        self.changed.notify_waiters();
    }

    pub(super) fn told(&self) -> (Geometry, Capabilities) {
        match &*self.opened.load() {
            Some(opened) => opened.backend.told(),
            None => **self.last.load(),
        }
    }

    /// Does something with what is open.
    pub(super) async fn with<T, F>(&self, act: impl Fn(OpenBackend) -> F) -> Result<T, DeviceError>
    where
        F: Future<Output = Result<T, DeviceError>>,
    {
        let mut until = None;
        loop {
            let opened = self.opened.load_full().ok_or(DeviceError::OwnershipLost)?;
            let (opening, epoch) = (opened.opening, opened.epoch);
            match act(OpenBackend(opened)).await {
                Err(DeviceError::OwnershipLost) => {}
                done => return done,
            }
            // Nobody to tell: the process ends.
            let _ = self.refusals.send(epoch);
            let until = *until.get_or_insert_with(|| Instant::now() + self.patience);
            if tokio::time::timeout_at(until, self.another_than(opening)).await.is_err() {
                return Err(DeviceError::Transitioning);
            }
        }
    }

    /// Ready when it has been opened again, or closed.
    async fn another_than(&self, opening: u64) {
        loop {
            let changed = self.changed.notified();
            if self.opened.load().as_ref().is_none_or(|opened| opened.opening != opening) {
                return;
            }
            changed.await;
        }
    }
}

/// What is open, kept so for as long as something is done with it.
pub(super) struct OpenBackend(Arc<Opened>);

impl std::ops::Deref for OpenBackend {
    type Target = Backend;

    fn deref(&self) -> &Backend {
        &self.0.backend
    }
}

impl fmt::Debug for OpenBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
