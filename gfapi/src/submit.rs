//! The submit threads: hand operations to libgfapi.
//!
//! A submission may block (after a change of the volume's options every open file is migrated first), and the
//! identity towards the bricks belongs to the thread; so submissions come from dedicated threads only. So does
//! the lock owner: a file that is fenced has a thread of its own.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering, fence},
    },
    thread::{self, Thread},
};

use crossbeam_queue::SegQueue;

use crate::{
    control::{self, Job},
    instance::Instance,
    op::Op,
};

/// What a submit thread does.
enum Work {
    Submit(Arc<Op>),
    /// A blocking call that has to come from this very thread.
    Call(Job),
}

/// The queue of one submit thread.
pub(crate) struct Submitter {
    queue: SegQueue<Work>,
    /// The thread is about to park, or parked.
    idle: AtomicBool,
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Submitter {
    /// Starts a submit thread whose name ends with `name`.
    pub(crate) fn start(instance: Instance, name: &str) -> io::Result<Arc<Self>> {
        let submitter = Arc::new(Self {
            queue: SegQueue::new(),
            idle: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            thread: OnceLock::new(),
        });
        let run = Arc::clone(&submitter);
        let handle =
            thread::Builder::new().name(format!("gfapi-submit-{name}")).spawn(move || run.run(&instance))?;
        submitter.thread.get_or_init(|| handle.thread().clone());
        Ok(submitter)
    }

    /// Queues an operation. Never blocks; wakes the thread only where it has run out of work.
    pub(crate) fn push(&self, op: Arc<Op>) {
        self.queue.push(Work::Submit(op));
        self.wake();
    }

    /// Queues a blocking call, which holds up what is queued after it.
    pub(crate) fn call(&self, job: Job) {
        self.queue.push(Work::Call(job));
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
            while let Some(work) = self.queue.pop() {
                match work {
                    Work::Submit(op) => op.submit(instance.symbols, &mut vectors),
                    Work::Call(job) => control::run_job(job, instance),
                }
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
