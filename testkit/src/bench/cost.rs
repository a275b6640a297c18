//! What a process spends: CPU, context switches, system calls, memory.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::Signal;

use crate::process::Process;

/// The counters of a process at one time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    cpu_us: f64,
    switches: f64,
}

/// What a process spent between two times, for each operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// User and system time, in microseconds.
    pub cpu_us: f64,
    /// Context switches, asked for or not.
    pub switches: f64,
}

impl Counters {
    /// Read them, of all threads that the process has now.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
        // The name before may hold anything but ends with the last bracket; fields 14 and 15 of proc_pid_stat(5) are the 12th and 13th after.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks: f64 = [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<f64>().ok()).sum();
        let mut switches = 0.0;
        for thread in fs::read_dir(format!("/proc/{process}/task")).expect("the process runs") {
            // A thread may end meanwhile.
            let Ok(status) = thread.and_then(|thread| fs::read_to_string(thread.path().join("status")))
            else {
                continue;
            };
            switches += status
                .lines()
                .filter(|line| line.contains("voluntary_ctxt_switches"))
                .filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
                .sum::<f64>();
        }
        Self { cpu_us: ticks * 1e6 / clock_ticks_per_second() as f64, switches }
    }

    /// What was spent since `earlier`, over so many operations.
    #[must_use]
    pub fn since(self, earlier: Self, operations: f64) -> Spent {
        Spent {
            cpu_us: (self.cpu_us - earlier.cpu_us) / operations,
            switches: (self.switches - earlier.switches) / operations,
        }
    }
}

/// Resident memory, in MiB.
#[must_use]
pub fn resident_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib: Option<f64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.expect("VmRSS is a number") / 1024.0
}

/// Counts the system calls of a process with perf, which does not stop it for each as a tracer would.
pub struct SystemCalls {
    perf: Process,
}

impl SystemCalls {
    /// Begin to count; None where perf is missing or the kernel does not let it.
    #[must_use]
    pub fn of(process: u32) -> Option<Self> {
        let event = ["stat", "-x,", "-e", "raw_syscalls:sys_enter"];
        let allowed = Command::new("perf").args(event).args(["--", "true"]).output().ok()?;
        if !allowed.status.success() {
            return None;
        }
        let perf = Process::start(Command::new("perf").args(event).args(["-p", &process.to_string()]));
        Some(Self { perf })
    }

    /// How many there were.
    pub fn stop(mut self) -> Option<f64> {
        self.perf.signal(Signal::INT);
        let (_, output) = self.perf.finish(Duration::from_secs(10));
        output.lines().find(|line| line.contains("sys_enter"))?.split(',').next()?.parse().ok()
    }
}
