//! iscsi-test-cu, libiscsi's conformance suites, one suite at a time so that one that hangs does not take the others along.

use std::time::Duration;

use crate::tools;

/// How the tests of one suite ended, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Ran in full and passed.
    pub passed: Vec<String>,
    /// Said that it skips something. The tool counts these as passed.
    pub skipped: Vec<String>,
    /// Failed.
    pub failed: Vec<String>,
    /// Began and had no verdict.
    pub unfinished: Vec<String>,
}

/// Run `suite` (as `SCSI.Read10`) against the logical unit at `url`, whose data it destroys. Returns the outcome and all
/// that was printed.
pub fn run(suite: &str, url: &str, limit: Duration) -> (Outcome, String) {
    let finished = tools::tool("iscsi-test-cu", ["--dataloss", "--test", suite, url], limit);
    (parse(&finished.output), finished.output)
}

/// Take the tool's output apart.
fn parse(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut tests = output.split("\n  Test: ");
    tests.next();
    for test in tests {
        let (name, report) = test.split_once(" ...").unwrap_or((test, ""));
        // What a suite says while it cleans up comes right behind its last verdict, and is no part of the test.
        let is_verdict = |line: &&str| line.starts_with("passed") || line.starts_with("FAILED");
        let verdict = report.lines().find(is_verdict);
        let skips =
            report.lines().take_while(|line| !is_verdict(line)).any(|line| line.contains("[SKIPPED]"));
        let list = match verdict {
            None => &mut outcome.unfinished,
            Some(verdict) if verdict.starts_with("FAILED") => &mut outcome.failed,
            Some(_) if skips => &mut outcome.skipped,
            Some(_) => &mut outcome.passed,
        };
        list.push(name.to_owned());
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_skipped_test_from_a_passed_one() {
        let output = "\n\nSuite: Unmap\n  Test: Simple ...passed\n  Test: VPD ...    [SKIPPED] UNMAP is not implemented.\npassed\n  \
                      Test: ZeroBlocks ...    [FAILED] UNMAP failed\nFAILED\n    1. test_unmap.c:12  - CU_ASSERT_EQUAL(ret,0)\n  \
                      Test: Last ...passed    [SKIPPED] while cleaning up\n\n\nSuite: Other\n  \
                      Test: Late ...\n\nRun Summary:    Type  Total    Ran Passed Failed Inactive\n";
        let names = |name: &str| vec![name.to_owned()];
        let expected = Outcome {
            passed: vec!["Simple".to_owned(), "Last".to_owned()],
            skipped: names("VPD"),
            failed: names("ZeroBlocks"),
            unfinished: names("Late"),
        };
        assert_eq!(parse(output), expected);
    }
}
