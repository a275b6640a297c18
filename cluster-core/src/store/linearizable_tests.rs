//! Many nodes read and set one document over a bad directory: what each of them sees could have come from one register.

use super::super::fake::{FakeDirectory, Random};
use super::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex as Lock};
use std::task::{Context, Waker};

/// What is known for sure, across all nodes.
#[derive(Default)]
struct History {
    /// Whose nonce a version has.
    content: BTreeMap<u64, u128>,
    /// The newest version that anybody has seen or set by now.
    newest: u64,
    won: BTreeSet<u64>,
    lost: BTreeSet<u128>,
    wins: usize,
    faults: Vec<String>,
}

impl History {
    fn check(&mut self, good: bool, what: impl FnOnce() -> String) {
        if !good {
            self.faults.push(what());
        }
    }

    fn seen(&mut self, version: u64, nonce: u128) {
        let known = *self.content.entry(version).or_insert(nonce);
        self.check(known == nonce, || format!("version {version} has two contents"));
        self.newest = self.newest.max(version);
    }
}

type Node = Pin<Box<dyn Future<Output = ()>>>;

async fn node(id: u128, directory: FakeDirectory, history: Arc<Lock<History>>) {
    let name = DocumentName::new("owner").unwrap();
    let timing = Timing { listing: Duration::from_secs(30), retain: Duration::from_secs(600) };
    let store = Documents::new(directory, timing);
    let mut state = None;
    for round in 0.. {
        let before = history.lock().unwrap().newest;
        if let Ok(read) = store.read(&name).await {
            let mut history = history.lock().unwrap();
            history.check(read.version >= before, || {
                format!("{} was read after {before} was known", read.version)
            });
            match &read.found {
                Found::Body(_) => history.seen(read.version, read.nonce.unwrap().0),
                Found::Nothing => history.check(read.version == 0, || "nothing has a version".into()),
                Found::Damaged(what) => history.faults.push(format!("{}: {what}", read.version)),
            }
            state = Some(read);
        }
        // Mostly of what was just read, at times of something old.
        let Some(old) = &state else { continue };
        let before = history.lock().unwrap().newest;
        let nonce = id << 64 | round;
        let body = json!({"node": id.to_string()}).as_object().unwrap().clone();
        match store.compare_and_set(&name, old, body, Nonce(nonce)).await {
            Ok(Outcome::Won(new)) => {
                let mut history = history.lock().unwrap();
                history.wins += 1;
                history.check(old.version >= before, || {
                    format!("{} was set when {before} was known", new.version)
                });
                let first = history.won.insert(new.version);
                history.check(first, || format!("two have set {}", new.version));
                history.seen(new.version, nonce);
            }
            Ok(Outcome::Lost) | Err(_) => drop(history.lock().unwrap().lost.insert(nonce)),
            Ok(Outcome::Overtaken | Outcome::Unknown(_)) => {}
        }
    }
}

/// Gives how many times somebody won.
fn run(seed: u64) -> usize {
    let mut random = Random(seed);
    let lost = [0, 30, 150][random.below(3) as usize];
    let directory = FakeDirectory::new(random.next(), lost);
    let history = Arc::new(Lock::new(History::default()));
    let mut next = 0;
    let mut start = || -> Node {
        next += 1;
        Box::pin(node(next, directory.clone(), Arc::clone(&history)))
    };
    let mut nodes: Vec<(Node, u64)> = (0..4).map(|_| (start(), 0)).collect();
    for tick in 0..3000 {
        let at = random.below(nodes.len() as u64) as usize;
        if nodes[at].1 > tick {
            continue;
        }
        match random.below(1000) {
            // Killed, and started anew.
            0..4 => nodes[at] = (start(), 0),
            // Frozen, while the others go on.
            4..10 => nodes[at].1 = tick + 200 + random.below(1000),
            10..14 => directory.advance(Duration::from_secs(700)),
            14..60 => directory.catch_up(),
            _ => {
                directory.advance(Duration::from_millis(random.below(2000)));
                let _ = nodes[at].0.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
        }
    }
    let mut history = history.lock().unwrap();
    let lost = history.lost.clone();
    let applied: Vec<_> = history.content.values().copied().filter(|nonce| lost.contains(nonce)).collect();
    history.check(applied.is_empty(), || format!("told as lost, but seen: {applied:?}"));
    assert!(history.faults.is_empty(), "seed {seed}: {:#?}", history.faults);
    history.wins
}

#[test]
fn compare_and_set_is_linearizable() {
    let rounds =
        std::env::var("GLINT_STORE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200);
    let wins: usize = (0..rounds).map(run).sum();
    assert!(wins > 4 * rounds as usize, "only {wins}");
}
