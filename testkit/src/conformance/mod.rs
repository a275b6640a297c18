//! libiscsi's conformance suites, iscsi-test-cu, on volumes of every kind and backend, judged against the list of exceptions.
//!
//! Each test runs in a process of its own and within a limit: one that hangs, or that leaves its session broken, does not take
//! others along.

mod exceptions;
mod report;
mod tool;
mod volumes;

pub use exceptions::Exceptions;
pub use report::{Report, Tally};
pub use tool::{Tool, Verdict};
pub use volumes::{Backend, Kind, Volume};

use std::thread;
use std::time::Duration;

use crate::glint::Glint;
use volumes::Stage;

/// The slowest tests sit out three time-outs of three seconds each, or write a thousand times; GlusterFS takes its time for that on a
/// busy machine.
const LIMIT: Duration = Duration::from_secs(150);

/// For tests that are known to be wrong, some of which wait for ever.
const LIMIT_OF_WRONG: Duration = Duration::from_secs(5);

/// Run all tests of each tool on one volume of each kind, which are all served by one glint; the volumes at the same time, the
/// tools one after the other.
///
/// `only` narrows it to tests that begin so; empty: all.
pub fn run(backend: Backend, tools: &[Tool], only: &[String]) -> Report {
    let exceptions = Exceptions::read();
    let mut stage = Stage::set(backend);
    let mut report = thread::scope(|scope| {
        let threads: Vec<_> = stage
            .volumes()
            .into_iter()
            .map(|volume| {
                let exceptions = &exceptions;
                scope.spawn(move || {
                    let mut report = Report::default();
                    tools.iter().for_each(|tool| test(&volume, tool, only, exceptions, &mut report));
                    report
                })
            })
            .collect();
        let mut all = Report::default();
        for thread in threads {
            all.append(thread.join().expect("the tests of a volume do not panic"));
        }
        all
    });
    alive(stage.glint(), &mut report);
    report
}

fn test(volume: &Volume, tool: &Tool, only: &[String], exceptions: &Exceptions, report: &mut Report) {
    let is_wanted = |test: &String| only.is_empty() || only.iter().any(|start| test.starts_with(start));
    for test in tool.tests().into_iter().filter(is_wanted) {
        let wrong = exceptions.says_wrong(&test, volume, tool);
        let verdict = tool.run(&test, volume, if wrong { LIMIT_OF_WRONG } else { LIMIT });
        report.add(volume, tool, test, verdict);
    }
    exceptions.judge(volume, tool, only.is_empty(), report);
}

/// A glint that died explains what came after; it is a fault whatever the tests say.
fn alive(glint: &mut Glint, report: &mut Report) {
    if let Some(status) = glint.ended() {
        report.faults.push(format!("glint ended, {status}:\n{}", glint.log()));
    }
}
