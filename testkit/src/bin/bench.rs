//! `make bench`: glint and its peers side by side, as a table, JSON and a plot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use glint_testkit::bench::contest::Rounds;
use glint_testkit::bench::stores::Store;
use glint_testkit::bench::work::{self, Work};
use glint_testkit::bench::{goals, plot, report};
use glint_testkit::paths;
use serde_json::{Value, json};

const USAGE: &str = "usage: bench [--quick] [--rounds N] [--seconds N] [--out DIR] [null|ram|file|gluster-1-brick|gluster-replica-3|LOAD]...

Compares glint with tgt, and on Gluster with fio's own gfapi_async engine, under every load on every store: rounds in turn, medians,
ratios round by round. Prints a table, and writes DIR/bench.json and DIR/bench.svg. LOAD is the beginning of a load's name, as '4k randread'.
--quick measures the loads with a goal of their own at queue depth 32, three short rounds each.";

struct Wanted {
    quick: bool,
    rounds: Rounds,
    out: Option<PathBuf>,
    stores: Vec<Store>,
    works: Vec<Work>,
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Option<Wanted> {
    let mut wanted = Wanted {
        quick: false,
        rounds: Rounds { count: 5, time: Duration::from_secs(3) },
        out: None,
        stores: Vec::new(),
        works: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => {
                wanted.quick = true;
                wanted.rounds = Rounds { count: 3, time: Duration::from_secs(1) };
                wanted.works = vec![work::READ_QD32, work::WRITE_QD32, work::READ_QD1];
                wanted.stores = vec![Store::Null, Store::Ram, Store::File, Store::Brick];
            }
            "--rounds" => wanted.rounds.count = arguments.next()?.parse().ok().filter(|&count| count > 0)?,
            "--seconds" => {
                wanted.rounds.time =
                    Duration::from_secs(arguments.next()?.parse().ok().filter(|&time| time > 0)?)
            }
            "--out" => wanted.out = Some(PathBuf::from(arguments.next()?)),
            name => match Store::ALL.iter().find(|store| store.name() == name) {
                Some(store) => wanted.stores.push(*store),
                None => {
                    let named: Vec<Work> =
                        work::ALL.into_iter().filter(|work| work.name.starts_with(name)).collect();
                    if named.is_empty() {
                        return None;
                    }
                    wanted.works.extend(named);
                }
            },
        }
    }
    if wanted.stores.is_empty() {
        wanted.stores = Store::ALL.to_vec();
    }
    if wanted.works.is_empty() {
        wanted.works = work::ALL.to_vec();
    }
    Some(wanted)
}

/// What has to be known to read the figures.
fn setup(rounds: Rounds) -> Value {
    let first_line = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output
            .ok()
            .and_then(|output| String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
    };
    json!({
        "glint": first_line(&paths::glint(), &["--version"]),
        "tgt": first_line(Path::new("tgtd"), &["--version"]),
        "fio": first_line(&paths::tool("fio/fio"), &["--version"]),
        "gluster": first_line(Path::new("gluster"), &["--version"]),
        "kernel": first_line(Path::new("uname"), &["-r"]),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "rounds": rounds.count,
        "seconds": rounds.time.as_secs_f64(),
    })
}

fn main() -> ExitCode {
    let Some(wanted) = wanted(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let setup = setup(wanted.rounds);
    println!("{setup:#}");
    let mut contests = Vec::new();
    for store in wanted.stores {
        eprintln!("{}: starting", store.name());
        let done = store.measure(&wanted.works, wanted.rounds, |contest| {
            eprintln!("{}, {}: measured", contest.store, contest.work.name);
        });
        contests.extend(done);
    }
    let verdicts = goals::verdicts(&contests);
    println!("{}\n{}", report::table(&contests), report::goals(&verdicts));
    if let Some(out) = wanted.out {
        let json = format!("{:#}\n", report::json(&contests, &verdicts, &setup));
        let written = fs::create_dir_all(&out)
            .and_then(|()| fs::write(out.join("bench.json"), json))
            .and_then(|()| fs::write(out.join("bench.svg"), plot::svg(&contests)));
        if let Err(error) = written {
            eprintln!("cannot write to {}: {error}", out.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
