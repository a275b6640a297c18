//! Locks of replication whose client stands still.
//!
//! A client of a replicated volume locks a file at the bricks for a run of writes, and gives the lock up when it is told, with the answer
//! to a write, that somebody waits for it. A process that has been stopped, or a virtual machine that is paused, hears nothing of that, but
//! its connections live, so the bricks keep the lock for it, for ever. It stands in the way of everybody, also of who would take the
//! mandatory lock. What `gluster volume clear-locks` does is open to any client: a virtual extended attribute.

use std::{
    ffi::CStr,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use crate::{Error, instance::Instance};

/// How long a lock is waited for. A client that lives gives it up when its writes under way have ended, which slow disks may delay; those of one whose lock is broken
/// may land after the next has the file.
const PATIENCE: Duration = Duration::from_secs(6);

/// Which locks: those of a whole file's data, which a client takes for a run of writes, and those of its attributes, which it takes to set the rule. Not
/// the locks on parts of the data: the self-heal daemon copies under them, and would put old data over new without.
const BROKEN: [&CStr; 2] =
    [c"glusterfs.clrlk.tinode.kgranted.0,0-0", c"glusterfs.clrlk.tinode.kgranted.0,9223372036854775806-0"];

/// Room for what the bricks tell of it.
const MOST_TOLD: usize = 4096;

/// Does `work`, which waits for locks on the file at `path`, and breaks these, again and again, when it does not get on and somebody still
/// waits for it.
pub(crate) fn breaking_locks<T>(
    instance: &Instance,
    path: &CStr,
    awaited: &(impl Fn() -> bool + Sync),
    work: impl FnOnce() -> T,
) -> T {
    thread::scope(|scope| {
        let (working, ends) = mpsc::channel();
        let watch = move || watch(instance, path, awaited, &ends);
        let watcher = thread::Builder::new().name("gfapi-locks".to_owned()).spawn_scoped(scope, watch);
        if let Err(error) = watcher {
            tracing::warn!(%error, "no thread that would break the locks of a client that stands still");
        }
        let done = work();
        drop(working);
        done
    })
}

/// Until the other end of `ends` is gone.
fn watch(instance: &Instance, path: &CStr, awaited: impl Fn() -> bool, ends: &Receiver<()>) {
    while ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) && awaited() {
        for which in BROKEN {
            match instance.break_locks(path, which) {
                Ok(told) => tracing::warn!(?path, told, "broke the locks of a client that stands still"),
                Err(error) => {
                    tracing::warn!(?path, %error, "cannot break the locks of a client that stands still")
                }
            }
        }
    }
}

impl Instance {
    /// Has the bricks forget such locks on the file; tells what they say.
    fn break_locks(&self, path: &CStr, which: &CStr) -> Result<String, Error> {
        self.become_root()?;
        let mut told = vec![0_u8; MOST_TOLD];
        // SAFETY: a live instance, C strings and a buffer of the length that is given.
        let got = unsafe {
            self.symbols.glfs_getxattr(
                self.fs.as_ptr(),
                path.as_ptr(),
                which.as_ptr(),
                told.as_mut_ptr().cast(),
                told.len(),
            )
        };
        let got = usize::try_from(got).map_err(|_| Error::last("getxattr"))?;
        told.truncate(got);
        Ok(String::from_utf8_lossy(&told).trim_end_matches('\0').to_owned())
    }
}
