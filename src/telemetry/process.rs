//! The resources of this process under the names that Prometheus' own client libraries use, read from /proc when asked.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, Result};
use std::fs;

/// Reads /proc/self at each scrape.
pub(super) struct ProcessCollector {
    cpu: Counter,
    resident: Gauge,
    virtual_size: Gauge,
    open_fds: Gauge,
    max_fds: Gauge,
    threads: Gauge,
    start_time: Gauge,
}

impl ProcessCollector {
    pub(super) fn new() -> Result<Self> {
        let collector = Self {
            cpu: Counter::new("process_cpu_seconds_total", "User and system CPU time spent.")?,
            resident: Gauge::new("process_resident_memory_bytes", "Resident memory.")?,
            virtual_size: Gauge::new("process_virtual_memory_bytes", "Virtual memory.")?,
            open_fds: Gauge::new("process_open_fds", "Open file descriptors.")?,
            max_fds: Gauge::new("process_max_fds", "Most file descriptors that may be open.")?,
            threads: Gauge::new("process_threads", "Threads.")?,
            start_time: Gauge::new("process_start_time_seconds", "Start of the process since the epoch.")?,
        };
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        if let (Some(stat), Some(boot)) = (Stat::read(), boot_time()) {
            collector.start_time.set(boot + stat.start_ticks / ticks);
        }
        Ok(collector)
    }

    fn metrics(&self) -> [&dyn Collector; 7] {
        [
            &self.cpu,
            &self.resident,
            &self.virtual_size,
            &self.open_fds,
            &self.max_fds,
            &self.threads,
            &self.start_time,
        ]
    }

    fn refresh(&self) {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        if let Some(stat) = Stat::read() {
            self.cpu.inc_by((stat.cpu_ticks / ticks - self.cpu.get()).max(0.0));
            self.resident.set(stat.resident_pages * rustix::param::page_size() as f64);
            self.virtual_size.set(stat.virtual_bytes);
            self.threads.set(stat.threads);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            self.open_fds.set(entries.count() as f64);
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        self.max_fds.set(limit.current.map_or(f64::INFINITY, |fds| fds as f64));
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.metrics().into_iter().flat_map(|metric| metric.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.refresh();
        self.metrics().into_iter().flat_map(|metric| metric.collect()).collect()
    }
}

/// The fields of /proc/self/stat that matter (proc(5)).
struct Stat {
    cpu_ticks: f64,
    threads: f64,
    start_ticks: f64,
    virtual_bytes: f64,
    resident_pages: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The program's name, in parentheses, may hold anything; what follows it begins with field 3.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine booted, in seconds since the epoch.
fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
