//! What a process spends: CPU, context switches, system calls, memory. And how busy the machine is.

use std::collections::HashMap;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::Signal;

use crate::process::Process;

/// The counters of a process at one time.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    cpu_us: f64,
    /// Of each thread by its number: those of a thread that ends go with it, unlike its CPU time.
    switches: HashMap<u32, f64>,
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
    /// Read them, of all threads.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
        let ticks = cpu_ticks(&stat).expect("its times are numbers");
        let mut switches = HashMap::new();
        for thread in fs::read_dir(format!("/proc/{process}/task")).expect("the process runs") {
            let Ok(thread) = thread else { continue };
            let number = thread.file_name().to_string_lossy().parse().expect("threads have numbers");
            // A thread may end meanwhile.
            if let Ok(status) = fs::read_to_string(thread.path().join("status")) {
                switches.insert(number, sum_of_switches(&status));
            }
        }
        Self { cpu_us: ticks * 1e6 / clock_ticks_per_second() as f64, switches }
    }

    /// What was spent since `earlier`, over so many operations.
    #[must_use]
    pub fn since(&self, earlier: &Self, operations: f64) -> Spent {
        let switches: f64 = self
            .switches
            .iter()
            .map(|(thread, count)| count - earlier.switches.get(thread).copied().unwrap_or(0.0))
            .sum();
        Spent { cpu_us: (self.cpu_us - earlier.cpu_us) / operations, switches: switches / operations }
    }
}

/// utime and stime of proc_pid_stat(5), which are of all threads, also of those that have ended.
fn cpu_ticks(stat: &str) -> Option<f64> {
    // The name before may hold anything but ends with the last bracket; fields 14 and 15 are the 12th and 13th after.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
}

/// Those asked for and those not, in proc_pid_status(5).
fn sum_of_switches(status: &str) -> f64 {
    status
        .lines()
        .filter(|line| line.contains("voluntary_ctxt_switches"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
        .sum()
}

/// Resident memory, in MiB.
#[must_use]
pub fn resident_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib: Option<f64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.expect("VmRSS is a number") / 1024.0
}

/// The share of the machine's processors that was in use, by anyone, in the middle half of the time from now on.
#[must_use]
pub fn busy_share(time: Duration) -> Option<f64> {
    let read = || processor_ticks(&fs::read_to_string("/proc/stat").ok()?);
    thread::sleep(time / 4);
    let (idle, all) = read()?;
    thread::sleep(time / 2);
    let (idle_then, all_then) = read()?;
    (all_then > all).then(|| 1.0 - (idle_then - idle) / (all_then - all))
}

/// Ticks without work and all ticks, of proc_stat(5). What a hypervisor gave to others is nobody's here.
fn processor_ticks(stat: &str) -> Option<(f64, f64)> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    // user nice system idle iowait irq softirq, then steal and what is counted in user already.
    let (idle, all) = (ticks.get(3..5)?, ticks.get(..7)?);
    Some((idle.iter().sum(), all.iter().sum()))
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
        counted(&output)
    }
}

/// The count in the lines that `perf stat -x,` prints.
fn counted(output: &str) -> Option<f64> {
    output.lines().find(|line| line.contains("sys_enter"))?.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 300 25 13 14 15 16 17";
        assert_eq!(cpu_ticks(stat), Some(325.0));
        assert_eq!(cpu_ticks("12 (a) S 1"), None);
    }

    #[test]
    fn switches_of_both_kinds_are_added() {
        let status = "Name:\tx\nThreads:\t2\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(sum_of_switches(status), 42.0);
    }

    /// Thread 2 is new, thread 3 has ended and took its 1000 switches with it.
    #[test]
    fn threads_may_come_and_go() {
        let earlier = Counters { cpu_us: 100.0, switches: HashMap::from([(1, 5.0), (3, 1000.0)]) };
        let now = Counters { cpu_us: 300.0, switches: HashMap::from([(1, 25.0), (2, 20.0)]) };
        assert_eq!(now.since(&earlier, 10.0), Spent { cpu_us: 20.0, switches: 4.0 });
    }

    #[test]
    fn a_process_spends_what_it_works() {
        let before = Counters::of(std::process::id());
        let end = std::time::Instant::now() + Duration::from_secs(60);
        // However busy the machine is with others, some time is this one's.
        while Counters::of(std::process::id()).since(&before, 1.0).cpu_us < 50_000.0 {
            assert!(std::time::Instant::now() < end, "a process that works all the time spends nothing");
        }
    }

    #[test]
    fn stolen_time_is_left_out() {
        let stat = "cpu  10 20 30 100 40 5 5 1000 7 0\ncpu0 1 2 3 4\n";
        assert_eq!(processor_ticks(stat), Some((140.0, 210.0)));
        assert_eq!(processor_ticks("intr 1"), None);
    }

    #[test]
    fn perf_tells_a_count() {
        assert_eq!(counted("\n12345,,raw_syscalls:sys_enter,99,100.00,36.5,K/sec\n"), Some(12345.0));
        assert_eq!(counted("<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n"), None);
    }
}
