//! Locks on byte ranges, so that two writers of the same bytes follow one another: a read-modify-write must not undo a write beside
//! it, and a write that its caller gave up on must not land after a later one.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The ranges of one device that are held.
#[derive(Debug, Default)]
pub(super) struct RangeLock {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    /// Ranges that were let go.
    released: u64,
    held: Vec<(u64, Range<u64>)>,
    /// In the order of asking. Nobody overtakes one that waits for the same bytes.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    range: Range<u64>,
    granted: oneshot::Sender<RangeGuard>,
}

/// A range that is held until this is dropped.
#[derive(Debug)]
pub(super) struct RangeGuard {
    lock: Arc<RangeLock>,
    id: u64,
    /// Its range is free again already.
    released: bool,
}

fn overlap(one: &Range<u64>, two: &Range<u64>) -> bool {
    one.start < two.end && two.start < one.end
}

impl RangeLock {
    /// Waits until nobody else holds any byte of the range. At once, without allocation, when nobody does.
    pub(super) async fn lock(self: &Arc<Self>, range: Range<u64>) -> RangeGuard {
        loop {
            let receiver = {
                let mut state = self.state();
                if state.is_free(&range, state.waiting.len()) {
                    return self.grant(&mut state, range);
                }
                let (granted, receiver) = oneshot::channel();
                state.waiting.push_back(Waiter { range: range.clone(), granted });
                receiver
            };
            if let Ok(guard) = receiver.await {
                return guard;
            }
        }
    }

    /// A number that is another one once a range has been locked or let go: while it stays, what is in the ranges does.
    pub(super) fn changes(&self) -> u64 {
        let state = self.state();
        state.next_id + state.released
    }

    fn grant(self: &Arc<Self>, state: &mut State, range: Range<u64>) -> RangeGuard {
        let id = state.next_id;
        state.next_id += 1;
        state.held.push((id, range));
        RangeGuard { lock: self.clone(), id, released: false }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(self: &Arc<Self>, id: u64) {
        let mut refused = Vec::new();
        let mut state = self.state();
        state.released += 1;
        if let Some(index) = state.held.iter().position(|(held, _)| *held == id) {
            state.held.swap_remove(index);
        }
        let mut index = 0;
        while let Some(range) = state.waiting.get(index).map(|waiter| waiter.range.clone()) {
            if !state.is_free(&range, index) {
                index += 1;
            } else if let Some(waiter) = state.waiting.remove(index) {
                let guard = self.grant(&mut state, range);
                if let Err(mut guard) = waiter.granted.send(guard) {
                    // Its waiter has gone. Released here and not in its own turn: there may be thousands, each within the one before.
                    state.held.pop();
                    guard.released = true;
                    refused.push(guard);
                }
            }
        }
        drop(state);
        // Outside the lock, since one of them may be the last that holds it.
        drop(refused);
    }
}

impl State {
    /// Whether the range overlaps none that is held and none of the first `ahead` that wait.
    fn is_free(&self, range: &Range<u64>, ahead: usize) -> bool {
        !self.held.iter().any(|(_, held)| overlap(held, range))
            && !self.waiting.iter().take(ahead).any(|waiter| overlap(&waiter.range, range))
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        if !self.released {
            self.lock.release(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn only_overlapping_ranges_wait() {
        let lock = Arc::new(RangeLock::default());
        let first = poll(pin!(lock.lock(0..10)));
        assert!(first.is_ready());
        assert!(poll(pin!(lock.lock(10..20))).is_ready());
        let mut third = pin!(lock.lock(5..15));
        assert!(poll(third.as_mut()).is_pending());
        drop(first);
        assert!(poll(third).is_ready());
    }

    #[test]
    fn each_lock_that_is_taken_or_let_go_is_a_change() {
        let lock = Arc::new(RangeLock::default());
        let mut seen = vec![lock.changes()];
        let first = poll(pin!(lock.lock(0..10)));
        seen.push(lock.changes());
        let mut second = pin!(lock.lock(5..15));
        assert!(poll(second.as_mut()).is_pending());
        drop(first);
        seen.push(lock.changes());
        drop(poll(second));
        seen.push(lock.changes());
        assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
        assert_eq!(seen.last(), Some(&lock.changes()));
    }

    #[test]
    fn nobody_overtakes_one_that_waits() {
        let lock = Arc::new(RangeLock::default());
        let held = poll(pin!(lock.lock(0..10)));
        let mut early = pin!(lock.lock(5..15));
        let mut late = pin!(lock.lock(12..20));
        assert!(poll(early.as_mut()).is_pending());
        assert!(poll(late.as_mut()).is_pending());
        drop(held);
        let early = poll(early);
        assert!(early.is_ready());
        assert!(poll(late.as_mut()).is_pending());
        drop(early);
        assert!(poll(late).is_ready());
    }

    #[test]
    fn a_waiter_that_left_blocks_nobody() {
        let lock = Arc::new(RangeLock::default());
        let held = poll(pin!(lock.lock(0..10)));
        {
            let mut gone = pin!(lock.lock(0..100));
            assert!(poll(gone.as_mut()).is_pending());
        }
        let mut next = pin!(lock.lock(50..60));
        assert!(poll(next.as_mut()).is_pending());
        drop(held);
        assert!(poll(next).is_ready());
        assert!(lock.state().held.is_empty());
    }

    #[test]
    fn any_number_of_waiters_may_leave() {
        let lock = Arc::new(RangeLock::default());
        let held = poll(pin!(lock.lock(0..10)));
        for _ in 0..100_000 {
            assert!(poll(pin!(lock.lock(0..10))).is_pending());
        }
        let mut last = pin!(lock.lock(0..10));
        assert!(poll(last.as_mut()).is_pending());
        drop(held);
        assert!(poll(last).is_ready());
        assert!(lock.state().held.is_empty() && lock.state().waiting.is_empty());
    }
}
