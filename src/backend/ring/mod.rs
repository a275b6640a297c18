//! Transfers through io_uring: each thread that serves connections has a ring of its own.
//!
//! What a turn of the thread's tasks begins goes to the kernel in one system call, after them, and what has ended comes back in batches
//! through an eventfd. A transfer that has begun keeps its memory, its file and its lock until the kernel has told of its end, whether or
//! not its future is still there. Whoever waits for one longer than its patience is told that it does not come.

#[allow(unsafe_code)]
mod sys;

use super::buffers::Buffer;
use super::range_lock::RangeGuard;
use glint_target_core::payload::Payload;
use rustix::io::Errno;
use std::cell::RefCell;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use sys::{Ended, Ring};
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot::{self, Receiver, Sender};
use tokio::time::{Sleep, sleep};

/// One read or write.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) file: Arc<File>,
    pub(super) offset: u64,
    pub(super) what: What,
    /// Held until the transfer has ended.
    pub(super) lock: Option<RangeGuard>,
    /// How long it is waited for.
    pub(super) patience: Duration,
}

#[derive(Debug)]
pub(super) enum What {
    /// Fills the buffer.
    Read(Buffer),
    /// With `durable` the data is on stable storage at the end.
    Write { data: Payload, durable: bool },
}

/// A transfer that has ended, and how many bytes of it were done.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) transfer: Transfer,
    pub(super) result: Result<usize, Errno>,
}

/// The ring of a thread, if that has a task that serves it. It is made when the first transfer wants it.
#[derive(Default)]
struct Seat {
    ring: Option<Ring>,
    refused: bool,
    /// Of the task that serves.
    waker: Option<Waker>,
}

thread_local! {
    static SEAT: RefCell<Seat> = RefCell::default();
}

/// How often it is looked for transfers that take too long, while there are any.
const TICK: Duration = Duration::from_millis(250);

/// Whether this process may have rings.
pub(super) fn probe() -> io::Result<()> {
    Ring::probe()
}

/// Begins a transfer in the ring of this thread; gives its lock back when there is none, or none that takes it. The answer is dropped when
/// patience has run out.
pub(super) fn begin(transfer: Transfer) -> Result<Receiver<Done>, Option<RangeGuard>> {
    SEAT.with_borrow_mut(|seat| {
        let Some((ring, waker)) = seat.ready() else { return Err(transfer.lock) };
        let (answer, done) = oneshot::channel();
        ring.push(transfer, answer)?;
        waker.wake_by_ref();
        Ok(done)
    })
}

/// Serves the ring of the thread that polls it, which has to be one and the same. It never ends.
pub(super) fn serve() -> impl Future<Output = ()> {
    let mut served = Served::default();
    poll_fn(move |cx| {
        served.poll(cx);
        Poll::Pending
    })
}

fn tell(ended: &mut Vec<Ended>) {
    for (answer, done) in ended.drain(..) {
        if let Some(answer) = answer {
            // Nobody need be waiting any more.
            let _ = answer.send(done);
        }
    }
}

impl Seat {
    fn ready(&mut self) -> Option<(&mut Ring, &Waker)> {
        let waker = self.waker.as_ref()?;
        if self.ring.is_none() && !self.refused {
            self.ring = Ring::new().map_err(|error| refuse(&mut self.refused, &error)).ok();
        }
        Some((self.ring.as_mut()?, waker))
    }
}

fn refuse(refused: &mut bool, error: &io::Error) {
    tracing::warn!(%error, "no io_uring on a worker thread; its file I/O goes through other threads");
    *refused = true;
}

/// What the serving task has of its own.
#[derive(Default)]
struct Served {
    watch: Option<AsyncFd<Arc<OwnedFd>>>,
    ended: Vec<Ended>,
    late: Vec<Sender<Done>>,
    tick: Option<Pin<Box<Sleep>>>,
}

impl Served {
    fn poll(&mut self, cx: &mut Context<'_>) {
        let result = SEAT.with_borrow_mut(|seat| {
            if !seat.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                seat.waker = Some(cx.waker().clone());
            }
            seat.ring.as_mut().map_or(Ok(()), |ring| self.turn(ring, cx))
        });
        // Not while the seat is borrowed: who is told may drop what he held.
        tell(&mut self.ended);
        self.late.clear();
        if let Err(error) = result {
            let ring = SEAT.with_borrow_mut(|seat| {
                refuse(&mut seat.refused, &error);
                seat.ring.take()
            });
            self.watch = None;
            drop(ring);
        }
    }

    fn turn(&mut self, ring: &mut Ring, cx: &mut Context<'_>) -> io::Result<()> {
        if self.watch.is_none() {
            self.watch = Some(ring.watch()?);
        }
        while let Some(watch) = &self.watch
            && let Poll::Ready(signalled) = watch.poll_read_ready(cx)
        {
            signalled?.clear_ready();
        }
        if ring.turn(&mut self.ended)? {
            cx.waker().wake_by_ref();
        }
        self.poll_ticks(ring, cx);
        Ok(())
    }

    fn poll_ticks(&mut self, ring: &mut Ring, cx: &mut Context<'_>) {
        while self.tick.is_some() || ring.in_flight() > 0 {
            let tick = self.tick.get_or_insert_with(|| Box::pin(sleep(TICK)));
            if tick.as_mut().poll(cx).is_pending() {
                return;
            }
            self.tick = None;
            self.late.extend(ring.expire());
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Nobody would submit any more.
        let seat = SEAT.try_with(|seat| std::mem::take(&mut *seat.borrow_mut()));
        drop(seat);
    }
}

#[cfg(test)]
mod tests;
