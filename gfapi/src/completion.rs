//! The way from a callback back to the thread that asked.
//!
//! A callback runs on a thread of libgfapi. Waking a task from there costs a cross-thread wake-up per I/O;
//! instead the callback pushes the task's waker onto the queue of the thread that began the operation, and
//! writes that queue's eventfd only when the queue was idle. The thread's event loop watches the eventfd and
//! drains the queue in one go.

use std::{
    cell::RefCell,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

use crossbeam_queue::SegQueue;
use rustix::{event::EventfdFlags, io::Errno};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Home>>> = const { RefCell::new(None) };
}

/// The completions of the operations that one thread began.
///
/// Its descriptor ([`AsFd`]) is an eventfd. Register that with the thread's event loop and call
/// [`drain`](Self::drain) whenever it becomes readable (with an edge-triggered loop: clear the readiness
/// first, then drain). Dropping the queue detaches it: operations still in flight then wake their tasks
/// directly, so none is lost.
#[derive(Debug)]
pub struct CompletionQueue {
    home: Arc<Home>,
}

impl CompletionQueue {
    /// Makes a queue and lets the calling thread's operations complete through it, from those that begin now.
    /// It takes the place of a queue attached before.
    ///
    /// # Errors
    /// When no eventfd can be had.
    pub fn attach_current_thread() -> io::Result<Self> {
        let home = Arc::new(Home::new()?);
        CURRENT.with_borrow_mut(|current| *current = Some(Arc::clone(&home)));
        Ok(Self { home })
    }

    /// Drains the queue whenever there is something in it, without end; for the tokio runtime that runs on
    /// the attached thread.
    ///
    /// # Errors
    /// When the runtime does not take, or no longer serves, the eventfd.
    #[cfg(feature = "tokio")]
    pub async fn run(self) -> io::Result<std::convert::Infallible> {
        use tokio::io::{Interest, unix::AsyncFd};

        // SAFETY: the eventfd is open, the same one throughout, and outlives the registration: `self` keeps
        // it.
        let eventfd = unsafe { AsyncFd::register_with_interest(self.as_fd(), Interest::READABLE) }?;
        loop {
            eventfd.readable().await?.clear_ready();
            // The runtime's epoll is edge-triggered: it tells of every write, also when the counter has not been
            // read. That takes more writes to overflow than there will ever be.
            self.home.rearm();
            self.home.wake_all();
        }
    }

    /// Wakes the task of every operation that has completed; says how many.
    pub fn drain(&self) -> usize {
        self.home.clear();
        self.home.rearm();
        self.home.wake_all()
    }
}

/// The eventfd: readable when [`drain`](CompletionQueue::drain) has something to do. Non-blocking.
impl AsFd for CompletionQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.home.eventfd.as_fd()
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        self.home.closed.store(true, Ordering::SeqCst);
        self.home.wake_all();
    }
}

/// What operations hold of their thread's queue.
#[derive(Debug)]
pub(crate) struct Home {
    eventfd: OwnedFd,
    woken: SegQueue<Waker>,
    /// The eventfd has been written and the queue not yet been drained.
    signalled: AtomicBool,
    /// Nobody drains any more.
    closed: AtomicBool,
}

impl Home {
    fn new() -> io::Result<Self> {
        let eventfd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            eventfd,
            woken: SegQueue::new(),
            signalled: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    /// The queue of the calling thread.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(|current| current.as_ref().filter(|home| !home.is_closed()).map(Arc::clone))
    }

    /// Lets the thread of this queue wake `waker`.
    pub(crate) fn push(&self, waker: Waker) {
        self.woken.push(waker);
        // SeqCst on both sides: either `drain` finds the waker, or it had re-armed before this swap, which
        // then signals.
        if !self.signalled.swap(true, Ordering::SeqCst) {
            self.signal();
        }
        // Likewise: either the dropped queue's last look finds the waker, or this one finds it closed.
        if self.is_closed() {
            self.wake_all();
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn signal(&self) {
        // The only failure of an eventfd write of 1 is a counter that is full, and then it is readable
        // anyway.
        while rustix::io::write(&self.eventfd, &1_u64.to_ne_bytes()) == Err(Errno::INTR) {}
    }

    fn clear(&self) {
        let mut count = [0_u8; 8];
        while rustix::io::read(&self.eventfd, &mut count) == Err(Errno::INTR) {}
    }

    fn rearm(&self) {
        self.signalled.swap(false, Ordering::SeqCst);
    }

    fn wake_all(&self) -> usize {
        let mut count = 0;
        while let Some(waker) = self.woken.pop() {
            waker.wake();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests;
