//! How long what is done for a command takes in memory; see [`memory`].
#![expect(clippy::expect_used, clippy::panic, reason = "a bench that goes wrong should stop")]

mod memory;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn all(criterion: &mut Criterion) {
    for case in memory::CASES {
        let (group, name) = case.name.split_once('/').expect("names have a group");
        let mut group = criterion.benchmark_group(group);
        group.throughput(Throughput::Elements(case.count.into()));
        let mut run = (case.prepare)();
        group.bench_function(name, |bencher| bencher.iter(&mut run));
        group.finish();
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
