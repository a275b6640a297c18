//! `make soak`: ordinary life for a while, and whether anything grows by it.

use std::process::ExitCode;
use std::time::Duration;

use glint_testkit::scale::{Soak, Store};

const USAGE: &str = "usage: soak SECONDS [null|ram|file|gluster]...

Sessions that stay and sessions that come and go, reads and writes of all sizes, reloads: on each backend that is named (all but null
by default) for so many seconds. Prints samples of memory, descriptors, threads and latency, and fails where they are not flat.";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
    let named: Vec<_> = arguments.collect();
    let known = named.iter().all(|name| Store::BACKENDS.contains(&&**name));
    let Some(seconds) = seconds.filter(|seconds: &u64| known && *seconds >= 24) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let is_wanted = |backend: &str| match named.is_empty() {
        true => backend != "null",
        false => named.iter().any(|name| name == backend),
    };
    let mut all_flat = true;
    for backend in Store::BACKENDS.into_iter().filter(|backend| is_wanted(backend)) {
        let store = Store::new(backend);
        let mut glint = store.serve("", 8);
        // Target 7 goes and comes back.
        let configs = [store.config("", 7), store.config("", 8)];
        println!("{backend}:");
        let soak =
            Soak::run(&mut glint, &configs, Duration::from_secs(seconds), |sample| println!("{sample}"));
        let verdict = soak.verdict();
        println!("{backend}: {} visits, {} reloads; {verdict}\n", soak.visits, soak.reloads);
        all_flat &= verdict.is_flat();
        assert!(glint.terminate().success(), "glint ended badly:\n{}", glint.log());
    }
    if all_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
