//! `make torture`: nodes that share a store, and everything that can go wrong with them.

use std::fs;
use std::process::ExitCode;

use glint_testkit::torture::options::{Options, USAGE};
use glint_testkit::torture::report::Line;
use glint_testkit::torture::run;

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    println!("{}", Line::head());
    let report = match run::run(&options.plan, |line| println!("{}", line.row())) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("torture: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("\n{}", report.table());
    if let Some(path) = options.json
        && let Err(error) = fs::write(&path, format!("{:#}\n", report.json()))
    {
        eprintln!("cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
