//! `make conformance`: every test of libiscsi's conformance suites on every kind of volume, as a table.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use glint_testkit::conformance::{self, Backend, Report, Tool};

const USAGE: &str = "usage: conformance [--json FILE] [debian|newest|ram|file|gluster|SCSI.Suite.Test]...

Runs libiscsi's conformance suites on a volume of each kind, prints a table, and fails where something is wrong that
tests/conformance/exceptions does not have. What is named narrows it: the tool, the backend, the beginning of tests' names.";

/// What was asked for; all of what is not narrowed down.
#[derive(Default)]
struct Wanted {
    json: Option<PathBuf>,
    tools: Vec<Tool>,
    backends: Vec<Backend>,
    tests: Vec<String>,
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => wanted.json = Some(PathBuf::from(arguments.next()?)),
            "debian" => wanted.tools.push(Tool::debian()),
            "newest" => wanted.tools.push(Tool::newest()),
            name if name.starts_with("SCSI.") || name.starts_with("iSCSI.") => wanted.tests.push(argument),
            name => {
                wanted.backends.push(*Backend::ALL.iter().find(|backend| backend.name() == name)?);
            }
        }
    }
    if wanted.tools.is_empty() {
        wanted.tools = vec![Tool::debian(), Tool::newest()];
    }
    if wanted.backends.is_empty() {
        wanted.backends = Backend::ALL.to_vec();
    }
    Some(wanted)
}

fn main() -> ExitCode {
    let Some(wanted) = wanted(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let mut report = Report::default();
    for backend in wanted.backends {
        report.append(conformance::run(backend, &wanted.tools, &wanted.tests));
    }
    println!("{}{}", report.suites(), report.totals());
    if let Some(path) = wanted.json
        && let Err(error) = fs::write(&path, format!("{:#}\n", report.json()))
    {
        eprintln!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if report.faults.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\n{} faults:\n{}", report.faults.len(), report.faults());
    ExitCode::FAILURE
}
