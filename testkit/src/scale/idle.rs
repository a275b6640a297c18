//! Volumes and sessions that nobody uses.

use std::thread;
use std::time::{Duration, Instant};

use super::{Crowd, Store, port};
use crate::glint::Glint;

/// For a thousand sessions and some more.
const LIMITS: &str = "max_sessions = 1100\nmax_connections = 1200";

/// What they cost.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// From the start of the process to its ready line.
    pub start: Duration,
    /// Resident memory with one volume.
    pub bare_kib: u64,
    /// What each further volume adds.
    pub volume_kib: f64,
    /// What each session adds, with all that a first command brings into being.
    pub session_kib: f64,
}

/// The part of a processor that a glint takes of which nobody wants anything, over the time between two looks at the space, twice.
pub fn idleness(glint: &Glint) -> f64 {
    let (began, before) = (Instant::now(), glint.cpu_time());
    thread::sleep(Duration::from_secs(10));
    (glint.cpu_time() - before).as_secs_f64() / began.elapsed().as_secs_f64()
}

/// Starts glint with one volume, then with `count` of them and as many sessions; gives the second for more, with its sessions.
#[track_caller]
pub fn footprint(store: &Store, count: usize) -> (Glint, Crowd, Footprint) {
    let start = |count| store.serve(LIMITS, count);
    let mut bare = start(1);
    let bare_kib = bare.resident_kib();
    assert!(bare.terminate().success());
    let began = Instant::now();
    let glint = start(count);
    let start = began.elapsed();
    let with_volumes = glint.resident_kib();
    let crowd = Crowd::log_in(glint.portal(), (0..count).map(port));
    let with_sessions = glint.resident_kib();
    let each = |more: u64, less: u64, count: usize| more.saturating_sub(less) as f64 / count.max(1) as f64;
    let footprint = Footprint {
        start,
        bare_kib,
        volume_kib: each(with_volumes, bare_kib, count - 1),
        session_kib: each(with_sessions, with_volumes, count),
    };
    (glint, crowd, footprint)
}
