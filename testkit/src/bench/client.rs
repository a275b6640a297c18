//! fio as the client of a measurement: through iSCSI, or through libgfapi as the limit of what a server could reach.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::pump;
use super::work::{Pattern, Work};
use crate::{paths, tools};

/// How the client reaches what it reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// libiscsi URLs, one for each connection that may be asked for.
    Iscsi(Vec<String>),
    /// Files of a Gluster volume, without any server of block devices.
    Gfapi {
        /// Where glusterd is.
        host: String,
        /// The volume.
        volume: String,
        /// One for each connection that may be asked for.
        files: Vec<String>,
    },
    /// libiscsi URLs, for an initiator that knows data digests, which libiscsi does not.
    Own {
        /// One for each connection that may be asked for.
        urls: Vec<String>,
        /// Whether everything carries digests.
        digests: bool,
    },
}

impl Way {
    fn places(&self) -> &[String] {
        match self {
            Self::Iscsi(urls) | Self::Own { urls, .. } => urls,
            Self::Gfapi { files, .. } => files,
        }
    }
}

/// So often fio is started at most: its gfapi engine now and then fails to connect when several jobs begin at once.
const STARTS: usize = 5;

/// What fio measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Operations in a second.
    pub iops: f64,
    /// Bytes in a second.
    pub bandwidth: f64,
    /// Mean time from submission to completion, in microseconds.
    pub mean_us: f64,
    /// What 99 % of the operations stayed below, in microseconds.
    pub p99_us: f64,
    /// Operations done.
    pub operations: f64,
}

/// Write every byte of each volume once, so that nothing measured later is a hole.
#[track_caller]
pub fn fill(way: &Way, sizes: &[u64]) {
    let mut fio = fio(way);
    fio.args(["--rw=write", "--bs=256k", "--iodepth=8"]);
    for ((number, place), size) in way.places().iter().enumerate().zip(sizes) {
        add_job(&mut fio, number, place);
        fio.arg(format!("--size={size}"));
    }
    tools::run(&mut fio, Duration::from_secs(300)).success();
}

/// Run a load for so long. Panics on an I/O error.
#[track_caller]
pub fn run(work: &Work, way: &Way, time: Duration) -> Seen {
    let places =
        way.places().get(..work.connections as usize).expect("there is a volume for each connection");
    if let (Way::Own { digests, .. }, [url]) = (way, places) {
        return pump::run(work, url, *digests, time);
    }
    let mut fio = fio(way);
    fio.args(["--time_based", "--norandommap", "--random_generator=tausworthe64", "--percentile_list=50:99"])
        .arg(format!("--rw={}", work.pattern.fio()))
        .arg(format!("--bs={}", work.block))
        .arg(format!("--iodepth={}", work.depth))
        .arg(format!("--size={}", work.size()))
        .arg(format!("--runtime={}ms", time.as_millis()));
    if work.pattern == Pattern::Mixed {
        fio.arg("--rwmixread=70");
    }
    for (number, place) in places.iter().enumerate() {
        add_job(&mut fio, number, place);
    }
    let mut ran = tools::run(&mut fio, time + Duration::from_secs(60));
    for _ in 1..STARTS {
        if !matches!(way, Way::Gfapi { .. }) || !ran.output.contains("glfs_init failed") {
            break;
        }
        ran = tools::run(&mut fio, time + Duration::from_secs(60));
    }
    let output = ran.success();
    parse(&output).unwrap_or_else(|| panic!("fio gave no result for {}:\n{output}", work.name))
}

/// What all runs have in common.
fn fio(way: &Way) -> Command {
    let mut fio = Command::new(paths::tool("fio/fio"));
    // fio leaves files where it runs.
    fio.current_dir(std::env::temp_dir());
    fio.args(["--thread", "--group_reporting", "--output-format=json", "--eta=never", "--direct=1"]);
    match way {
        Way::Iscsi(_) | Way::Own { .. } => fio.arg("--ioengine=libiscsi"),
        Way::Gfapi { host, volume, .. } => {
            fio.arg("--ioengine=gfapi_async").arg(format!("--volume={volume}")).arg(format!("--brick={host}"))
        }
    };
    fio
}

fn add_job(fio: &mut Command, number: usize, place: &str) {
    // fio takes a colon as a separator of file names.
    fio.arg(format!("--name=job{number}")).arg(format!("--filename={}", place.replace(':', "\\:")));
}

/// The sum of reads and writes; the worse of their 99th percentiles.
fn parse(output: &str) -> Option<Seen> {
    let report: Value = serde_json::from_str(output.get(output.find("{\n")?..)?.trim()).ok()?;
    let job = report.get("jobs")?.get(0)?;
    let mut seen = Seen { iops: 0.0, bandwidth: 0.0, mean_us: 0.0, p99_us: 0.0, operations: 0.0 };
    for direction in ["read", "write"] {
        let part = job.get(direction)?;
        let operations = part.get("total_ios")?.as_f64()?;
        if operations == 0.0 {
            continue;
        }
        let latency = part.get("clat_ns")?;
        seen.iops += part.get("iops")?.as_f64()?;
        seen.bandwidth += part.get("bw_bytes")?.as_f64()?;
        seen.mean_us += latency.get("mean")?.as_f64()? / 1000.0 * operations;
        let p99 = latency.get("percentile")?.get("99.000000")?.as_f64()? / 1000.0;
        seen.p99_us = seen.p99_us.max(p99);
        seen.operations += operations;
    }
    seen.mean_us /= seen.operations;
    (seen.operations > 0.0).then_some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_summed() {
        let report = r#"fio: warning
{
 "jobs": [ {
  "read": {"total_ios": 30, "iops": 300.0, "bw_bytes": 1200, "clat_ns": {"mean": 1000.0, "percentile": {"99.000000": 5000}}},
  "write": {"total_ios": 10, "iops": 100.0, "bw_bytes": 400, "clat_ns": {"mean": 5000.0, "percentile": {"99.000000": 9000}}} } ]
}"#;
        let expected = Seen { iops: 400.0, bandwidth: 1600.0, mean_us: 2.0, p99_us: 9.0, operations: 40.0 };
        assert_eq!(parse(report), Some(expected));
    }

    #[test]
    fn a_run_without_an_operation_gives_nothing() {
        let report = "{\n \"jobs\": [ { \"read\": {\"total_ios\": 0}, \"write\": {\"total_ios\": 0} } ] }";
        assert_eq!(parse(report), None);
    }
}
