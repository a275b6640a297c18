//! The metrics of one logical unit: handles that were looked up once, so that an I/O touches counters and no label.

use super::operation::Operation;
use glint_target_core::lun::throttle::Meter;
use glint_target_core::scsi::command::{Outcome, Response};
use glint_target_core::scsi::sense::SenseKey;
use prometheus::{
    Counter, CounterVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts,
};
use prometheus::{Registry, Result};
use std::time::Duration;

/// Upper bounds of the latency buckets in seconds: 10 us to 30 s, about three to a decade.
const LATENCY_BUCKETS: [f64; 19] = [
    10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0,
    2.0, 5.0, 30.0,
];

/// The families of which every logical unit has its members.
pub(super) struct VolumeFamilies {
    operations: IntCounterVec,
    bytes: IntCounterVec,
    latency: HistogramVec,
    errors: IntCounterVec,
    queue_depth: IntGaugeVec,
    throttled: IntCounterVec,
    throttled_time: CounterVec,
}

impl VolumeFamilies {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        let families = Self {
            operations: IntCounterVec::new(
                Opts::new("glint_volume_operations_total", "Commands that ended, by kind."),
                &["target", "lun", "op"],
            )?,
            bytes: IntCounterVec::new(
                Opts::new("glint_volume_bytes_total", "Data carried by commands that ended."),
                &["target", "lun", "direction"],
            )?,
            latency: HistogramVec::new(
                HistogramOpts::new(
                    "glint_volume_latency_seconds",
                    "From a command with all its data at hand to its response.",
                )
                .buckets(LATENCY_BUCKETS.to_vec()),
                &["target", "lun", "op"],
            )?,
            errors: IntCounterVec::new(
                Opts::new("glint_volume_errors_total", "Commands that ended in CHECK CONDITION."),
                &["target", "lun", "sense_key"],
            )?,
            queue_depth: IntGaugeVec::new(
                Opts::new("glint_volume_queue_depth", "Commands that are being worked on."),
                &["target", "lun"],
            )?,
            throttled: IntCounterVec::new(
                Opts::new(
                    "glint_volume_throttled_total",
                    "Commands that waited for the volume's limits before they went on.",
                ),
                &["target", "lun"],
            )?,
            throttled_time: CounterVec::new(
                Opts::new(
                    "glint_volume_throttled_seconds_total",
                    "The time that they waited, all together; not part of the latency.",
                ),
                &["target", "lun"],
            )?,
        };
        registry.register(Box::new(families.throttled.clone()))?;
        registry.register(Box::new(families.throttled_time.clone()))?;
        registry.register(Box::new(families.operations.clone()))?;
        registry.register(Box::new(families.bytes.clone()))?;
        registry.register(Box::new(families.latency.clone()))?;
        registry.register(Box::new(families.errors.clone()))?;
        registry.register(Box::new(families.queue_depth.clone()))?;
        Ok(families)
    }

    pub(super) fn volume(&self, target: &str, lun: u16) -> VolumeMetrics {
        let lun = lun.to_string();
        let direction = |name| self.bytes.with_label_values(&[target, &lun, name]);
        VolumeMetrics {
            operations: Operation::ALL.map(|op| PerOperation {
                count: self.operations.with_label_values(&[target, &lun, op.label()]),
                latency: self.latency.with_label_values(&[target, &lun, op.label()]),
            }),
            bytes_read: direction("read"),
            bytes_written: direction("write"),
            errors: SENSE_KEYS.map(|key| self.errors.with_label_values(&[target, &lun, key])),
            queue_depth: self.queue_depth.with_label_values(&[target, &lun]),
            throttled: self.throttled.with_label_values(&[target, &lun]),
            throttled_time: self.throttled_time.with_label_values(&[target, &lun]),
        }
    }

    /// Takes the members of a unit out; errors are those of members that never were.
    pub(super) fn forget(&self, target: &str, lun: u16) {
        let lun = lun.to_string();
        for op in Operation::ALL {
            let _ = self.operations.remove_label_values(&[target, &lun, op.label()]);
            let _ = self.latency.remove_label_values(&[target, &lun, op.label()]);
        }
        for direction in ["read", "write"] {
            let _ = self.bytes.remove_label_values(&[target, &lun, direction]);
        }
        for key in SENSE_KEYS {
            let _ = self.errors.remove_label_values(&[target, &lun, key]);
        }
        let _ = self.queue_depth.remove_label_values(&[target, &lun]);
        let _ = self.throttled.remove_label_values(&[target, &lun]);
        let _ = self.throttled_time.remove_label_values(&[target, &lun]);
    }
}

/// The label `sense_key` by sense key code (SPC-5 table 47).
const SENSE_KEYS: [&str; 16] = [
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

struct PerOperation {
    count: IntCounter,
    latency: Histogram,
}

/// The metrics of one logical unit.
pub struct VolumeMetrics {
    operations: [PerOperation; Operation::ALL.len()],
    bytes_read: IntCounter,
    bytes_written: IntCounter,
    errors: [IntCounter; 16],
    queue_depth: IntGauge,
    throttled: IntCounter,
    throttled_time: Counter,
}

impl VolumeMetrics {
    /// A command begins.
    pub fn begin(&self) {
        self.queue_depth.inc();
    }

    /// A command that began is given up without an end.
    pub fn abandon(&self) {
        self.queue_depth.dec();
    }

    /// A command that began has ended.
    pub fn end(&self, operation: Operation, data_out: u64, took: Duration, outcome: &Outcome) {
        self.queue_depth.dec();
        let Outcome::Done(response) = outcome else { return };
        if let Some(per_operation) = self.operations.get(operation as usize) {
            per_operation.count.inc();
            per_operation.latency.observe(took.as_secs_f64());
        }
        self.count_response(data_out, response);
    }

    fn count_response(&self, data_out: u64, response: &Response) {
        if data_out > 0 {
            self.bytes_written.inc_by(data_out);
        }
        if !response.data_in.is_empty() {
            self.bytes_read.inc_by(response.data_in.len() as u64);
        }
        if let Some(sense) = &response.sense_value {
            self.count_sense(sense.key);
        }
    }

    fn count_sense(&self, key: SenseKey) {
        if let Some(counter) = self.errors.get(key as usize) {
            counter.inc();
        }
    }
}

impl Meter for VolumeMetrics {
    fn throttled(&self, waited: Duration) {
        self.throttled.inc();
        self.throttled_time.inc_by(waited.as_secs_f64());
    }
}
