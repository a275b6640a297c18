//! libiscsi's conformance suites, iscsi-test-cu, against volumes of each kind.

use std::time::Duration;

use glint_testkit::conformance;
use glint_testkit::glint::Glint;

/// Each suite, and how many of its tests run: the tool counts one that it skips as passed, so that is not enough to know.
const SUITES: &[(&str, usize)] = &[
    ("iSCSI.iSCSIcmdsn", 2),
    ("iSCSI.iSCSIdatasn", 1),
    ("iSCSI.iSCSIResiduals", 10),
    ("iSCSI.iSCSITMF", 2),
    ("SCSI.Inquiry", 7),
    ("SCSI.Mandatory", 1),
    ("SCSI.ModeSense6", 5),
    ("SCSI.Read6", 2),
    ("SCSI.Read10", 6),
    ("SCSI.Read12", 5),
    ("SCSI.Read16", 5),
    ("SCSI.ReadCapacity10", 1),
    ("SCSI.ReadCapacity16", 4),
    ("SCSI.TestUnitReady", 1),
    ("SCSI.Unmap", 3),
    ("SCSI.Verify10", 8),
    ("SCSI.Verify12", 8),
    ("SCSI.Verify16", 8),
    ("SCSI.Write10", 6),
    ("SCSI.Write12", 5),
    ("SCSI.Write16", 5),
];

/// Suites for a logical unit that is write protected.
const READ_ONLY_SUITES: &[(&str, usize)] = &[("SCSI.ReadOnly", 1)];

/// A suite takes three seconds at most; what takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn conform(glint: &mut Glint, volume: &str, suites: &[(&str, usize)]) {
    let url = glint.url(volume);
    let mut faults = String::new();
    for (suite, runs) in suites {
        let (outcome, output) = conformance::run(suite, &url, LIMIT);
        glint.assert_alive();
        if outcome.passed.len() != *runs || !outcome.failed.is_empty() || !outcome.unfinished.is_empty() {
            faults.push_str(&format!("{suite}, {runs} expected to run and pass: {outcome:?}\n{output}\n"));
        }
    }
    assert!(faults.is_empty(), "{volume} does not conform:\n{faults}");
}

#[test]
fn a_ram_volume_conforms() {
    conform(&mut Glint::with_volume("disk=ram:,size=64MiB"), "disk", SUITES);
}

#[test]
fn a_file_volume_conforms() {
    let glint = Glint::serve();
    let volume = format!("disk=file:{}/disk.img,size=64MiB", glint.dir().display());
    conform(&mut glint.volume(&volume).start(), "disk", SUITES);
}

#[test]
fn a_read_only_volume_conforms() {
    conform(&mut Glint::with_volume("disk=ram:,size=64MiB,read_only"), "disk", READ_ONLY_SUITES);
}
