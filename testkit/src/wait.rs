//! Waiting for what comes about on its own.

use std::thread;
use std::time::{Duration, Instant};

/// Ask `done` until it says yes; panics after `limit`.
#[track_caller]
pub fn until(what: &str, limit: Duration, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < deadline, "waited {limit:?} in vain until {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
