use super::super::fake::FakeDirectory;
use super::*;
use futures_util::FutureExt;
use serde_json::json;
use std::future::Future;

fn name() -> DocumentName {
    DocumentName::new("owner").unwrap()
}

fn body(who: &str) -> Body {
    json!({"owner": who}).as_object().unwrap().clone()
}

/// Runs what only waits for its turn.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    (0..10_000).find_map(|_| future.as_mut().now_or_never()).expect("it comes to an end")
}

fn store(directory: &FakeDirectory) -> Documents<FakeDirectory> {
    Documents::new(directory.clone(), Timing::default())
}

fn won(outcome: Result<Outcome, StoreError>) -> State {
    match outcome {
        Ok(Outcome::Won(state)) => state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn versions_follow_each_other() {
    let directory = FakeDirectory::new(1, 0);
    let store = store(&directory);
    let nothing = run(store.read(&name())).unwrap();
    assert_eq!((nothing.version, &nothing.found), (0, &Found::Nothing));
    let one = won(run(store.compare_and_set(&name(), &nothing, body("a"), Nonce(1))));
    assert_eq!(run(store.read(&name())).unwrap(), one);
    assert_eq!(run(store.compare_and_set(&name(), &nothing, body("b"), Nonce(2))), Ok(Outcome::Lost));
    let two = won(run(store.compare_and_set(&name(), &one, body("b"), Nonce(3))));
    assert_eq!((two.version, &two.found), (2, &Found::Body(body("b"))));
    assert_eq!(directory.names(), ["owner.1", "owner.2"]);
    let survey = run(store.survey()).unwrap();
    assert_eq!((survey.documents().collect::<Vec<_>>(), survey.version(&name())), (vec![&name()], 2));
}

/// A damaged newest version leaves its number used: readers do not go back to the one before, and the next writer puts it aside.
#[test]
fn damage_does_not_turn_the_clock_back() {
    let directory = FakeDirectory::new(1, 0);
    let store = store(&directory);
    let nothing = run(store.read(&name())).unwrap();
    let one = won(run(store.compare_and_set(&name(), &nothing, body("a"), Nonce(1))));
    won(run(store.compare_and_set(&name(), &one, body("b"), Nonce(2))));
    directory.set("owner.2", b"rubbish".to_vec());
    let damaged = run(store.read(&name())).unwrap();
    assert!(matches!(&damaged, State { version: 2, found: Found::Damaged(_), .. }), "{damaged:?}");
    assert_eq!(
        run(store.compare_and_set(&name(), &one, body("c"), Nonce(3)))
            .ok()
            .filter(|it| matches!(it, Outcome::Won(_))),
        None
    );
    let three = won(run(store.compare_and_set(&name(), &damaged, body("c"), Nonce(4))));
    assert_eq!(three.version, 3);
    assert_eq!(directory.get("owner.2.damaged").unwrap(), "rubbish");
    assert_eq!(directory.get("owner.2"), None);
    // Its number stays used though its name is free.
    assert_eq!(run(store.compare_and_set(&name(), &one, body("d"), Nonce(5))), Ok(Outcome::Overtaken));
    assert_eq!(run(store.read(&name())).unwrap(), three);
}

#[test]
fn a_damaged_version_that_was_put_aside_still_counts() {
    let directory = FakeDirectory::new(1, 0);
    directory.set("owner.9.damaged", b"rubbish".to_vec());
    let state = run(store(&directory).read(&name())).unwrap();
    assert!(matches!(state, State { version: 9, found: Found::Damaged(_), .. }));
}

#[test]
fn what_a_newer_glint_wrote_is_left_alone() {
    let directory = FakeDirectory::new(1, 0);
    directory.set("owner.4", b"glint-document 2 whatever\n".to_vec());
    assert!(matches!(run(store(&directory).read(&name())), Err(StoreError::Unfit(..))));
    assert_eq!(directory.names(), ["owner.4"]);
}

#[test]
fn members_that_are_not_known_are_kept() {
    let directory = FakeDirectory::new(1, 0);
    let envelope = Envelope { nonce: Nonce(1), body: body("a"), extra: body("beside") };
    directory.set("owner.1", envelope.seal(&name(), 1));
    let store = store(&directory);
    let one = run(store.read(&name())).unwrap();
    won(run(store.compare_and_set(&name(), &one, body("b"), Nonce(2))));
    let two = Envelope::open(&name(), 2, &directory.get("owner.2").unwrap()).unwrap();
    assert_eq!(two.extra, body("beside"));
}

#[test]
fn old_versions_and_what_crashed_writers_left_are_collected() {
    let directory = FakeDirectory::new(1, 0);
    let store = store(&directory);
    let mut state = run(store.read(&name())).unwrap();
    directory.set(&name().temporary(3, Nonce(99)), b"half".to_vec());
    directory.set(&name().temporary(30, Nonce(99)), b"of one who is at work".to_vec());
    directory.set("foreign", Vec::new());
    for round in 0..20 {
        state = won(run(store.compare_and_set(&name(), &state, body("a"), Nonce(round))));
    }
    assert_eq!(directory.names().len(), 22, "superseded, but not for long");
    directory.advance(Timing::default().retain);
    for round in 20..22 {
        state = won(run(store.compare_and_set(&name(), &state, body("a"), Nonce(round))));
    }
    assert_eq!(directory.names().iter().filter(|name| name.starts_with("owner.")).count(), 22);
    directory.advance(Timing::default().retain);
    won(run(store.compare_and_set(&name(), &state, body("a"), Nonce(22))));
    let names = directory.names();
    assert!(names.contains(&"owner.23".into()) && names.contains(&"owner.19".into()), "{names:?}");
    assert!(!names.contains(&"owner.16".into()), "{names:?}");
    assert!(names.contains(&name().temporary(30, Nonce(99))) && names.contains(&"foreign".into()));
}
