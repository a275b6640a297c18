//! A directory in memory whose calls take time, fail, get lost on the way there or back, and are done late.

use super::directory::{Directory, DirectoryError};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

/// A generator of numbers that is the same everywhere (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// So often in a thousand.
    pub fn chance(&mut self, per_thousand: u64) -> bool {
        self.below(1000) < per_thousand
    }
}

#[derive(Clone, Debug)]
enum Change {
    Create(String, Bytes),
    Link(String, String),
    Rename(String, String),
    Unlink(String),
}

#[derive(Debug)]
struct Inner {
    files: BTreeMap<String, Bytes>,
    /// What was sent, had no answer, and is done at some later time.
    late: Vec<Change>,
    random: Random,
    /// So many calls of a thousand have no answer.
    lost: u64,
    now: Instant,
}

/// The directory; clones are the same one, as seen by another node.
#[derive(Clone, Debug)]
pub struct FakeDirectory(Arc<Mutex<Inner>>);

/// Lets others go first.
async fn step() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl FakeDirectory {
    pub fn new(seed: u64, lost: u64) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            files: BTreeMap::new(),
            late: Vec::new(),
            random: Random(seed),
            lost,
            now: Instant::now(),
        })))
    }

    pub fn advance(&self, time: Duration) {
        self.0.lock().unwrap().now += time;
    }

    /// Does one of the things that are late.
    pub fn catch_up(&self) {
        let mut inner = self.0.lock().unwrap();
        let count = inner.late.len() as u64;
        if count > 0 {
            let at = inner.random.below(count) as usize;
            let change = inner.late.swap_remove(at);
            let _ = inner.apply(change);
        }
    }

    pub fn set(&self, name: &str, contents: Vec<u8>) {
        self.0.lock().unwrap().files.insert(name.into(), contents.into());
    }

    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.0.lock().unwrap().files.get(name).cloned()
    }

    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().files.keys().cloned().collect()
    }

    async fn change(&self, change: Change) -> Result<(), DirectoryError> {
        step().await;
        let done = {
            let mut inner = self.0.lock().unwrap();
            let lost = inner.lost;
            if inner.random.chance(lost) {
                // On the way there for good, on the way there but not for ever, or on the way back.
                match inner.random.below(3) {
                    0 => {}
                    1 => inner.late.push(change),
                    _ => drop(inner.apply(change)),
                }
                Err(DirectoryError::Unknown("lost".into()))
            } else {
                inner.apply(change)
            }
        };
        step().await;
        done
    }

    fn is_lost(&self) -> bool {
        let mut inner = self.0.lock().unwrap();
        let lost = inner.lost;
        inner.random.chance(lost)
    }
}

impl Inner {
    fn apply(&mut self, change: Change) -> Result<(), DirectoryError> {
        match change {
            Change::Create(name, _) if self.files.contains_key(&name) => Err(DirectoryError::Exists),
            Change::Create(name, contents) => {
                self.files.insert(name, contents);
                Ok(())
            }
            Change::Link(from, to) => {
                let contents = self.files.get(&from).cloned().ok_or(DirectoryError::Missing)?;
                if self.files.contains_key(&to) {
                    return Err(DirectoryError::Exists);
                }
                self.files.insert(to, contents);
                Ok(())
            }
            Change::Rename(from, to) => {
                let contents = self.files.remove(&from).ok_or(DirectoryError::Missing)?;
                self.files.insert(to, contents);
                Ok(())
            }
            Change::Unlink(name) => self.files.remove(&name).map(drop).ok_or(DirectoryError::Missing),
        }
    }
}

impl Directory for FakeDirectory {
    async fn list(&self) -> Result<Vec<String>, DirectoryError> {
        let before: BTreeSet<String> = self.names().into_iter().collect();
        step().await;
        step().await;
        if self.is_lost() {
            return Err(DirectoryError::Unknown("lost".into()));
        }
        let after: BTreeSet<String> = self.names().into_iter().collect();
        let mut inner = self.0.lock().unwrap();
        // What came or went in the meantime may be seen or not.
        let names = before.union(&after);
        Ok(names
            .filter(|name| (before.contains(*name) && after.contains(*name)) || inner.random.chance(500))
            .cloned()
            .collect())
    }

    async fn read(&self, name: &str, most: usize) -> Result<Bytes, DirectoryError> {
        step().await;
        if self.is_lost() {
            return Err(DirectoryError::Unknown("lost".into()));
        }
        let mut contents = self.get(name).ok_or(DirectoryError::Missing)?;
        contents.truncate(most);
        step().await;
        Ok(contents)
    }

    async fn create(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        // Whoever is stopped here leaves half a file.
        let half = Bytes::copy_from_slice(&contents[..contents.len() / 2]);
        self.change(Change::Create(name.into(), half)).await?;
        self.set(name, contents.to_vec());
        Ok(())
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        self.change(Change::Link(from.into(), to.into())).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DirectoryError> {
        self.change(Change::Rename(from.into(), to.into())).await
    }

    async fn unlink(&self, name: &str) -> Result<(), DirectoryError> {
        self.change(Change::Unlink(name.into())).await
    }

    async fn sync(&self, _name: &str) -> Result<(), DirectoryError> {
        step().await;
        if self.is_lost() { Err(DirectoryError::Unknown("lost".into())) } else { Ok(()) }
    }

    async fn overwrite(&self, name: &str, contents: &[u8]) -> Result<(), DirectoryError> {
        step().await;
        self.set(name, contents.to_vec());
        Ok(())
    }

    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }
}
