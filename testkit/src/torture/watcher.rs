//! Looks on from outside: a volume has one owner at any time, and epochs never go back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::cdb;
use super::multipath::Multipath;
use super::nodes::{Nodes, Volume};
use super::site::Site;
use super::timers::Timers;

/// Between two looks; each starts a process.
const PAUSE: Duration = Duration::from_secs(2);

/// What was seen so far of one store.
#[derive(Debug, Default)]
pub struct Sightings {
    volumes: BTreeMap<String, Volume>,
    /// Answers of `glint nodes`.
    pub looks: u64,
    faults: Vec<String>,
}

impl Sightings {
    /// What `glint nodes` has told.
    pub fn told(&mut self, nodes: &Nodes) {
        self.looks += 1;
        for now in &nodes.volumes {
            if let Some(before) = self.volumes.insert(now.name.clone(), now.clone()) {
                if now.epoch < before.epoch {
                    self.faults.push(format!("an epoch went back: {before:?}, then {now:?}"));
                } else if now.epoch == before.epoch && now.owner != before.owner {
                    self.faults.push(format!("two owners in one epoch: {before:?}, then {now:?}"));
                }
            }
        }
    }

    /// Portals that called themselves active/optimized between two looks at the same volume.
    pub fn claimed(&mut self, before: Option<&Volume>, after: Option<&Volume>, claims: &[String]) {
        if before == after && claims.len() > 1 {
            self.faults.push(format!("{after:?} is said to be owned at {claims:?}"));
        }
    }
}

/// See the module.
pub struct Watcher {
    over: Arc<AtomicBool>,
    sightings: Arc<Mutex<Sightings>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches what is served at a site from this store.
    pub fn start(site: &Site, store: &str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let sightings: Arc<Mutex<Sightings>> = Arc::default();
        // What it meets is not what is measured, and who does not answer is asked again later.
        let timers = Timers { command: Duration::from_secs(2), ..Timers::HASTY };
        let site = Site::new(&site.volume, site.portals.clone(), timers);
        let (store, stop, seen) = (store.to_owned(), Arc::clone(&over), Arc::clone(&sightings));
        let thread = thread::spawn(move || {
            let mut host = site.host("watcher");
            while !stop.load(Ordering::Relaxed) {
                look(&mut host, &site.volume, &store, &seen);
                thread::park_timeout(PAUSE);
            }
        });
        Self { over, sightings, thread: Some(thread) }
    }

    /// What was wrong since the last time, and how often it looked.
    pub fn take(&self) -> (u64, Vec<String>) {
        let mut seen = self.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut seen.looks), std::mem::take(&mut seen.faults))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // One that panicked has printed why.
            let _ = thread.join();
        }
    }
}

fn look(host: &mut Multipath, volume: &str, store: &str, sightings: &Mutex<Sightings>) {
    // While bricks are down it may well say nothing.
    let Ok(before) = Nodes::ask(store) else { return };
    let mut claims = Vec::new();
    for path in 0..host.paths().len() {
        let own = host.paths()[path].group();
        let states = host.access_states(path).unwrap_or_default();
        if own.is_some_and(|own| states.contains(&(own, cdb::OPTIMIZED))) {
            claims.push(host.paths()[path].portal().to_string());
        }
    }
    let Ok(after) = Nodes::ask(store) else { return };
    let mut seen = sightings.lock().unwrap_or_else(PoisonError::into_inner);
    seen.told(&before);
    seen.told(&after);
    seen.claimed(before.volume(volume), after.volume(volume), &claims);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(owner: &str, epoch: u64) -> Volume {
        Volume { name: "disk".into(), owner: Some(owner.into()), epoch }
    }

    fn faults(volumes: &[Volume]) -> Vec<String> {
        let mut sightings = Sightings::default();
        for volume in volumes {
            sightings.told(&Nodes { nodes: Vec::new(), volumes: vec![volume.clone()] });
        }
        sightings.faults
    }

    #[test]
    fn epochs_that_go_back_and_second_owners_are_found() {
        assert_eq!(faults(&[owned("n1", 1), owned("n1", 1), owned("n2", 2), owned("n1", 5)]), [""; 0]);
        assert!(faults(&[owned("n1", 3), owned("n1", 2)])[0].contains("went back"));
        assert!(faults(&[owned("n1", 3), owned("n2", 3)])[0].contains("two owners"));
        let (one, two) = (owned("n1", 1), owned("n2", 2));
        let mut sightings = Sightings::default();
        let both = ["a".to_owned(), "b".to_owned()];
        sightings.claimed(Some(&one), Some(&two), &both);
        sightings.claimed(Some(&one), Some(&one), &both[..1]);
        assert_eq!(sightings.faults, [""; 0]);
        sightings.claimed(Some(&one), Some(&one), &both);
        assert_eq!(sightings.faults.len(), 1);
    }
}
