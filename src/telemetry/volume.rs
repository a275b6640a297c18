//! The metrics of one logical unit: plain counters, so that an I/O touches no label, and a unit that nobody uses takes little memory.

use super::operation::Operation;
use glint_target_core::lun::throttle::Meter;
use glint_target_core::scsi::command::{Outcome, Response};
use glint_target_core::scsi::sense::SenseKey;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the latency buckets in nanoseconds: 10 us to 30 s, about three to a decade.
const LATENCY_BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    30_000_000_000,
];

const BUCKETS: usize = LATENCY_BOUNDS.len() + 1;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The label `sense_key` by sense key code (SPC-5 table 47).
pub(super) const SENSE_KEYS: [&str; 16] = [
    "no_sense",
    "recovered_error",
    "not_ready",
    "medium_error",
    "hardware_error",
    "illegal_request",
    "unit_attention",
    "data_protect",
    "blank_check",
    "vendor_specific",
    "copy_aborted",
    "aborted_command",
    "reserved",
    "volume_overflow",
    "miscompare",
    "completed",
];

/// How long commands of one kind took, and so how many there were.
#[derive(Debug, Default)]
pub(super) struct Latency {
    buckets: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
}

/// A latency at one time.
#[derive(Debug, PartialEq)]
pub(super) struct Observed {
    /// Commands.
    pub(super) count: u64,
    /// All their time.
    pub(super) seconds: f64,
    /// Upper bounds in seconds, and how many commands took no longer.
    pub(super) cumulative: Vec<(f64, u64)>,
}

impl Latency {
    fn observe(&self, took: Duration) {
        let nanoseconds = nanoseconds(took);
        let bucket = LATENCY_BOUNDS.iter().take_while(|bound| **bound < nanoseconds).count();
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How many commands there were.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    pub(super) fn observed(&self) -> Observed {
        let mut count = 0;
        let mut buckets = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let bounds = LATENCY_BOUNDS.iter().map(|bound| Duration::from_nanos(*bound).as_secs_f64());
        let cumulative = bounds.zip(&mut buckets).collect();
        buckets.for_each(drop);
        let seconds = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        Observed { count, seconds, cumulative }
    }
}

/// The metrics of one logical unit.
#[derive(Debug, Default)]
pub struct VolumeMetrics {
    pub(super) latency: [Latency; Operation::ALL.len()],
    pub(super) bytes_read: AtomicU64,
    pub(super) bytes_written: AtomicU64,
    pub(super) errors: [AtomicU64; SENSE_KEYS.len()],
    pub(super) queue_depth: AtomicI64,
    pub(super) throttled: AtomicU64,
    pub(super) throttled_nanoseconds: AtomicU64,
}

impl VolumeMetrics {
    /// A command begins.
    pub fn begin(&self) {
        self.queue_depth.fetch_add(1, Ordering::Relaxed);
    }

    /// A command that began is given up without an end.
    pub fn abandon(&self) {
        self.queue_depth.fetch_sub(1, Ordering::Relaxed);
    }

    /// A command that began has ended.
    pub fn end(&self, operation: Operation, data_out: u64, took: Duration, outcome: &Outcome) {
        self.queue_depth.fetch_sub(1, Ordering::Relaxed);
        let Outcome::Done(response) = outcome else { return };
        if let Some(latency) = self.latency.get(operation as usize) {
            latency.observe(took);
        }
        self.count_response(data_out, response);
    }

    fn count_response(&self, data_out: u64, response: &Response) {
        if data_out > 0 {
            self.bytes_written.fetch_add(data_out, Ordering::Relaxed);
        }
        if !response.data_in.is_empty() {
            self.bytes_read.fetch_add(response.data_in.len() as u64, Ordering::Relaxed);
        }
        if let Some(sense) = &response.sense_value {
            self.count_sense(sense.key);
        }
    }

    fn count_sense(&self, key: SenseKey) {
        if let Some(counter) = self.errors.get(key as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Meter for VolumeMetrics {
    fn throttled(&self, waited: Duration) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
        self.throttled_nanoseconds.fetch_add(nanoseconds(waited), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_belongs_to_the_first_bucket_that_it_does_not_exceed() {
        let latency = Latency::default();
        for micros in [0, 10, 11, 30_000_000, 31_000_000] {
            latency.observe(Duration::from_micros(micros));
        }
        let Observed { count, seconds, cumulative } = latency.observed();
        assert_eq!((count, latency.count()), (5, 5));
        assert!((seconds - 61.000_021).abs() < 1e-9);
        assert_eq!(cumulative.first(), Some(&(10e-6, 2)));
        assert_eq!(cumulative.get(1), Some(&(20e-6, 3)));
        assert_eq!(cumulative.last(), Some(&(30.0, 4)));
    }

    #[test]
    fn a_unit_that_is_idle_costs_little() {
        assert!(size_of::<VolumeMetrics>() < 2 << 10);
    }
}
