//! The list of tests that need not pass, each line with its reason: `tests/conformance/exceptions`.

use super::report::Report;
use super::tool::{Tool, Verdict};
use super::volumes::{Backend, Kind, Volume};

const LIST: &str = include_str!("../../../tests/conformance/exceptions");

/// What a line excuses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Excuse {
    /// The test of this name, or all that begin so (`SCSI.Sanitize.*`), does not run in full.
    Skips(String),
    /// Tests that say this do not run in full.
    SkipsSaying(String),
    /// The test of this name, or all that begin so, goes by how fast things are: it may pass or fail.
    Depends(String),
    /// The test of this name, or all that begin so, asks for what the standard does not allow: it may not pass.
    Wrong(String),
}

#[derive(Clone, Debug)]
struct Line {
    number: usize,
    excuse: Excuse,
    /// Empty: all.
    kinds: Vec<Kind>,
    /// Empty: all.
    backends: Vec<Backend>,
    /// The tool's name; none: all.
    tool: Option<String>,
}

/// The list.
#[derive(Debug)]
pub struct Exceptions(Vec<Line>);

impl Exceptions {
    /// The list of this repository; panics where a line has not its form.
    pub fn read() -> Self {
        Self::parse(LIST)
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Self(lines.map(|(index, line)| parse_line(index + 1, line)).collect())
    }

    /// Whether the test is known to be wrong.
    pub(super) fn says_wrong(&self, test: &str, volume: &Volume, tool: &Tool) -> bool {
        self.lines_for(volume, tool)
            .any(|line| matches!(&line.excuse, Excuse::Wrong(name) if names(name, test)))
    }

    fn lines_for<'a>(&'a self, volume: &'a Volume, tool: &'a Tool) -> impl Iterator<Item = &'a Line> {
        self.0.iter().filter(move |line| {
            (line.kinds.is_empty() || line.kinds.contains(&volume.kind))
                && (line.backends.is_empty() || line.backends.contains(&volume.backend))
                && line.tool.as_ref().is_none_or(|name| name == tool.name)
        })
    }

    /// Compare all that the tool found on the volume with the list: what is not excused is a fault, and so, where all tests were run,
    /// is a line that excuses nothing any more.
    pub(super) fn judge(&self, volume: &Volume, tool: &Tool, all: bool, report: &mut Report) {
        let lines: Vec<_> = self.lines_for(volume, tool).collect();
        let mut used = vec![false; lines.len()];
        let mut faults = Vec::new();
        let place = format!("{} ({})", volume.name(), tool.name);
        for result in report.results_of(volume, tool) {
            let test = &result.test;
            for (line, used) in lines.iter().zip(&mut used) {
                match (&line.excuse, &result.verdict) {
                    (Excuse::Skips(name), Verdict::Skipped(_))
                    | (
                        Excuse::Wrong(name) | Excuse::Depends(name),
                        Verdict::Failed(_) | Verdict::Unfinished(_),
                    ) if names(name, test) => {
                        (*used, result.excused) = (true, true);
                    }
                    (Excuse::SkipsSaying(words), Verdict::Skipped(reason)) if reason.contains(words) => {
                        (*used, result.excused) = (true, true);
                    }
                    (Excuse::Skips(name) | Excuse::Wrong(name), verdict) if names(name, test) => {
                        *used = true;
                        let number = line.number;
                        faults.push(format!("{place}: {test} {verdict:?}, not as line {number} says"));
                    }
                    _ => {}
                }
            }
            match &result.verdict {
                Verdict::Passed => {}
                _ if result.excused => {}
                Verdict::Skipped(reason) => faults.push(format!("{place}: {test} skips: {reason}")),
                Verdict::Failed(said) => faults.push(format!("{place}: {test} FAILED\n{said}")),
                Verdict::Unfinished(said) => faults.push(format!("{place}: {test} did not end: {said}")),
            }
        }
        let stale = lines.iter().zip(used).filter(|(line, used)| {
            // A test that this tool does not have excuses the line.
            all && !used && matches!(line.excuse, Excuse::SkipsSaying(_))
        });
        faults
            .extend(stale.map(|(line, _)| format!("{place}: no test says what line {} quotes", line.number)));
        report.faults.append(&mut faults);
    }
}

/// Whether a name in the list means the test.
fn names(pattern: &str, test: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => test.starts_with(start),
        None => pattern == test,
    }
}

fn parse_line(number: usize, line: &str) -> Line {
    let columns: Vec<_> = line.splitn(5, '|').map(str::trim).collect();
    let &[what, volumes, tool, verdict, reason] = columns.as_slice() else {
        panic!("line {number} of the exceptions has not five columns: {line}");
    };
    assert!(reason.len() > 10, "line {number} of the exceptions gives no reason: {line}");
    let quoted = what.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let excuse = match (verdict, quoted) {
        ("skips", Some(words)) => Excuse::SkipsSaying(words.to_owned()),
        ("skips", None) => Excuse::Skips(what.to_owned()),
        ("wrong", None) => Excuse::Wrong(what.to_owned()),
        ("depends", None) => Excuse::Depends(what.to_owned()),
        _ => panic!("line {number} of the exceptions excuses nothing: {line}"),
    };
    let (mut kinds, mut backends) = (Vec::new(), Vec::new());
    for name in volumes.split_whitespace().filter(|name| *name != "all") {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        let backend = Backend::ALL.into_iter().find(|backend| backend.name() == name);
        kinds.extend(kind);
        backends.extend(backend);
        assert!(
            kind.is_some() || backend.is_some(),
            "line {number} of the exceptions: no volume is called {name}"
        );
    }
    let tool = (tool != "all").then(|| tool.to_owned());
    Line { number, excuse, kinds, backends, tool }
}

#[cfg(test)]
#[path = "exceptions_tests.rs"]
mod tests;
