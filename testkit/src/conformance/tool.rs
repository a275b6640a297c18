//! One build of iscsi-test-cu: which tests it has, and how one of them ends.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::volumes::Volume;
use crate::paths;
use crate::process::Process;
use crate::tools;

/// Lines of a failed test's output that are kept.
const KEPT_LINES: usize = 8;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ran in full and all was as it should be.
    Passed,
    /// It said that it leaves out something, or all, for this reason. The tool counts these as passed.
    Skipped(String),
    /// It found a fault: what it said.
    Failed(String),
    /// It did not end in time, or ended without a verdict: what it said last.
    Unfinished(String),
}

/// A build of the test tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name that the list of exceptions uses.
    pub name: &'static str,
    pub(super) path: PathBuf,
}

impl Tool {
    /// The one that the distribution's release has.
    pub fn debian() -> Self {
        Self { name: "debian", path: PathBuf::from("iscsi-test-cu") }
    }

    /// The newest that is released; `make test-deps` builds it.
    pub fn newest() -> Self {
        Self { name: "newest", path: paths::tool("iscsi-test-cu/iscsi-test-cu") }
    }

    /// Its tests, as `SCSI.Read10.Simple`, in its order.
    pub fn tests(&self) -> Vec<String> {
        let listed = tools::tool(&self.path.to_string_lossy(), ["--list"], Duration::from_secs(10)).success();
        // The families ALL and LINUX are choices from these two.
        let is_test = |line: &&str| {
            (line.starts_with("SCSI.") || line.starts_with("iSCSI.")) && line.matches('.').count() == 2
        };
        let tests: Vec<_> = listed.lines().map(str::trim).filter(is_test).map(str::to_owned).collect();
        assert!(tests.len() > 200, "{} lists {} tests only:\n{listed}", self.name, tests.len());
        tests
    }

    /// Run one test on a volume, whose data it destroys.
    pub(super) fn run(&self, test: &str, volume: &Volume, limit: Duration) -> Verdict {
        let mut command = Command::new(&self.path);
        command.args(volume.flags(test)).args(["--test", test, &volume.urls[0]]);
        if test.starts_with("SCSI.MultipathIO.") {
            command.arg(&volume.urls[1]);
        }
        let (status, output) = Process::start(&mut command).finish_or_kill(limit);
        match (parse(&output), status) {
            (Verdict::Unfinished(said), None) => Verdict::Unfinished(format!("no end in {limit:?}; {said}")),
            (Verdict::Unfinished(said), Some(status)) => Verdict::Unfinished(format!("{status}; {said}")),
            (verdict, _) => verdict,
        }
    }
}

/// Take the output of a run of one test apart.
fn parse(output: &str) -> Verdict {
    let is_verdict = |line: &str| line.starts_with("passed") || line.starts_with("FAILED");
    let Some((_, rest)) = output.split_once("\n  Test: ") else {
        return Verdict::Unfinished(last_lines(output));
    };
    let (_, report) = rest.split_once(" ...").unwrap_or(("", rest));
    let before: Vec<_> = report.lines().take_while(|line| !is_verdict(line)).collect();
    // What the suite says while it cleans up comes right behind its last verdict, and is no part of the test.
    let mut after = report.lines().skip(before.len());
    match after.next() {
        None => Verdict::Unfinished(last_lines(report)),
        Some(verdict) if verdict.starts_with("FAILED") => {
            let places = after.take_while(|line| !line.trim().is_empty());
            Verdict::Failed(said(before.iter().copied().chain(places)))
        }
        Some(_) => {
            let reasons = before.iter().filter_map(|line| line.split_once("[SKIPPED]"));
            match reasons.map(|(_, reason)| reason.trim()).next() {
                Some(reason) => Verdict::Skipped(reason.to_owned()),
                None => Verdict::Passed,
            }
        }
    }
}

/// The first lines that say something.
fn said<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<_> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    let more = lines.len().saturating_sub(KEPT_LINES);
    let mut text = lines[..lines.len() - more].join("\n");
    if more > 0 {
        text.push_str(&format!("\n({more} more lines)"));
    }
    text
}

fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(test: &str) -> Verdict {
        parse(&format!("    [SKIPPED] before the suite\n\nSuite: Unmap\n  Test: {test}"))
    }

    #[test]
    fn tells_a_skipped_test_from_a_passed_one() {
        assert_eq!(verdict("Simple ...passed\n\nRun Summary:"), Verdict::Passed);
        assert_eq!(verdict("Simple ...passed    [SKIPPED] while cleaning up\n"), Verdict::Passed);
        assert_eq!(
            verdict("VPD ...    [SKIPPED] UNMAP is not implemented.\npassed\n"),
            Verdict::Skipped("UNMAP is not implemented.".to_owned())
        );
    }

    #[test]
    fn keeps_what_a_failed_test_said() {
        let output =
            "ZeroBlocks ...    [FAILED] UNMAP failed\nFAILED\n    1. test_unmap.c:12  - ok\n\nRun Summary:";
        assert_eq!(
            verdict(output),
            Verdict::Failed("[FAILED] UNMAP failed\n1. test_unmap.c:12  - ok".to_owned())
        );
        assert_eq!(verdict("Simple ...FAILED\n"), Verdict::Failed(String::new()));
    }

    #[test]
    fn a_test_without_a_verdict_is_unfinished() {
        assert_eq!(verdict("Late ...\n    dispatched\n"), Verdict::Unfinished("dispatched".to_owned()));
        assert_eq!(
            parse("Failed to login to target"),
            Verdict::Unfinished("Failed to login to target".to_owned())
        );
    }
}
