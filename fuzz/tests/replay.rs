//! The corpus, and some mutations of each of its inputs, through every fuzz target.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// Inputs of `corpus/NAME` in the order of their names.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

/// Runs the corpus and `mutations` inputs made of it.
fn replay(name: &str, mutations: usize, target: fn(&[u8])) {
    let inputs = corpus(name);
    assert!(inputs.len() >= 10, "{} inputs", inputs.len());
    for (position, (_, input)) in inputs.iter().enumerate() {
        target(input);
        let (_, other) = &inputs[(position * 7 + 1) % inputs.len()];
        glint_fuzz::mutation::mutations(input, other, mutations / inputs.len(), target);
    }
}

#[test]
fn pdu() {
    replay("pdu", 10_000, glint_fuzz::pdu);
}

#[test]
fn login() {
    replay("login", 10_000, |input| {
        glint_fuzz::login(input);
    });
}

/// Inputs that no longer get anywhere would fuzz nothing.
#[test]
fn logins_of_the_corpus_succeed() {
    // The second asks for a target that wants CHAP and offers none.
    let failing = ["discovery-needs-chap", "libiscsi-discovery-1", "refused-by-driver"];
    for (name, input) in corpus("login") {
        assert_eq!(glint_fuzz::login(&input), !failing.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn connection() {
    replay("connection", 1_500, |input| {
        glint_fuzz::connection(input);
    });
}

/// Inputs about commands bring them to the driver: as many as here.
#[test]
fn connections_of_the_corpus_work() {
    for (name, commands) in [
        ("attributes", 5),
        ("bidirectional", 2),
        ("budget", 3),
        ("discovery", 0),
        ("immediate-commands", 33),
        ("lazy-reader", 3),
        ("login-by-hand", 1),
        ("login-refused", 0),
        ("management-before-commands", 3),
        ("out-of-order", 5),
        ("reads", 40),
        ("window-full", 2),
        ("writes-asked-for", 2),
        ("writes-immediate", 12),
        ("writes-unsolicited", 3),
        ("writes-with-digests", 2),
    ] {
        let (_, input) = corpus("connection").into_iter().find(|(found, _)| found == name).unwrap();
        assert_eq!(glint_fuzz::connection(&input), commands, "{name}");
    }
}
