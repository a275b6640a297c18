//! Threads for system calls that block. They are started as they are needed, up to a limit, and end when there has been nothing to do for
//! a while.
//!
//! A hand-over costs about half of what tokio's blocking pool takes, at any queue depth.

use glint_target_core::device::DeviceError;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// Longer than between two looks at the space: those need no new thread each time.
const IDLE: Duration = Duration::from_secs(60);

/// A queue of jobs and the threads that do them.
#[derive(Debug)]
pub(super) struct IoThreads {
    shared: Arc<Shared>,
    limit: usize,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    /// How long a thread waits for something to do.
    idle: Duration,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} jobs, {} threads, {} idle)", self.jobs.len(), self.threads, self.idle)
    }
}

impl IoThreads {
    /// At most `limit` jobs run at a time; no thread is started yet.
    pub(super) fn new(limit: usize) -> Self {
        Self::ending_after(IDLE, limit)
    }

    fn ending_after(idle: Duration, limit: usize) -> Self {
        Self { shared: Arc::new(Shared { queue: Mutex::default(), more: Condvar::new(), idle }), limit }
    }

    /// Runs the job on a thread. It runs to its end even when the future is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, DeviceError> {
        let (answer, result) = oneshot::channel();
        self.submit(Box::new(move || {
            // Nobody need be waiting any more.
            let _ = answer.send(job());
        }))?;
        result.await.map_err(|_| DeviceError::Medium)
    }

    fn submit(&self, job: Job) -> Result<(), DeviceError> {
        let mut queue = self.shared.lock();
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() || queue.threads >= self.limit {
            drop(queue);
            self.shared.more.notify_one();
            return Ok(());
        }
        let shared = self.shared.clone();
        let name = format!("glint-io-{}", queue.threads);
        match std::thread::Builder::new().name(name).spawn(move || shared.work()) {
            Ok(_) => queue.threads += 1,
            Err(_) if queue.threads > 0 => {}
            Err(error) => {
                tracing::error!(%error, "no thread can be started for file I/O");
                queue.jobs.pop_back();
                return Err(DeviceError::Busy);
            }
        }
        Ok(())
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.more.notify_all();
    }
}

/// What one device has of the threads: half of them at most, so that those it shares them with have the other half when its calls hang.
#[derive(Debug)]
pub(super) struct Share {
    threads: Arc<IoThreads>,
    places: Arc<Semaphore>,
}

impl Share {
    pub(super) fn of(threads: Arc<IoThreads>) -> Self {
        let places = Arc::new(Semaphore::new(threads.limit.div_ceil(2)));
        Self { threads, places }
    }

    /// As [`IoThreads::run`], when there is a place. The job has it to its end, also when the future is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, DeviceError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| DeviceError::Busy)?;
        let job = move || {
            let _taken = place;
            job()
        };
        self.threads.run(job).await
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                // A job that panics drops its answer, which its caller sees as a failure of the medium.
                if catch_unwind(AssertUnwindSafe(job)).is_err() {
                    tracing::error!("a file operation panicked");
                }
                queue = self.lock();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                let (woken, wait) =
                    self.more.wait_timeout(queue, self.idle).unwrap_or_else(PoisonError::into_inner);
                queue = woken;
                queue.idle -= 1;
                if wait.timed_out() && queue.jobs.is_empty() {
                    queue.threads -= 1;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Instant;

    #[tokio::test]
    async fn jobs_run_side_by_side_up_to_the_limit() {
        let threads = IoThreads::new(2);
        let barrier = Arc::new(std::sync::Barrier::new(2));
        let meet = || {
            let barrier = barrier.clone();
            move || {
                barrier.wait();
                std::thread::current().name().map(str::to_owned)
            }
        };
        let (one, two) = tokio::join!(threads.run(meet()), threads.run(meet()));
        assert_ne!(one.unwrap(), two.unwrap());
        for _ in 0..20 {
            threads.run(|| ()).await.unwrap();
        }
        assert_eq!(threads.shared.lock().threads, 2);
    }

    #[tokio::test]
    async fn a_thread_without_work_ends() {
        let threads = IoThreads::ending_after(Duration::from_millis(1), 2);
        let running = || threads.shared.lock().threads;
        for _ in 0..20 {
            threads.run(|| ()).await.unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while running() > 0 {
                assert!(Instant::now() < deadline, "it stays");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert_eq!(threads.shared.lock().idle, 0);
    }

    /// A job that hangs until the other end is dropped.
    fn hung() -> (mpsc::Sender<()>, impl FnOnce() + Send) {
        let (end, ended) = mpsc::channel();
        (end, move || _ = ended.recv())
    }

    #[tokio::test]
    async fn a_device_that_hangs_leaves_half_of_the_threads_to_others() {
        let threads = Arc::new(IoThreads::new(4));
        let (one, other) = (Share::of(threads.clone()), Share::of(threads.clone()));
        let (ends, hung): (Vec<_>, Vec<_>) = (0..10).map(|_| hung()).unzip();
        let mut waiting: Vec<_> = hung.into_iter().map(|job| Box::pin(one.run(job))).collect();
        for waiting in &mut waiting {
            assert!(futures_util::poll!(waiting).is_pending());
        }
        let on_other = async {
            for _ in 0..10 {
                tokio::join!(other.run(|| ()), other.run(|| ())).0.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), on_other).await.unwrap();
        assert_eq!(threads.shared.lock().jobs.len(), 0, "nothing of the first waits before the others");
        // Nobody waits for them any more; their places are taken all the same.
        drop(waiting);
        let mut next = Box::pin(one.run(|| 7));
        assert!(futures_util::poll!(&mut next).is_pending());
        assert_eq!(one.places.available_permits(), 0);
        drop(ends);
        assert_eq!(tokio::time::timeout(Duration::from_secs(20), next).await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_lives_on() {
        let threads = IoThreads::new(1);
        let panics = || -> u8 { panic!("on purpose") };
        assert_eq!(threads.run(panics).await, Err(DeviceError::Medium));
        assert_eq!(threads.run(|| 7).await, Ok(7));
    }
}
