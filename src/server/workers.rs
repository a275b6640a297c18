//! Worker threads: each runs the connections that it was given in a runtime of its own, so that they share nothing but what they must.

use super::turnstile;
use crate::backend;
use glint_target_core::lun::background::{Spawner, Work};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tokio::sync::mpsc;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Makes a connection's task inside the worker's runtime, where its socket is to be registered.
type Job = Box<dyn FnOnce() -> Task + Send>;

struct Worker {
    jobs: mpsc::UnboundedSender<Job>,
    load: Arc<AtomicUsize>,
}

/// The worker threads. They end when all handles are dropped; their tasks are dropped with them.
#[derive(Clone)]
pub struct Workers {
    workers: Arc<[Worker]>,
}

impl Workers {
    /// Starts `count` threads; 0 stands for one on each processor.
    pub fn start(count: usize) -> io::Result<Self> {
        let count = match count {
            0 => thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let workers = (0..count).map(Worker::start).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { workers: workers.into() })
    }

    /// Gives a connection to the thread that has the fewest.
    pub(crate) fn assign<T>(&self, task: impl FnOnce() -> T + Send + 'static)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let Some(worker) = self.workers.iter().min_by_key(|worker| worker.load.load(Ordering::Relaxed))
        else {
            return;
        };
        let load = Load::on(&worker.load);
        let job: Job = Box::new(move || {
            let task = task();
            Box::pin(async move {
                task.await;
                drop(load);
            })
        });
        if worker.jobs.send(job).is_err() {
            tracing::error!("a worker thread has ended; a connection is dropped");
        }
    }
}

/// Work in the background goes where the fewest connections are, so that no connection shares its thread with it if that can be helped.
impl Spawner for Workers {
    fn spawn(&self, work: Work) {
        self.assign(move || work);
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (jobs, mut inbox) = mpsc::unbounded_channel::<Job>();
        let serve = async move {
            backend::serve_thread();
            tokio::spawn(turnstile::keep());
            while let Some(job) = inbox.recv().await {
                tokio::spawn(job());
            }
        };
        thread::Builder::new()
            .name(format!("glint-worker-{number}"))
            .spawn(move || runtime.block_on(serve))?;
        Ok(Self { jobs, load: Arc::default() })
    }
}

/// Counts a connection on its worker.
struct Load(Arc<AtomicUsize>);

impl Load {
    fn on(load: &Arc<AtomicUsize>) -> Self {
        load.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(load))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
