//! The metrics of all logical units, with their labels when they are asked for.
//!
//! Of a thousand units most are idle, and each of them does only some of what it could: latencies of kinds of commands that there never
//! were, and errors that never happened, are left out.

use super::operation::Operation;
use super::volume::{Observed, SENSE_KEYS, VolumeMetrics};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Registry, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Target and LUN.
type Place = (String, u16);

/// One metric, of which every unit has members.
struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    /// The label beside `target` and `lun`.
    label: Option<&'static str>,
    /// What a unit has of it: the value of that label, and the metric without labels.
    members: fn(&VolumeMetrics) -> Vec<(&'static str, Metric)>,
}

const FAMILIES: [Family; 7] = [
    Family {
        name: "glint_volume_operations_total",
        help: "Commands that ended, by kind.",
        kind: MetricType::COUNTER,
        label: Some("op"),
        members: |volume| each_operation(volume).map(|(op, it)| (op, counter(it.count()))).collect(),
    },
    Family {
        name: "glint_volume_bytes_total",
        help: "Data carried by commands that ended.",
        kind: MetricType::COUNTER,
        label: Some("direction"),
        members: |volume| {
            let both = [("read", &volume.bytes_read), ("write", &volume.bytes_written)];
            both.map(|(direction, bytes)| (direction, counter(bytes.load(Ordering::Relaxed)))).into()
        },
    },
    Family {
        name: "glint_volume_latency_seconds",
        help: "From a command with all its data at hand to its response.",
        kind: MetricType::HISTOGRAM,
        label: Some("op"),
        members: |volume| {
            let observed = each_operation(volume).map(|(op, it)| (op, it.observed()));
            observed.filter(|(_, it)| it.count > 0).map(|(op, it)| (op, histogram(&it))).collect()
        },
    },
    Family {
        name: "glint_volume_errors_total",
        help: "Commands that ended in CHECK CONDITION.",
        kind: MetricType::COUNTER,
        label: Some("sense_key"),
        members: |volume| {
            let counts = volume.errors.iter().map(|count| count.load(Ordering::Relaxed));
            let seen = SENSE_KEYS.into_iter().zip(counts).filter(|(_, count)| *count > 0);
            seen.map(|(key, count)| (key, counter(count))).collect()
        },
    },
    Family {
        name: "glint_volume_queue_depth",
        help: "Commands that are being worked on.",
        kind: MetricType::GAUGE,
        label: None,
        members: |volume| {
            let mut depth = Gauge::default();
            depth.set_value(volume.queue_depth.load(Ordering::Relaxed) as f64);
            vec![("", Metric::from_gauge(depth))]
        },
    },
    Family {
        name: "glint_volume_throttled_total",
        help: "Commands that waited for the volume's limits before they went on.",
        kind: MetricType::COUNTER,
        label: None,
        members: |volume| {
            let throttled = volume.throttled.load(Ordering::Relaxed);
            (throttled > 0).then(|| ("", counter(throttled))).into_iter().collect()
        },
    },
    Family {
        name: "glint_volume_throttled_seconds_total",
        help: "The time that they waited, all together; not part of the latency.",
        kind: MetricType::COUNTER,
        label: None,
        members: |volume| {
            let waited = Duration::from_nanos(volume.throttled_nanoseconds.load(Ordering::Relaxed));
            (!waited.is_zero()).then(|| ("", seconds(waited))).into_iter().collect()
        },
    },
];

fn each_operation(volume: &VolumeMetrics) -> impl Iterator<Item = (&'static str, &super::volume::Latency)> {
    Operation::ALL.iter().map(|operation| operation.label()).zip(&volume.latency)
}

fn counter(value: u64) -> Metric {
    fractional(value as f64)
}

fn seconds(time: Duration) -> Metric {
    fractional(time.as_secs_f64())
}

fn fractional(value: f64) -> Metric {
    let (mut metric, mut counter) = (Metric::default(), Counter::default());
    counter.set_value(value);
    metric.set_counter(counter);
    metric
}

fn histogram(observed: &Observed) -> Metric {
    let (mut metric, mut histogram) = (Metric::default(), Histogram::default());
    histogram.set_sample_count(observed.count);
    histogram.set_sample_sum(observed.seconds);
    let bucket = |(bound, count): &(f64, u64)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*bound);
        bucket.set_cumulative_count(*count);
        bucket
    };
    histogram.set_bucket(observed.cumulative.iter().map(bucket).collect());
    metric.set_histogram(histogram);
    metric
}

/// The units whose metrics are told.
#[derive(Clone, Default)]
pub(super) struct Volumes {
    shared: Arc<Mutex<BTreeMap<Place, Arc<VolumeMetrics>>>>,
}

impl Volumes {
    /// None yet. An error would be a name given twice.
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        let volumes = Self::default();
        let desc = |family: &Family| {
            let labels = ["target", "lun"].into_iter().chain(family.label).map(str::to_owned).collect();
            Desc::new(family.name.to_owned(), family.help.to_owned(), labels, HashMap::new())
        };
        let descs = FAMILIES.iter().map(desc).collect::<Result<_>>()?;
        registry.register(Box::new(Told { volumes: volumes.clone(), descs }))?;
        Ok(volumes)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Place, Arc<VolumeMetrics>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a unit, which goes on with its counts if it is told of already.
    pub(super) fn volume(&self, target: &str, lun: u16) -> Arc<VolumeMetrics> {
        self.lock().entry((target.to_owned(), lun)).or_default().clone()
    }

    /// Tells of a unit no longer.
    pub(super) fn forget(&self, target: &str, lun: u16) {
        self.lock().remove(&(target.to_owned(), lun));
    }
}

/// What the registry asks.
struct Told {
    volumes: Volumes,
    descs: Vec<Desc>,
}

impl Collector for Told {
    fn desc(&self) -> Vec<&Desc> {
        self.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let volumes = self.volumes.lock().clone();
        FAMILIES.iter().map(|family| family.collect(&volumes)).collect()
    }
}

impl Family {
    fn collect(&self, volumes: &BTreeMap<Place, Arc<VolumeMetrics>>) -> MetricFamily {
        let mut metrics = Vec::new();
        for ((target, lun), volume) in volumes {
            for (value, mut metric) in (self.members)(volume) {
                // In the order of their names, as the library has it.
                let own = self.label.map(|label| pair(label, value));
                let mut labels = vec![pair("lun", &lun.to_string()), pair("target", target)];
                labels.extend(own);
                labels.sort();
                metric.set_label(labels);
                metrics.push(metric);
            }
        }
        let mut family = MetricFamily::default();
        family.set_name(self.name.to_owned());
        family.set_help(self.help.to_owned());
        family.set_field_type(self.kind);
        family.set_metric(metrics);
        family
    }
}

fn pair(name: &str, value: &str) -> LabelPair {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    pair
}
