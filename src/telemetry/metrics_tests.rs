use super::*;
use crate::telemetry::Operation;
use glint_target_core::payload::Payload;
use glint_target_core::scsi::command::{Outcome, Response};
use glint_target_core::scsi::sense::{Asc, Sense, SenseKey, Status};
use std::time::Duration;

fn response(data_in: usize, sense: Option<Sense>) -> Outcome {
    Outcome::Done(Response {
        status: if sense.is_some() { Status::CheckCondition } else { Status::Good },
        sense: Default::default(),
        sense_value: sense,
        data_in: Payload::from(vec![0; data_in]),
        data_in_beyond: 0,
        data_out_wanted: 0,
    })
}

#[test]
fn a_volume_counts_what_its_commands_did() {
    let metrics = Metrics::new().unwrap();
    let volume = metrics.volume("iqn.x:demo", 3);
    volume.begin();
    volume.begin();
    volume.begin();
    volume.end(Operation::of(0x28), 0, Duration::from_micros(15), &response(4096, None));
    let sense = Sense::new(SenseKey::MediumError, Asc(0x11, 0));
    volume.end(Operation::of(0x2a), 512, Duration::from_millis(3), &response(0, Some(sense)));
    let text = metrics.render().unwrap();
    for line in [
        r#"glint_volume_operations_total{lun="3",op="read",target="iqn.x:demo"} 1"#,
        r#"glint_volume_operations_total{lun="3",op="write",target="iqn.x:demo"} 1"#,
        r#"glint_volume_operations_total{lun="3",op="flush",target="iqn.x:demo"} 0"#,
        r#"glint_volume_bytes_total{direction="read",lun="3",target="iqn.x:demo"} 4096"#,
        r#"glint_volume_bytes_total{direction="write",lun="3",target="iqn.x:demo"} 512"#,
        r#"glint_volume_errors_total{lun="3",sense_key="medium_error",target="iqn.x:demo"} 1"#,
        r#"glint_volume_latency_seconds_bucket{lun="3",op="read",target="iqn.x:demo",le="0.00001"} 0"#,
        r#"glint_volume_latency_seconds_bucket{lun="3",op="read",target="iqn.x:demo",le="0.00002"} 1"#,
        r#"glint_volume_queue_depth{lun="3",target="iqn.x:demo"} 1"#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is missing in:\n{text}");
    }
}

#[test]
fn a_forgotten_volume_leaves_no_line() {
    let metrics = Metrics::new().unwrap();
    metrics.volume("iqn.x:gone", 0).begin();
    metrics.volume("iqn.x:kept", 0).begin();
    metrics.forget_volume("iqn.x:gone", 0);
    let text = metrics.render().unwrap();
    assert!(!text.contains("iqn.x:gone"));
    assert!(text.contains("iqn.x:kept"));
}

#[test]
fn the_process_tells_its_resources() {
    let text = Metrics::new().unwrap().render().unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("process_resident_memory_bytes ") > 1e6);
    assert!(value("process_open_fds ") >= 3.0);
    assert!(value("process_max_fds ") >= value("process_open_fds "));
    assert!(value("process_threads ") >= 1.0);
    assert!(value("process_cpu_seconds_total ") >= 0.0);
    assert!(value("process_start_time_seconds ") > 1.7e9);
    assert!(text.contains(concat!("glint_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1")));
}
