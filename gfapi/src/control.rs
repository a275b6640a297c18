//! The control thread: makes a volume's blocking calls, one after the other.
//!
//! They have a thread of their own, so that an allocation map or a slow `open` never delays the submission of
//! I/O.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::mpsc::{self, Receiver, Sender},
    thread,
};

use rustix::io::Errno;

use crate::{
    Error, VolumeConfig,
    call::{self, Call, Promise},
    instance::Instance,
    volume::Volume,
};

pub(crate) type Job = Box<dyn FnOnce(&Instance) + Send>;

/// The way to the control thread. The thread ends, and takes the client down, when the last of these is gone.
pub(crate) struct Control {
    jobs: Sender<Job>,
}

impl Control {
    /// Starts a control thread, which connects to the volume.
    pub(crate) fn start(config: VolumeConfig) -> Call<Volume> {
        let (promise, call) = call::pair();
        let (jobs, inbox) = mpsc::channel();
        let started = thread::Builder::new()
            .name("gfapi-control".to_owned())
            .spawn(move || run(&config, Self { jobs }, &inbox, promise));
        if let Err(error) = started {
            // The promise went with the closure and has answered ECANCELED.
            tracing::error!(%error, "no thread for a gluster volume");
        }
        call
    }

    /// Makes a call on the control thread.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Instance) -> Result<T, Error> + Send + 'static,
    ) -> Call<T> {
        let (promise, call) = call::pair();
        self.send(move |instance| {
            // Who has given up, by a deadline perhaps, has gone on: what it asked for must not happen later still.
            if promise.is_awaited() {
                promise.keep(job(instance));
            }
        });
        call
    }

    /// Makes a call for whose result nobody waits here.
    pub(crate) fn send(&self, job: impl FnOnce(&Instance) + Send + 'static) {
        // Only a thread that has died of a defect leaves the channel; the job's promise then answers for it.
        if self.jobs.send(Box::new(job)).is_err() {
            tracing::error!("the control thread of a gluster volume is gone");
        }
    }
}

/// Makes a call. A defect in it must not take the other files of the volume with it.
pub(crate) fn run_job(job: Job, instance: &Instance) {
    if panic::catch_unwind(AssertUnwindSafe(|| job(instance))).is_err() {
        tracing::error!("a call to gluster panicked");
    }
}

fn run(config: &VolumeConfig, control: Control, inbox: &Receiver<Job>, promise: Promise<Volume>) {
    let instance = match Instance::new(config) {
        Ok(instance) => instance,
        Err(error) => return promise.keep(Err(error)),
    };
    let volume = instance.connect(&config.options).and_then(|()| {
        Volume::start(instance, control, config).map_err(|_| Error::os("thread", Errno::NOMEM))
    });
    promise.keep(volume);
    for job in inbox {
        run_job(job, &instance);
    }
    // Nobody waits for this: it takes long, and a process that ends just leaves.
    instance.finish();
}
