//! The commands that a connection has in flight.
//!
//! A future is polled once when it starts; one that is ready at once costs neither an allocation nor a wake-up. Others stay in slots whose
//! memory is used again, and each slot has a waker of its own that tells the connection's task which of them to poll.

use futures_util::task::AtomicWaker;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The future panicked; the panic has been reported by the panic hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panicked;

/// Futures of one kind in flight, each with a note that is given back with its output.
pub(super) struct Tasks<F, N> {
    slots: Vec<Slot<F, N>>,
    vacant: Vec<usize>,
    shared: Arc<Shared>,
    /// Taken from `shared` and not polled yet.
    batch: Vec<usize>,
}

struct Slot<F, N> {
    future: Pin<Box<Option<F>>>,
    note: Option<N>,
    alarm: Arc<Alarm>,
    waker: Waker,
}

struct Shared {
    ready: Mutex<Vec<usize>>,
    task: AtomicWaker,
}

struct Alarm {
    slot: usize,
    rung: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
            self.shared.task.wake();
        }
    }
}

impl<F: Future, N> Tasks<F, N> {
    pub(super) fn new() -> Self {
        let shared = Arc::new(Shared { ready: Mutex::default(), task: AtomicWaker::new() });
        Self { slots: Vec::new(), vacant: Vec::new(), shared, batch: Vec::new() }
    }

    /// Futures that have not come to their end.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Starts a future; gives its output at once when it is ready at once.
    pub(super) fn start(&mut self, future: F, note: N) -> Option<(N, Result<F::Output, Panicked>)> {
        let at = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new(self.slots.len(), &self.shared));
            self.slots.len() - 1
        });
        let slot = self.slots.get_mut(at)?;
        slot.future.set(Some(future));
        slot.note = Some(note);
        let output = slot.poll()?;
        self.vacant.push(at);
        Some(output)
    }

    /// The next future that has come to its end; pending also when there is none at all.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<(N, Result<F::Output, Panicked>)> {
        if self.len() == 0 {
            return Poll::Pending;
        }
        self.shared.task.register(cx.waker());
        loop {
            if self.batch.is_empty() {
                let mut ready = self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::swap(&mut *ready, &mut self.batch);
            }
            let Some(at) = self.batch.pop() else { return Poll::Pending };
            if let Some(output) = self.slots.get_mut(at).and_then(Slot::poll) {
                self.vacant.push(at);
                return Poll::Ready(output);
            }
        }
    }
}

impl<F, N> Tasks<F, N> {
    /// Drops what is in flight; its notes are given to `each`.
    pub(super) fn abandon(&mut self, mut each: impl FnMut(N)) {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if let Some(note) = slot.note.take() {
                slot.clear();
                self.vacant.push(at);
                each(note);
            }
        }
    }
}

impl<F: Future, N> Slot<F, N> {
    fn new(slot: usize, shared: &Arc<Shared>) -> Self {
        let alarm = Arc::new(Alarm { slot, rung: AtomicBool::new(false), shared: Arc::clone(shared) });
        let waker = Waker::from(Arc::clone(&alarm));
        Self { future: Box::pin(None), note: None, alarm, waker }
    }

    /// Polls the future; one that has ended, well or in panic, leaves the slot.
    fn poll(&mut self) -> Option<(N, Result<F::Output, Panicked>)> {
        self.alarm.rung.store(false, Ordering::Release);
        // A wake-up of a future that was here before finds none, or another, which is polled once in vain.
        let future = self.future.as_mut().as_pin_mut()?;
        let mut cx = Context::from_waker(&self.waker);
        let output = match catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx))) {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(_) => Err(Panicked),
        };
        self.clear();
        self.note.take().map(|note| (note, output))
    }
}

impl<F, N> Slot<F, N> {
    fn clear(&mut self) {
        // What a future has of its own may panic when dropped, all the more after it has panicked before.
        let _ = catch_unwind(AssertUnwindSafe(|| self.future.set(None)));
    }
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
