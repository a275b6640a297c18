//! `make bench`: glint and its peers side by side, as a table, JSON and a plot.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, io};

use glint_testkit::bench::contest::Contest;
use glint_testkit::bench::options::{Options, USAGE};
use glint_testkit::bench::{enclosure, goals, plot, report, setup};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(options) = Options::parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    match enclosure::enter() {
        Ok(None) => measure(options),
        Ok(Some(code)) => code,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: Options) -> ExitCode {
    let start = Instant::now();
    let mut setup = setup::describe(options.rounds);
    println!("{setup:#}");
    let mut contests = Vec::new();
    for store in options.stores {
        eprintln!("{:>4} s: {} starts", start.elapsed().as_secs(), store.name());
        let done = store.measure(&options.works, options.rounds, |contest| {
            eprintln!(
                "{:>4} s: {}, {}: measured",
                start.elapsed().as_secs(),
                contest.store,
                contest.work.name
            );
        });
        contests.extend(done);
        // After each store: what is measured is not lost with what comes after it.
        if let Some(out) = &options.out {
            setup["took_seconds"] = json!(start.elapsed().as_secs());
            if let Err(error) = write(out, &contests, &setup) {
                eprintln!("cannot write to {}: {error}", out.display());
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{}\n{}", report::table(&contests), report::goals(&goals::verdicts(&contests)));
    ExitCode::SUCCESS
}

fn write(out: &Path, contests: &[Contest], setup: &Value) -> io::Result<()> {
    let json = format!("{:#}\n", report::json(contests, &goals::verdicts(contests), setup));
    fs::create_dir_all(out)?;
    fs::write(out.join("bench.json"), json)?;
    fs::write(out.join("bench.svg"), plot::svg(contests))
}
