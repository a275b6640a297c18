//! libiscsi's conformance suites, iscsi-test-cu, against volumes of each kind.

use std::time::Duration;

use glint_testkit::conformance;
use glint_testkit::glint::Glint;

/// Each suite, how many of its tests run in full, and how many skip something: the tool counts those as passed too.
const SUITES: &[(&str, usize, usize)] = &[
    ("iSCSI.iSCSIcmdsn", 2, 0),
    ("iSCSI.iSCSIdatasn", 1, 0),
    ("iSCSI.iSCSIResiduals", 10, 0),
    ("iSCSI.iSCSITMF", 2, 0),
    ("SCSI.CompareAndWrite", 5, 0),
    ("SCSI.Inquiry", 7, 0),
    ("SCSI.Mandatory", 1, 0),
    ("SCSI.ModeSense6", 5, 0),
    ("SCSI.Prefetch10", 4, 0),
    ("SCSI.Prefetch16", 4, 0),
    ("SCSI.Read6", 2, 0),
    ("SCSI.Read10", 6, 0),
    ("SCSI.Read12", 5, 0),
    ("SCSI.Read16", 5, 0),
    ("SCSI.ReadCapacity10", 1, 0),
    ("SCSI.ReadCapacity16", 4, 0),
    // Optional commands that glint does not have.
    ("SCSI.ReadDefectData10", 0, 1),
    ("SCSI.ReadDefectData12", 0, 1),
    ("SCSI.ReportSupportedOpcodes", 4, 0),
    ("SCSI.Reserve6", 7, 0),
    ("SCSI.TestUnitReady", 1, 0),
    ("SCSI.Unmap", 3, 0),
    ("SCSI.Verify10", 8, 0),
    ("SCSI.Verify12", 8, 0),
    ("SCSI.Verify16", 8, 0),
    ("SCSI.Write10", 6, 0),
    ("SCSI.Write12", 5, 0),
    ("SCSI.Write16", 5, 0),
    ("SCSI.WriteVerify10", 6, 0),
    ("SCSI.WriteVerify12", 6, 0),
    ("SCSI.WriteVerify16", 6, 0),
];

/// Suites for a logical unit that is write protected. The one test goes through all commands that write, and says so of those
/// that glint does not have.
const READ_ONLY_SUITES: &[(&str, usize, usize)] = &[("SCSI.ReadOnly", 0, 1)];

/// A suite takes three seconds at most; what takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn conform(glint: &mut Glint, volume: &str, suites: &[(&str, usize, usize)]) {
    let url = glint.url(volume);
    let mut faults = String::new();
    for (suite, runs, skips) in suites {
        let (outcome, output) = conformance::run(suite, &url, LIMIT);
        glint.assert_alive();
        let as_expected = outcome.passed.len() == *runs && outcome.skipped.len() == *skips;
        if !as_expected || !outcome.failed.is_empty() || !outcome.unfinished.is_empty() {
            faults.push_str(&format!(
                "{suite}, expected {runs} passed, {skips} skipped: {outcome:?}\n{output}\n"
            ));
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
