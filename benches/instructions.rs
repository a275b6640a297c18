//! How many instructions what is done for a command takes in memory, counted by callgrind: steady where time is not, so that a change
//! that costs shows. See [`memory`].
//!
//! Each case runs so and so often and then once more as often; the difference leaves out what is done once.
#![expect(clippy::expect_used, clippy::panic, reason = "a bench that goes wrong should stop")]

mod memory;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::{Map, Value};

const USAGE: &str = "\
usage: instructions [--save] [NAME]

Counts instructions with valgrind and compares them with benches/results/instructions.json; fails when one has grown by more than 3 %.
NAME is a part of a case's name. --save writes the file.";

/// What a count may differ by: hash maps have random seeds.
const TOLERANCE: f64 = 0.03;

/// Calls in the shorter run.
const CALLS: u32 = 200;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/results/instructions.json");

fn main() -> ExitCode {
    // `cargo bench` adds an argument of its own.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--run", name, calls] => {
            let case = memory::CASES.iter().find(|case| case.name == name).expect("there is such a case");
            let mut run = (case.prepare)();
            (0..calls.parse().expect("a number")).for_each(|_: u32| run());
            ExitCode::SUCCESS
        }
        [] => compare("", false),
        ["--save"] => compare("", true),
        [name] | ["--save", name] if !name.starts_with('-') => compare(name, arguments.len() > 1),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(64)
        }
    }
}

fn compare(part: &str, save: bool) -> ExitCode {
    let known = fs::read_to_string(FILE).ok();
    let mut known: Map<String, Value> =
        known.map_or_else(Map::new, |text| serde_json::from_str(&text).expect("the stored counts are JSON"));
    let mut grown = false;
    println!("{:<32} {:>12} {:>12}", "instructions for one", "now", "stored");
    for case in memory::CASES.iter().filter(|case| case.name.contains(part)) {
        let extra = total(case.name, 2 * CALLS) - total(case.name, CALLS);
        let now = (extra / f64::from(CALLS) / f64::from(case.count)).round();
        let stored = known.get(case.name).and_then(Value::as_f64);
        let change = stored.map_or(0.0, |stored| now / stored - 1.0);
        let is_worse = change > TOLERANCE;
        grown |= is_worse;
        let verdict = match stored {
            None => "new".to_owned(),
            Some(stored) => {
                format!("{stored:>12} {:>+6.1} %{}", change * 100.0, if is_worse { " GROWN" } else { "" })
            }
        };
        println!("{:<32} {now:>12} {verdict}", case.name);
        known.insert(case.name.to_owned(), Value::from(now as u64));
    }
    if save {
        let text = serde_json::to_string_pretty(&known).expect("counts are JSON");
        fs::create_dir_all(Path::new(FILE).parent().expect("it is in a directory"))
            .and_then(|()| fs::write(FILE, text + "\n"))
            .expect("the counts can be stored");
        return ExitCode::SUCCESS;
    }
    if grown { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Instructions of a process that does it so often.
fn total(name: &str, calls: u32) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().expect("this program has a path"))
        .args(["--run", name, &calls.to_string()])
        .output()
        .expect("valgrind is installed: scripts/install-deps bench");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} fails:\n{text}");
    collected(&text).unwrap_or_else(|| panic!("callgrind gave no count:\n{text}"))
}

/// The number in the line "==1== Collected : 123".
fn collected(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}
