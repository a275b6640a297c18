//! Work of a unit that goes on after its command has ended: formatting, sanitizing, copying, flushing with the answer given early.
//!
//! There is no executor here. Who makes a unit gives it a [`Spawner`] that runs futures; a unit without one does all work within the
//! command, which then ends late. A job belongs to no nexus: neither the loss of one nor a reset ends it, unless its command wants that.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Most jobs of a unit at a time: who asks for more waits for the end of what it asks for.
const MOST: usize = 64;

/// What a [`Spawner`] runs.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work that nobody waits for.
pub trait Spawner: Send + Sync + 'static {
    /// Runs it to its end. Work that can't be run, or not to its end, is dropped: its job has ended then.
    fn spawn(&self, work: Work);
}

/// The jobs of one unit.
#[derive(Default)]
pub struct Background {
    spawner: Option<Arc<dyn Spawner>>,
    jobs: Arc<Jobs>,
}

#[derive(Default)]
struct Jobs {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// No job begins any more.
    closed: bool,
    running: Vec<Arc<Job>>,
    /// Waiting for the end of a job.
    waiters: Vec<Waker>,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Background {
    /// Jobs that `spawner` runs.
    pub fn new(spawner: Arc<dyn Spawner>) -> Self {
        Self { spawner: Some(spawner), jobs: Arc::default() }
    }

    /// Starts a job: `work` makes its future from the job itself, which it asks whether to go on and tells how far it is. None where
    /// nothing can run in the background, too much runs already, or the unit is being closed: then `work` was not called, and the command
    /// does it itself.
    pub fn start<F>(&self, work: impl FnOnce(Arc<Job>) -> F) -> Option<Arc<Job>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let spawner = self.spawner.as_ref()?;
        let enlisted = {
            let mut inner = self.jobs.lock();
            if inner.closed || inner.running.len() >= MOST {
                return None;
            }
            self.enlist(&mut inner)
        };
        let job = Arc::clone(&enlisted.job);
        let work = work(Arc::clone(&job));
        spawner.spawn(Box::pin(async move {
            let _enlisted = enlisted;
            work.await;
        }));
        Some(job)
    }

    /// A job that a command does itself, for which there always is room. Where the unit is being closed it is asked to stop from the
    /// beginning.
    pub fn within_command(&self) -> Enlisted {
        let mut inner = self.jobs.lock();
        let enlisted = self.enlist(&mut inner);
        if inner.closed {
            enlisted.job.halt();
        }
        enlisted
    }

    fn enlist(&self, inner: &mut Inner) -> Enlisted {
        let job = Arc::new(Job::default());
        inner.running.push(Arc::clone(&job));
        Enlisted { jobs: Arc::clone(&self.jobs), job }
    }

    /// Asks all jobs to stop at the next convenient point, and lets no other begin: the unit is being closed. See [`ended`](Self::ended).
    pub fn close(&self) {
        let mut inner = self.jobs.lock();
        inner.closed = true;
        inner.running.iter().for_each(|job| job.halt());
    }

    /// Ready when no job is left.
    pub async fn ended(&self) {
        self.wait(|inner| inner.running.is_empty()).await;
    }

    /// Ready when this job has ended, or was dropped unfinished.
    pub async fn job_ended(&self, job: &Arc<Job>) {
        self.wait(|inner| !inner.running.iter().any(|own| Arc::ptr_eq(own, job))).await;
    }

    async fn wait(&self, is_over: impl Fn(&Inner) -> bool) {
        poll_fn(|context| {
            let mut inner = self.jobs.lock();
            if is_over(&inner) {
                return Poll::Ready(());
            }
            if !inner.waiters.iter().any(|waker| waker.will_wake(context.waker())) {
                inner.waiters.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// A job on the list, until this is dropped: when its future ends, or is dropped itself.
pub struct Enlisted {
    jobs: Arc<Jobs>,
    job: Arc<Job>,
}

impl Enlisted {
    /// The job.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        let waiters = {
            let mut inner = self.jobs.lock();
            inner.running.retain(|own| !Arc::ptr_eq(own, &self.job));
            std::mem::take(&mut inner.waiters)
        };
        waiters.into_iter().for_each(Waker::wake);
    }
}

/// One piece of work.
#[derive(Debug, Default)]
pub struct Job {
    halted: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Job {
    /// Asks it to stop.
    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }

    /// Whether it was asked to stop.
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// How much there is to be done, in any unit.
    pub fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much more of it is done.
    pub fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    /// How much is done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// PROGRESS INDICATION (SPC-5 4.4.2.4.3): how far it is, in 1/65536; never told as whole, for it is still under way.
    pub fn progress(&self) -> u16 {
        let total = u128::from(self.total.load(Ordering::Relaxed).max(1));
        let part = (u128::from(self.done()) << 16) / total;
        u16::try_from(part).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
#[path = "background_tests.rs"]
mod tests;
