//! Bounds what is in memory for the copies of a node: a piece that is being copied holds a permit.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A number of permits, given out in the order in which they were asked for.
pub struct Permits(Mutex<Inner>);

struct Inner {
    free: usize,
    waiting: VecDeque<Arc<Waiter>>,
}

#[derive(Default)]
struct Waiter(Mutex<Turn>);

#[derive(Default)]
enum Turn {
    #[default]
    New,
    Waits(Waker),
    Granted,
    Gone,
}

impl Waiter {
    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave to hold one piece in memory.
pub struct Permit<'a>(&'a Permits);

impl Permits {
    /// So many of them.
    pub fn new(count: usize) -> Self {
        Self(Mutex::new(Inner { free: count, waiting: VecDeque::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready when there is one.
    pub async fn acquire(&self) -> Permit<'_> {
        let waiter = {
            let mut inner = self.lock();
            if inner.free > 0 {
                inner.free -= 1;
                return Permit(self);
            }
            let waiter = Arc::new(Waiter::default());
            inner.waiting.push_back(Arc::clone(&waiter));
            waiter
        };
        let waiting = Waiting { permits: self, waiter };
        poll_fn(|context| {
            let mut turn = waiting.waiter.lock();
            if matches!(*turn, Turn::Granted) {
                *turn = Turn::Gone;
                return Poll::Ready(());
            }
            *turn = Turn::Waits(context.waker().clone());
            Poll::Pending
        })
        .await;
        Permit(self)
    }

    /// Gives one back, to whoever waits longest.
    fn release(&self) {
        let mut inner = self.lock();
        while let Some(waiter) = inner.waiting.pop_front() {
            let mut turn = waiter.lock();
            match std::mem::replace(&mut *turn, Turn::Granted) {
                Turn::Gone => *turn = Turn::Gone,
                Turn::Waits(waker) => {
                    drop(turn);
                    drop(inner);
                    return waker.wake();
                }
                Turn::New | Turn::Granted => return,
            }
        }
        inner.free += 1;
    }
}

/// A wait that may be given up.
struct Waiting<'a> {
    permits: &'a Permits,
    waiter: Arc<Waiter>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let turn = std::mem::replace(&mut *self.waiter.lock(), Turn::Gone);
        if matches!(turn, Turn::Granted) {
            self.permits.release();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
#[path = "permits_tests.rs"]
mod tests;
