//! What came of the tests, as a table for people and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};

use super::tool::{Tool, Verdict};
use super::volumes::Volume;

/// How one test ended on one volume.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    volume: String,
    tool: &'static str,
    pub(super) test: String,
    pub(super) verdict: Verdict,
    /// The list of exceptions has it.
    pub(super) excused: bool,
}

impl Finding {
    /// `SCSI.Read10` of `SCSI.Read10.Simple`.
    fn suite(&self) -> &str {
        self.test.rsplit_once('.').map_or(&self.test, |(suite, _)| suite)
    }
}

/// Counts of tests. A test that failed against the standard's word is `wrong`, not `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Tally {
    pub run: usize,
    pub passed: usize,
    pub skipped: usize,
    pub failed: usize,
    pub wrong: usize,
}

impl Tally {
    fn of<'a>(results: impl Iterator<Item = &'a Finding>) -> Self {
        let mut tally = Self::default();
        for result in results {
            let ran = match (&result.verdict, result.excused) {
                (Verdict::Skipped(_), _) => {
                    tally.skipped += 1;
                    continue;
                }
                (Verdict::Passed, _) => &mut tally.passed,
                (Verdict::Failed(_) | Verdict::Unfinished(_), true) => &mut tally.wrong,
                (Verdict::Failed(_) | Verdict::Unfinished(_), false) => &mut tally.failed,
            };
            *ran += 1;
            tally.run += 1;
        }
        tally
    }

    /// Each test of one tool once, by what it came to on all volumes together: failed on one of them; else passed on one; else
    /// wrong; else skipped. What goes by the clock counts by how it ended.
    fn of_any<'a>(results: impl Iterator<Item = &'a Finding>) -> Self {
        let mut tests: BTreeMap<&str, Self> = BTreeMap::new();
        for result in results {
            let test = tests.entry(&result.test).or_default();
            *test = test.plus(Self::of(std::iter::once(result)));
        }
        tests.into_values().fold(Self::default(), |sum, test| {
            let one = match test {
                Self { failed: 1.., .. } => Self { run: 1, failed: 1, ..Self::default() },
                Self { passed: 1.., .. } => Self { run: 1, passed: 1, ..Self::default() },
                Self { wrong: 1.., .. } => Self { run: 1, wrong: 1, ..Self::default() },
                _ => Self { skipped: 1, ..Self::default() },
            };
            sum.plus(one)
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            run: self.run + other.run,
            passed: self.passed + other.passed,
            skipped: self.skipped + other.skipped,
            failed: self.failed + other.failed,
            wrong: self.wrong + other.wrong,
        }
    }

    fn row(self, name: &str) -> String {
        let Self { run, passed, skipped, failed, wrong } = self;
        format!("{name:<32} {run:>6} {passed:>7} {skipped:>8} {failed:>7} {wrong:>6}\n")
    }
}

/// All results, and what is not as it should be.
#[derive(Clone, Debug, Default)]
pub struct Report {
    results: Vec<Finding>,
    /// What was found that no exception excuses, and exceptions that excuse nothing.
    pub faults: Vec<String>,
}

impl Report {
    pub(super) fn add(&mut self, volume: &Volume, tool: &Tool, test: String, verdict: Verdict) {
        self.results.push(Finding { volume: volume.name(), tool: tool.name, test, verdict, excused: false });
    }

    /// Put another's results behind these.
    pub fn append(&mut self, mut other: Self) {
        self.results.append(&mut other.results);
        self.faults.append(&mut other.faults);
    }

    pub(super) fn results_of(&mut self, volume: &Volume, tool: &Tool) -> impl Iterator<Item = &mut Finding> {
        let (volume, tool) = (volume.name(), tool.name);
        self.results.iter_mut().filter(move |result| result.volume == volume && result.tool == tool)
    }

    /// Volume and tool of each run, in order.
    fn runs(&self) -> Vec<(&str, &str)> {
        let mut runs: Vec<_> =
            self.results.iter().map(|result| (result.volume.as_str(), result.tool)).collect();
        runs.dedup();
        runs
    }

    fn run<'a>(&'a self, (volume, tool): (&'a str, &'a str)) -> impl Iterator<Item = &'a Finding> {
        self.results.iter().filter(move |result| result.volume == volume && result.tool == tool)
    }

    /// A table of suites for each volume.
    pub fn suites(&self) -> String {
        let mut text = String::new();
        for run in self.runs() {
            let mut suites: Vec<_> = self.run(run).map(Finding::suite).collect();
            suites.dedup();
            text.push_str(&head(&format!("{} ({})", run.0, run.1)));
            for suite in suites {
                let tests = self.run(run).filter(|result| result.suite() == suite);
                text.push_str(&Tally::of(tests).row(suite));
            }
            text.push_str(&Tally::of(self.run(run)).row("all"));
            text.push('\n');
        }
        text
    }

    /// A line for each volume, and one for each tool: a volume is either fully provisioned or thin, a medium is removable or not, so that
    /// no single volume can run all of its tests.
    pub fn totals(&self) -> String {
        let mut text = head("volume (tool)");
        for run in self.runs() {
            text.push_str(&Tally::of(self.run(run)).row(&format!("{} ({})", run.0, run.1)));
        }
        let tools: BTreeSet<_> = self.results.iter().map(|result| result.tool).collect();
        for tool in tools {
            let any = Tally::of_any(self.results.iter().filter(|result| result.tool == tool));
            text.push_str(&any.row(&format!("any volume ({tool})")));
        }
        text
    }

    /// The faults, each with what is known of it.
    pub fn faults(&self) -> String {
        self.faults.iter().fold(String::new(), |mut text, fault| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", fault.replace('\n', "\n    "));
            text
        })
    }

    /// All of it.
    pub fn json(&self) -> Value {
        let results = self.results.iter().map(|result| {
            let (verdict, said) = match &result.verdict {
                Verdict::Passed => ("passed", None),
                Verdict::Skipped(said) => ("skipped", Some(said)),
                Verdict::Failed(said) => ("failed", Some(said)),
                Verdict::Unfinished(said) => ("unfinished", Some(said)),
            };
            json!({
                "volume": result.volume,
                "tool": result.tool,
                "test": result.test,
                "verdict": verdict,
                "said": said,
                "excused": result.excused,
            })
        });
        json!({ "results": results.collect::<Value>(), "faults": self.faults })
    }
}

fn head(name: &str) -> String {
    format!("{name:<32} {:>6} {:>7} {:>8} {:>7} {:>6}\n", "run", "passed", "skipped", "failed", "wrong")
}
