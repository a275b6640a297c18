//! A gauge that is read from where the value is kept anyway.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, Result};

/// Reads a value at each scrape.
pub(super) struct Reading<F> {
    gauge: IntGauge,
    read: F,
}

impl<F: Fn() -> usize> Reading<F> {
    pub(super) fn new(name: &str, help: &str, read: F) -> Result<Self> {
        Ok(Self { gauge: IntGauge::new(name, help)?, read })
    }
}

impl<F: Fn() -> usize + Send + Sync> Collector for Reading<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.gauge.set(i64::try_from((self.read)()).unwrap_or(i64::MAX));
        self.gauge.collect()
    }
}
