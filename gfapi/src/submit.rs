//! The submit threads: hand operations to libgfapi.
//!
//! A submission may block (after a change of the volume's options every open file is migrated first), and the
//! identity towards the bricks belongs to the thread; so submissions come from dedicated threads only.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering, fence},
    },
    thread::{self, Thread},
};

use crossbeam_queue::SegQueue;

use crate::{instance::Instance, op::Op};

/// The queue of one submit thread.
pub(crate) struct Submitter {
    queue: SegQueue<Arc<Op>>,
    /// The thread is about to park, or parked.
    idle: AtomicBool,
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Submitter {
    /// Starts submit thread number `number` of a volume.
    pub(crate) fn start(instance: Instance, number: usize) -> io::Result<Arc<Self>> {
        let submitter = Arc::new(Self {
            queue: SegQueue::new(),
            idle: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            thread: OnceLock::new(),
        });
        let run = Arc::clone(&submitter);
        let handle = thread::Builder::new()
            .name(format!("gfapi-submit-{number}"))
            .spawn(move || run.run(&instance))?;
        submitter.thread.get_or_init(|| handle.thread().clone());
        Ok(submitter)
    }

    /// Queues an operation. Never blocks; wakes the thread only where it has run out of work.
    pub(crate) fn push(&self, op: Arc<Op>) {
        self.queue.push(op);
        self.wake();
    }

    /// Ends the thread. Nothing is queued any more: an operation keeps its volume, which is what calls this
    /// when it goes.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        // Pairs with the fence in `run`: either that thread sees the new work, or this one sees it idle.
        fence(Ordering::SeqCst);
        if self.idle.load(Ordering::Relaxed)
            && self.idle.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn run(&self, instance: &Instance) {
        if let Err(error) = instance.become_root() {
            tracing::error!(%error, "gluster I/O goes out with the process' own identity");
        }
        let mut vectors = Vec::new();
        loop {
            while let Some(op) = self.queue.pop() {
                op.submit(instance.symbols, &mut vectors);
            }
            self.idle.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            if self.queue.is_empty() {
                thread::park();
            }
            self.idle.store(false, Ordering::Relaxed);
        }
    }
}
