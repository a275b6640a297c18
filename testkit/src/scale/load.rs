//! Busy sessions, and what they cost glint.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Latency, Work};
use crate::glint::Glint;
use crate::initiator::{Initiator, Port};

/// What was done in a time, and what it took.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// How long it went on.
    pub time: Duration,
    /// Of all commands.
    pub latency: Latency,
    /// User and system time of glint.
    pub cpu: Duration,
}

impl Load {
    /// Commands in a second.
    pub fn rate(&self) -> f64 {
        self.latency.count() as f64 / self.time.as_secs_f64()
    }

    /// Microseconds of glint's processor time for each command.
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.latency.count().max(1) as f64
    }

    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.time += other.time;
        self.latency.add(&other.latency);
        self.cpu += other.cpu;
    }
}

/// One session with this work for each port, for a time.
#[track_caller]
pub fn load(glint: &Glint, ports: impl Iterator<Item = Port>, work: Work, time: Duration) -> Load {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stop = &stop;
        let sessions: Vec<_> = ports.map(|port| begin(glint.portal(), port)).collect();
        let (began, cpu) = (Instant::now(), glint.cpu_time());
        let running: Vec<_> = (1..)
            .zip(sessions)
            .map(|(seed, mut session)| {
                scope.spawn(move || {
                    let latency = work.run(&mut session, seed, stop);
                    session.log_out();
                    latency
                })
            })
            .collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let (time, cpu) = (began.elapsed(), glint.cpu_time() - cpu);
        let mut latency = Latency::default();
        for ended in running {
            latency.add(&ended.join().expect("the work goes on"));
        }
        Load { time, latency, cpu }
    })
}

/// A session that has heard its unit attentions.
#[track_caller]
pub fn begin(portal: SocketAddr, port: Port) -> Initiator {
    let mut session = Initiator::log_in(portal, port);
    session.attentions();
    session
}
