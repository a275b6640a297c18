//! What one session notices of others that ask for all they can get.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::load::begin;
use super::{Latency, Work, port};
use crate::glint::Glint;

/// Those that ask for all they can get.
#[derive(Clone, Debug)]
pub struct Flood {
    /// The targets that they use, a session for each.
    pub targets: Range<usize>,
    /// What each does.
    pub work: Work,
}

/// Latencies of the one.
#[derive(Clone, Debug, Default)]
pub struct Fairness {
    /// While it was alone.
    pub alone: Latency,
    /// While the others were there.
    pub beside: Latency,
    /// Of the others.
    pub flood: Latency,
}

impl Fairness {
    /// How many times as long commands take beside the others, at this quantile.
    pub fn ratio(&self, part: f64) -> f64 {
        self.beside.quantile(part).as_secs_f64() / self.alone.quantile(part).as_secs_f64()
    }
}

/// Runs reads and writes of 4 KiB on target 0, one at a time, alone and beside a flood, in turns.
///
/// The flood's clients give way to that of the one: what is measured is how glint shares itself out, not how the system does.
#[track_caller]
pub fn fairness(glint: &Glint, flood: &Flood, rounds: usize, time: Duration) -> Fairness {
    let mut one = begin(glint.portal(), port(0));
    let mut told = Fairness::default();
    for seed in 1..=rounds as u32 {
        let mut measure = || {
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                let measured = scope.spawn(|| Work::SMALL.run(&mut one, seed, &stop));
                thread::sleep(time);
                stop.store(true, Ordering::Relaxed);
                measured.join().expect("it goes on")
            })
        };
        told.alone.add(&measure());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let sessions: Vec<_> = flood.targets.clone().map(|at| begin(glint.portal(), port(at))).collect();
            let stop = &stop;
            let floods: Vec<_> = (1..)
                .zip(sessions)
                .map(|(seed, mut session)| {
                    scope.spawn(move || {
                        rustix::process::nice(19).expect("a thread may give way");
                        let latency = flood.work.run(&mut session, seed, stop);
                        session.log_out();
                        latency
                    })
                })
                .collect();
            // Until it is in full flow.
            thread::sleep(time / 4);
            told.beside.add(&measure());
            stop.store(true, Ordering::Relaxed);
            for ended in floods {
                told.flood.add(&ended.join().expect("the flood goes on"));
            }
        });
    }
    told
}
