//! The answer to a blocking call that another thread makes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use rustix::io::Errno;

use crate::Error;

/// A promise, and the future that it fulfils.
pub(crate) fn pair<T>() -> (Promise<T>, Call<T>) {
    let slot = Arc::new(Slot(Mutex::new(State { answer: None, waker: None })));
    (Promise { slot: Some(Arc::clone(&slot)) }, Call { slot })
}

struct Slot<T>(Mutex<State<T>>);

struct State<T> {
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Must be [kept](Self::keep); one that is dropped answers ECANCELED, so that nobody waits for ever.
pub(crate) struct Promise<T> {
    slot: Option<Arc<Slot<T>>>,
}

impl<T> Promise<T> {
    /// Whether anybody still waits for the answer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| Arc::strong_count(slot) > 1)
    }

    pub(crate) fn keep(mut self, answer: Result<T, Error>) {
        self.answer(answer);
    }

    fn answer(&mut self, answer: Result<T, Error>) {
        if let Some(slot) = self.slot.take() {
            let waker = {
                let mut state = slot.lock();
                state.answer = Some(answer);
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.answer(Err(Error::os("call", Errno::CANCELED)));
    }
}

/// Resolves to the answer. Dropping it discards the answer; a call that has not been begun then is not made.
pub(crate) struct Call<T> {
    slot: Arc<Slot<T>>,
}

impl<T> Future for Call<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.slot.lock();
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(answer);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
