//! Threads for system calls that block. They are started as they are needed, up to a limit, and stay.
//!
//! A hand-over costs about half of what tokio's blocking pool takes, at any queue depth.

use glint_target_core::device::DeviceError;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// A queue of jobs and the threads that do them.
#[derive(Debug)]
pub(super) struct IoThreads {
    shared: Arc<Shared>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
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
        Self { shared: Arc::default(), limit }
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
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    async fn a_panic_is_an_error_and_the_thread_lives_on() {
        let threads = IoThreads::new(1);
        let panics = || -> u8 { panic!("on purpose") };
        assert_eq!(threads.run(panics).await, Err(DeviceError::Medium));
        assert_eq!(threads.run(|| 7).await, Ok(7));
    }
}
