//! Much of everything: volumes and sessions that nobody uses cost little, memory stays within what is configured, and who asks for a lot
//! does not keep others waiting. The bounds are those that hold on a small machine that is busy with other things; `make scale` measures.

// What these helpers find wrong fails the test that called them.
#![allow(clippy::panic)]

use std::time::Duration;

use glint_testkit::scale::{Fairness, Flood, Soak, Store, Work, fairness, flood, footprint, idleness};

/// A thousand volumes that nobody uses, and a session on each.
#[track_caller]
fn assert_idle_costs_little(backend: &'static str, start: Duration) {
    let store = Store::new(backend);
    let (mut glint, crowd, told) = footprint(&store, 1000);
    assert!(told.start < start, "{told:?}");
    assert!(told.volume_kib < 32.0, "{told:?}");
    assert!(told.session_kib < 64.0, "{told:?}");
    let idle = idleness(&glint);
    assert!(idle < 0.03, "{idle} of a processor");
    drop(crowd);
    glint.assert_alive();
}

#[test]
fn a_thousand_idle_volumes_in_memory_cost_little() {
    assert_idle_costs_little("ram", Duration::from_secs(20));
}

#[test]
fn a_thousand_idle_volumes_on_files_cost_little() {
    assert_idle_costs_little("file", Duration::from_secs(60));
}

#[test]
fn a_thousand_idle_volumes_on_gluster_cost_little() {
    assert_idle_costs_little("gluster", Duration::from_secs(120));
}

#[test]
fn a_flood_of_writes_takes_no_more_memory_than_is_configured() {
    const CONNECTIONS: usize = 64;
    // As examples/glint.toml has it: three times bytes_in_flight, 1 MiB for a connection, 80 MiB for buffers of the backends.
    const MOST_KIB: u64 = (3 * 32 + CONNECTIONS as u64 + 80) << 10;
    let store = Store::new("file");
    let mut glint = store.serve("bytes_in_flight = \"32MiB\"", CONNECTIONS);
    let told = flood(&glint, CONNECTIONS, Duration::from_secs(8));
    assert!(told.writes.count() > 0, "nothing was written: {told:?}");
    let grown = told.peak_kib.saturating_sub(told.before_kib);
    assert!(grown > 32 << 10, "it was no flood: {told:?}");
    assert!(grown < MOST_KIB, "{grown} KiB more than before, {MOST_KIB} at most: {told:?}");
    glint.assert_alive();
}

/// p99 of commands of 4 KiB, one at a time, beside 4 floods of large ones: not more than three times that without, where noise of
/// the machine counts as what there is without. The best of some rounds, since others use the machine too.
#[track_caller]
fn assert_fair(workers: u32) {
    const NOISE: Duration = Duration::from_micros(300);
    let store = Store::new("ram");
    let glint = store.serve(&format!("workers = {workers}"), 5);
    let work = Work { length: 256 << 10, ..Work::SMALL.deep(128) };
    let is_fair = |told: &Fairness| told.beside.quantile(0.99) <= 3 * told.alone.quantile(0.99).max(NOISE);
    let mut seen = Vec::new();
    for _ in 0..8 {
        let told = fairness(&glint, &Flood { targets: 1..5, work }, 1, Duration::from_millis(500));
        assert!(told.flood.count() > 0, "there was no flood");
        if is_fair(&told) {
            return;
        }
        seen.push((told.alone.quantile(0.99), told.beside.quantile(0.99)));
    }
    panic!("p99 alone and beside a flood: {seen:?}");
}

#[test]
fn a_flood_holds_up_no_other_initiator_on_one_worker() {
    assert_fair(1);
}

#[test]
fn a_flood_holds_up_no_other_initiator_on_two_workers() {
    assert_fair(2);
}

#[test]
fn a_short_soak_leaves_nothing_behind() {
    let store = Store::new("ram");
    let mut glint = store.serve("", 8);
    let configs = [store.config("", 7), store.config("", 8)];
    let soak = Soak::run(&mut glint, &configs, Duration::from_secs(12), |_| {});
    assert!(soak.visits > 10 && soak.reloads > 10, "it was no soak: {soak:?}");
    let verdict = soak.verdict();
    // The latency of so short a time is that of the machine's other users.
    assert!(verdict.grown_kib < 16.0 * 1024.0, "{verdict}");
    assert!(verdict.grown_files <= 8 && verdict.grown_threads <= 4, "{verdict}");
    assert!(glint.terminate().success());
}
