//! libiscsi's conformance suites, iscsi-test-cu, against a volume of each kind on each backend. What need not pass is listed in
//! `tests/conformance/exceptions`; `make conformance` prints the table.

use glint_testkit::conformance::{self, Backend, Tool};

fn conform(backend: Backend, tools: &[Tool]) {
    let report = conformance::run(backend, tools, &[]);
    assert!(
        report.faults.is_empty(),
        "{}\n{} faults:\n{}",
        report.totals(),
        report.faults.len(),
        report.faults()
    );
}

#[test]
fn ram_volumes_conform() {
    // The newest suites as well: what they add depends on the target, not on the backend.
    conform(Backend::Ram, &[Tool::debian(), Tool::newest()]);
}

#[test]
fn file_volumes_conform() {
    conform(Backend::File, &[Tool::debian()]);
}

#[test]
fn gluster_volumes_conform() {
    conform(Backend::Gluster, &[Tool::debian()]);
}
