//! The process's metrics, gathered in one registry.

use super::process::ProcessCollector;
use super::reading::Reading;
use super::volume::VolumeMetrics;
use super::volumes::Volumes;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, Result, TextEncoder};
use std::sync::Arc;

/// The registry and the handles of node-wide metrics.
pub struct Metrics {
    registry: Registry,
    volumes: Volumes,
    /// Sessions that exist.
    pub sessions: IntGauge,
    /// TCP connections that are open.
    pub connections: IntGauge,
    logins_failed: IntCounterVec,
    pdu_errors: IntCounterVec,
    file_io: IntGaugeVec,
}

impl Metrics {
    /// Registers everything. An error would be a name given twice.
    pub fn new() -> Result<Self> {
        let registry = Registry::new();
        let gauge = |name, help| -> Result<IntGauge> {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let counters = |name, help, label| -> Result<IntCounterVec> {
            let counters = IntCounterVec::new(Opts::new(name, help), &[label])?;
            registry.register(Box::new(counters.clone()))?;
            Ok(counters)
        };
        let build = IntGauge::with_opts(
            Opts::new("glint_build_info", "Always 1; the labels tell what was built.")
                .const_label("version", env!("CARGO_PKG_VERSION")),
        )?;
        build.set(1);
        registry.register(Box::new(build))?;
        registry.register(Box::new(ProcessCollector::new()?))?;
        let sessions = gauge("glint_sessions", "iSCSI sessions that exist.")?;
        let connections = gauge("glint_connections", "TCP connections to the portals that are open.")?;
        let logins_failed =
            counters("glint_logins_failed_total", "Logins that failed, by reason.", "reason")?;
        let pdu_errors = counters(
            "glint_pdu_errors_total",
            "PDUs that broke the protocol, by how; most of them ended their connection.",
            "kind",
        )?;
        let file_io = IntGaugeVec::new(
            Opts::new("glint_file_io_info", "Always 1; the label tells how files are read and written."),
            &["by"],
        )?;
        registry.register(Box::new(file_io.clone()))?;
        let volumes = Volumes::register(&registry)?;
        Ok(Self { volumes, sessions, connections, logins_failed, pdu_errors, file_io, registry })
    }

    /// Those of one logical unit.
    pub fn volume(&self, target: &str, lun: u16) -> Arc<VolumeMetrics> {
        self.volumes.volume(target, lun)
    }

    /// Drops the metrics of a unit that is served no longer.
    pub fn forget_volume(&self, target: &str, lun: u16) {
        self.volumes.forget(target, lun);
    }

    /// Adds a gauge whose value is read when it is asked for, so that keeping it costs nothing. An error would be a name given twice.
    pub fn add_reading(
        &self,
        name: &str,
        help: &str,
        read: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Result<()> {
        self.registry.register(Box::new(Reading::new(name, help, read)?))
    }

    /// Tells how files are read and written.
    pub fn tell_file_io(&self, by: &'static str) {
        self.file_io.with_label_values(&[by]).set(1);
    }

    /// Counts a login that failed.
    pub fn login_failed(&self, reason: &'static str) {
        self.logins_failed.with_label_values(&[reason]).inc();
    }

    /// Counts a breach of the protocol.
    pub fn pdu_error(&self, kind: &'static str) {
        self.pdu_errors.with_label_values(&[kind]).inc();
    }

    /// All of them in Prometheus' text format.
    pub fn render(&self) -> Result<String> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
