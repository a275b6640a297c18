//! Hours of ordinary life in minutes: sessions that stay and sessions that come and go, reads and writes of all sizes, reloads. Nothing
//! may grow by it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::load::begin;
use super::{Latency, Work, port};
use crate::glint::Glint;
use crate::initiator::Initiator;

/// Between two samples, at most.
const SAMPLE: Duration = Duration::from_secs(10);

/// How long glint may take to become what it then has to stay: pools fill, and the allocator finds its level.
const WARM_UP: f64 = 0.25;

/// Sessions that stay, on targets 0 to 3, with what each does.
const RESIDENTS: [Work; 4] = [
    Work::SMALL,
    Work { depth: 32, ..Work::SMALL },
    Work { length: 64 << 10, depth: 4, reads: 70, ..Work::SMALL },
    Work { length: 1 << 20, depth: 4, reads: 50, ..Work::SMALL },
];

/// What glint has at one time.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Since the beginning.
    pub at: Duration,
    /// VmRSS.
    pub resident_kib: u64,
    /// Open descriptors.
    pub files: usize,
    /// Threads.
    pub threads: u64,
    /// Of the session with one command at a time, since the sample before.
    pub latency: Latency,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, p50, p99) = (self.at.as_secs(), self.latency.quantile(0.5), self.latency.quantile(0.99));
        let Self { resident_kib, files, threads, .. } = self;
        write!(
            f,
            "{at:5} s  {resident_kib:8} KiB  {files:5} files  {threads:3} threads  p50 {p50:?}  p99 {p99:?}"
        )
    }
}

/// What is left when it is over.
#[derive(Clone, Debug, Default)]
pub struct Soak {
    /// In the order of time.
    pub samples: Vec<Sample>,
    /// Sessions that came and went.
    pub visits: u64,
    /// Reloads.
    pub reloads: u64,
}

/// Whether all of it was flat, of the time after the warm-up.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Growth of resident memory in KiB an hour, by least squares.
    pub kib_per_hour: f64,
    /// The mean of the last quarter less that of the first.
    pub grown_kib: f64,
    /// The most descriptors in the last quarter, less those in the first.
    pub grown_files: i64,
    /// The same of threads.
    pub grown_threads: i64,
    /// p99 of the last quarter, as a multiple of that of the first.
    pub latency: f64,
}

impl Soak {
    /// Runs it on targets 0 to 4 of `glint`, whose configuration is `configs`, one after the other at each reload; `each` sees every sample.
    #[track_caller]
    pub fn run(glint: &mut Glint, configs: &[String], time: Duration, mut each: impl FnMut(&Sample)) -> Self {
        let mut soak = Self::default();
        let portal = glint.portal();
        let (stop, latest) = (AtomicBool::new(false), Mutex::new(Latency::default()));
        let step = SAMPLE.min(time / 24);
        thread::scope(|scope| {
            let (stop, latest) = (&stop, &latest);
            for (at, work) in RESIDENTS.into_iter().enumerate() {
                let mut session = begin(portal, port(at));
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let latency = for_a_second(&mut session, work, at as u32, stop);
                        if at == 0 {
                            latest.lock().unwrap_or_else(PoisonError::into_inner).add(&latency);
                        }
                    }
                    session.log_out();
                });
            }
            let visitor = scope.spawn(move || {
                let mut visits = 0;
                while !stop.load(Ordering::Relaxed) {
                    let mut session = begin(portal, port(4));
                    let mut left = 8;
                    Work::SMALL.run_while(&mut session, visits as u32, || {
                        left -= 1;
                        left > 0
                    });
                    // Some end well and some do not.
                    match visits % 3 {
                        0 => session.log_out(),
                        1 => session.vanish_by_reset(),
                        _ => drop(session),
                    }
                    visits += 1;
                    thread::sleep(Duration::from_millis(20));
                }
                visits
            });
            let began = Instant::now();
            while began.elapsed() < time {
                thread::sleep(step);
                let latency = std::mem::take(&mut *latest.lock().unwrap_or_else(PoisonError::into_inner));
                let sample = Sample {
                    at: began.elapsed(),
                    resident_kib: glint.resident_kib(),
                    files: glint.open_files(),
                    threads: glint.status("Threads:").parse().expect("a number of threads"),
                    latency,
                };
                each(&sample);
                soak.samples.push(sample);
                if let Some(config) = configs.get(soak.reloads as usize % configs.len().max(1)) {
                    glint.reconfigure(config);
                    soak.reloads += 1;
                }
            }
            stop.store(true, Ordering::Relaxed);
            soak.visits = visitor.join().expect("visits go on");
        });
        glint.assert_alive();
        soak
    }

    /// What to think of it.
    pub fn verdict(&self) -> Verdict {
        let warm = (self.samples.len() as f64 * WARM_UP) as usize;
        let samples = self.samples.get(warm..).unwrap_or_default();
        let quarter = (samples.len() / 4).max(1);
        let (first, last) = (&samples[..quarter], &samples[samples.len() - quarter..]);
        let mean = |of: &[Sample]| of.iter().map(|it| it.resident_kib as f64).sum::<f64>() / of.len() as f64;
        let p99 = |of: &[Sample]| {
            let mut all = Latency::default();
            of.iter().for_each(|sample| all.add(&sample.latency));
            all.quantile(0.99).as_secs_f64()
        };
        let grown = |count: fn(&Sample) -> i64| {
            let most = |of: &[Sample]| of.iter().map(count).max().unwrap_or(0);
            most(last) - most(first)
        };
        Verdict {
            kib_per_hour: slope(samples) * 3600.0,
            grown_kib: mean(last) - mean(first),
            grown_files: grown(|sample| sample.files as i64),
            grown_threads: grown(|sample| sample.threads as i64),
            latency: p99(last) / p99(first),
        }
    }
}

