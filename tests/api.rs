//! The API tells whether glint lives and is ready, and what it has done.

use std::time::Duration;

use glint_testkit::fio::Verify;
use glint_testkit::glint::Glint;
use glint_testkit::http::{get, metric};
use glint_testkit::tools::tool;
use glint_testkit::wait;

#[test]
fn it_lives_and_is_ready() {
    let glint = Glint::with_volume("disk=ram:,size=16MiB");
    for path in ["/livez", "/readyz"] {
        assert_eq!(get(glint.api(), path).0, 200, "{path}");
    }
    assert_eq!(get(glint.api(), "/nothing-here").0, 404);
}

#[test]
fn the_metrics_count_what_was_done() {
    let glint = Glint::serve().volume("disk=ram:,size=16MiB").volume("idle=ram:,size=16MiB").start();
    Verify { size: 8 << 20, ..Verify::default() }.run(&glint.url("disk"));
    // A login that the target does not admit.
    tool("iscsi-inq", [glint.url("missing")], Duration::from_secs(10)).failure();

    let (status, text) = get(glint.api(), "/metrics");
    assert_eq!(status, 200);
    let target = r#"target="iqn.2026-12.io.glint:disk""#;
    let of = |name: &str, label: &str| metric(&text, name, &[target, label]);
    for direction in ["read", "write"] {
        let op = format!("op=\"{direction}\"");
        assert!(of("glint_volume_operations_total", &op) > 30.0, "{direction}:\n{text}");
        let bytes = of("glint_volume_bytes_total", &format!("direction=\"{direction}\""));
        assert!(bytes >= f64::from(8 << 20), "{bytes} bytes {direction}:\n{text}");
        let counted = of("glint_volume_latency_seconds_count", &op);
        assert!(counted > 30.0, "{counted} latencies of {direction}:\n{text}");
    }
    assert!(metric(&text, "glint_logins_failed_total", &[]) >= 1.0, "{text}");
    let idle = metric(&text, "glint_volume_bytes_total", &[r#"target="iqn.2026-12.io.glint:idle""#]);
    assert_eq!(idle.to_bits(), 0.0_f64.to_bits(), "{text}");

    wait::until("no session is counted any more", Duration::from_secs(5), || {
        metric(&get(glint.api(), "/metrics").1, "glint_sessions", &[]) < 0.5
    });
}

#[test]
fn the_metrics_are_well_formed() {
    let glint = Glint::with_volume("disk=ram:,size=16MiB");
    let (_, text) = get(glint.api(), "/metrics");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let family =
            ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let described =
            |family: &str| ["HELP", "TYPE"].iter().all(|word| text.contains(&format!("# {word} {family} ")));
        assert!(described(family) || described(name), "{name} has no HELP and TYPE");
        assert!(
            name.starts_with("glint_") || name.starts_with("process_"),
            "{name} is in nobody's namespace"
        );
    }
}
