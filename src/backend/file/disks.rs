//! What files have in common that live on one disk: the threads for their system calls, so that a disk that hangs holds up the files on it
//! and no others; and what is known of its room.

use super::super::space::StoreRoom;
use super::super::threads::IoThreads;
use super::sys::{self, Disk};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// System calls on the files of one disk that may block at a time; one file has half of them.
const DISK_THREADS: usize = 64;

/// The disks that are in use.
#[derive(Debug, Default)]
pub(in super::super) struct Disks {
    threads: Common<Disk, IoThreads>,
    /// By directory as well: each may have a quota of its own.
    rooms: Common<(Disk, PathBuf), StoreRoom>,
}

/// What a file has of its disk.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) threads: Arc<IoThreads>,
    pub(super) room: Arc<StoreRoom>,
}

impl Disks {
    /// For an open file. Says nothing to the disk itself.
    pub(super) fn place(&self, file: &File, path: &Path) -> Result<Place, Errno> {
        let disk = sys::disk(file)?;
        let directory = path.parent().unwrap_or(path).to_owned();
        Ok(Place {
            threads: self.threads.get(disk, || IoThreads::new(DISK_THREADS)),
            room: self.rooms.get((disk, directory), StoreRoom::default),
        })
    }
}

/// One value for each key, while somebody has it.
#[derive(Debug)]
struct Common<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K, V> Default for Common<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V> Common<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        values.retain(|_, value| value.strong_count() > 0);
        let value = Arc::new(make());
        values.insert(key, Arc::downgrade(&value));
        value
    }
}