/// Resident KiB a second.
fn slope(samples: &[Sample]) -> f64 {
    let count = samples.len() as f64;
    let points = || samples.iter().map(|it| (it.at.as_secs_f64(), it.resident_kib as f64));
    let (mean_x, mean_y) =
        (points().map(|it| it.0).sum::<f64>() / count, points().map(|it| it.1).sum::<f64>() / count);
    let over: f64 = points().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    over / points().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

impl Verdict {
    /// Allocators and pools breathe; a leak of any consequence in so many sessions and commands is more than this.
    pub fn is_flat(&self) -> bool {
        self.grown_kib < 8.0 * 1024.0
            && self.grown_files <= 8
            && self.grown_threads <= 4
            && self.latency < 3.0
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kib_per_hour, grown_kib, grown_files, grown_threads, latency } = self;
        let judged = if self.is_flat() { "flat" } else { "NOT FLAT" };
        write!(
            f,
            "{judged}: {grown_kib:+.0} KiB from the first quarter to the last ({kib_per_hour:+.0} KiB an hour), \
             {grown_files:+} files, {grown_threads:+} threads, p99 times {latency:.2}"
        )
    }
}

/// This work for a second, or until told to stop before.
fn for_a_second(session: &mut Initiator, work: Work, seed: u32, stop: &AtomicBool) -> Latency {
    let until = Instant::now() + Duration::from_secs(1);
    work.run_while(session, seed.wrapping_add(1), || Instant::now() < until && !stop.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soak(resident_kib: impl Fn(u64) -> u64, files: impl Fn(u64) -> usize) -> Verdict {
        let sample = |at| {
            let mut latency = Latency::default();
            latency.note(Duration::from_micros(100));
            let (resident_kib, files) = (resident_kib(at), files(at));
            Sample { at: Duration::from_secs(at * 10), resident_kib, files, threads: 9, latency }
        };
        Soak { samples: (0..120).map(sample).collect(), ..Soak::default() }.verdict()
    }

    #[test]
    fn what_grows_is_not_flat() {
        let grows = soak(|at| 50_000 + 200 * at, |_| 30);
        assert!((grows.kib_per_hour - 72_000.0).abs() < 1.0, "{grows}");
        assert!(!grows.is_flat(), "{grows}");
        assert!(!soak(|_| 50_000, |at| 30 + at as usize).is_flat());
    }

    #[test]
    fn what_is_level_after_its_warm_up_is_flat() {
        let level = soak(|at| 50_000 + 1000 * at.min(20) + at % 7 * 100, |at| 30 + at as usize % 4);
        assert!(level.is_flat(), "{level}");
    }
}
