//! `make scale`: what glint costs where there is much of everything, as measured on this machine.

use std::process::ExitCode;
use std::time::Duration;

use glint_testkit::scale::{Flood, Load, Store, Work, fairness, flood, footprint, idleness, load, port};

const USAGE: &str = "usage: scale [idle|busy|flood|fairness] [null|ram|file|gluster]...

Measures the cost of a thousand volumes and sessions that are idle, of 32 busy ones among them, of a flood of writes, and what one
session notices of a flood by others. What is named narrows it.";

const COUNT: usize = 1000;
const BUSY: usize = 32;
const SCENES: [&str; 4] = ["idle", "busy", "flood", "fairness"];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.iter().any(|wanted| !Store::BACKENDS.contains(&&**wanted) && !SCENES.contains(&&**wanted)) {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    }
    let of = |all: &[&'static str]| -> Vec<&'static str> {
        let named: Vec<_> =
            all.iter().copied().filter(|one| wanted.iter().any(|wanted| wanted == one)).collect();
        if named.is_empty() { all.to_vec() } else { named }
    };
    for backend in of(&Store::BACKENDS) {
        for scene in of(&SCENES) {
            let store = Store::new(backend);
            match scene {
                "idle" => idle(&store),
                "busy" => busy(&store),
                "flood" => floods(&store),
                _ => fair(&store),
            }
        }
    }
    ExitCode::SUCCESS
}

fn idle(store: &Store) {
    let (glint, _crowd, told) = footprint(store, COUNT);
    println!(
        "{:8} idle      start {:.2} s, with one volume {} KiB, a volume {:.1} KiB, a session {:.1} KiB, idle {:.2} % of a processor",
        store.backend(),
        told.start.as_secs_f64(),
        told.bare_kib,
        told.volume_kib,
        told.session_kib,
        idleness(&glint) * 100.0,
    );
}

/// In turns: 32 volumes alone, and 32 among a thousand, each with its session.
fn busy(store: &Store) {
    let alone = store.serve("", BUSY);
    let (mut few, mut many) = (Load::default(), Load::default());
    // Those that are alone have files of their own.
    let other = Store::new(store.backend());
    let (among, _crowd, _) = footprint(&other, COUNT);
    for work in [Work::SMALL, Work::SMALL.deep(8)] {
        for _ in 0..5 {
            let ports = || (0..BUSY).map(|number| port(number).named("iqn.2026-12.io.glint.test:busy"));
            few.add(&load(&alone, ports(), work, Duration::from_secs(2)));
            many.add(&load(&among, ports(), work, Duration::from_secs(2)));
        }
        println!(
            "{:8} busy      QD{} on each of {BUSY}: {:.0} IOPS {:.2} us CPU alone, {:.0} IOPS {:.2} us CPU among {COUNT}: {:.3} {:.3}",
            store.backend(),
            work.depth,
            few.rate(),
            few.cpu_us(),
            many.rate(),
            many.cpu_us(),
            many.rate() / few.rate(),
            many.cpu_us() / few.cpu_us(),
        );
    }
}

fn floods(store: &Store) {
    for workers in [1, 2] {
        let glint = store.serve(&format!("bytes_in_flight = \"64MiB\"\nworkers = {workers}"), 64);
        let told = flood(&glint, 64, Duration::from_secs(10));
        println!(
            "{:8} flood     {workers} workers, bytes_in_flight 64 MiB: {} KiB before, {} KiB at most, {} KiB after, {} writes",
            store.backend(),
            told.before_kib,
            told.peak_kib,
            told.after_kib,
            told.writes.count(),
        );
    }
}

fn fair(store: &Store) {
    let small = Work::SMALL.deep(128);
    let large = Work { length: 256 << 10, ..small };
    for workers in [1, 2] {
        for (name, work) in [("4 KiB", small), ("256 KiB", large)] {
            for connections in [1, 4] {
                let glint = store.serve(&format!("workers = {workers}"), 8);
                let flood = Flood { targets: 1..1 + connections, work };
                let told = fairness(&glint, &flood, 5, Duration::from_secs(1));
                println!(
                    "{:8} fairness  {workers} workers, {connections} x QD128 {name}: p50 {:?} -> {:?}, p99 {:?} -> {:?}: {:.1} x; flood {} commands, p99 {:?}",
                    store.backend(),
                    told.alone.quantile(0.5),
                    told.beside.quantile(0.5),
                    told.alone.quantile(0.99),
                    told.beside.quantile(0.99),
                    told.ratio(0.99),
                    told.flood.count(),
                    told.flood.quantile(0.99),
                );
            }
        }
    }
}
