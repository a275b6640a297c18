//! The corpus, and some mutations of each of its inputs, through every fuzz target.
#![allow(clippy::panic, clippy::unwrap_used)]

use glint_fuzz::report::{End, Report};
use glint_target_core::scsi::asc;
use glint_target_core::scsi::command::{TaskManagement, TaskManagementOutcome};
use glint_target_core::scsi::sense::{Asc, SenseKey, Status};
use std::collections::BTreeSet;
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

#[test]
fn commands() {
    replay("commands", 3_000, |input| {
        glint_fuzz::commands(input);
    });
}

fn report(name: &str) -> Report {
    let (_, input) = corpus("commands").into_iter().find(|(found, _)| found == name).unwrap();
    glint_fuzz::commands(&input)
}

/// A command that only ever fails in the corpus is not fuzzed beyond its checks.
#[test]
fn every_command_succeeds_in_the_corpus() {
    let mut names: BTreeSet<_> = glint_fuzz::command_names().collect();
    for (_, input) in corpus("commands") {
        for (name, _) in glint_fuzz::commands(&input).commands.iter().filter(|(_, end)| *end == End::GOOD) {
            names.remove(name);
        }
    }
    assert!(names.is_empty(), "{names:?}");
}

/// So many commands end with GOOD, and these too end as they should.
#[test]
fn programs_of_the_corpus_work() {
    let conflict = End::Status(Status::ReservationConflict);
    let sense = |key, code: Asc| End::Sense(key, code);
    for (program, good, name, end) in [
        (
            "compare-and-write",
            4,
            "COMPARE AND WRITE",
            sense(SenseKey::Miscompare, asc::MISCOMPARE_DURING_VERIFY_OPERATION),
        ),
        ("copy", 8, "EXTENDED COPY(LID4)", End::GOOD),
        ("copy-aborted", 2, "EXTENDED COPY(LID4)", sense(SenseKey::CopyAborted, Asc(0x2f, 0x02))),
        (
            "copy-fails",
            2,
            "EXTENDED COPY(LID1)",
            sense(SenseKey::CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE),
        ),
        ("copy-in-background", 7, "EXTENDED COPY(LID4)", End::GOOD),
        (
            "copy-of-reserved-medium",
            3,
            "EXTENDED COPY(LID1)",
            sense(SenseKey::CopyAborted, asc::THIRD_PARTY_DEVICE_FAILURE),
        ),
        ("device-withdrawn-while-waiting", 1, "WRITE(10)", sense(SenseKey::NotReady, Asc(0x04, 0x03))),
        ("format", 8, "FORMAT UNIT", End::GOOD),
        ("format-in-background", 3, "FORMAT UNIT", End::Aborted),
        ("maintenance", 12, "TEST UNIT READY", sense(SenseKey::UnitAttention, asc::TIMESTAMP_CHANGED)),
        (
            "medium-removed",
            8,
            "START STOP UNIT",
            sense(SenseKey::IllegalRequest, asc::MEDIUM_REMOVAL_PREVENTED),
        ),
        (
            "mode-select",
            13,
            "WRITE(10)",
            sense(SenseKey::DataProtect, asc::LOGICAL_UNIT_SOFTWARE_WRITE_PROTECTED),
        ),
        ("ordered-tasks", 5, "TEST UNIT READY", sense(SenseKey::IllegalRequest, asc::INVALID_MESSAGE_ERROR)),
        ("persistent-reservation", 14, "WRITE(10)", conflict),
        ("persistent-reservation-moved", 6, "READ(10)", conflict),
        ("persistent-reservation-preempted", 8, "WRITE(10)", End::Status(Status::TaskAborted)),
        ("read-only", 3, "UNMAP", sense(SenseKey::DataProtect, asc::WRITE_PROTECTED)),
        ("reserve", 17, "READ(10)", conflict),
        ("sanitize", 12, "SANITIZE BLOCK ERASE", End::GOOD),
        ("sanitize-fails", 7, "READ(10)", sense(SenseKey::MediumError, asc::SANITIZE_COMMAND_FAILED)),
        (
            "thin-medium-full",
            4,
            "WRITE(10)",
            sense(SenseKey::DataProtect, asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT),
        ),
        ("token", 9, "WRITE USING TOKEN", sense(SenseKey::IllegalRequest, asc::TOKEN_UNKNOWN)),
        ("token-of-zeros", 4, "WRITE USING TOKEN", End::GOOD),
        ("token-revoked", 8, "WRITE USING TOKEN", sense(SenseKey::IllegalRequest, asc::TOKEN_REVOKED)),
        ("token-waits-for-writes", 7, "WRITE USING TOKEN", sense(SenseKey::CopyAborted, asc::TOKEN_REVOKED)),
    ] {
        let report = report(program);
        assert_eq!(report.good(), good, "{program}: {report:?}");
        assert!(report.commands.contains(&(name, end)), "{program}: {report:?}");
    }
}

/// Commands wait for the device and for those that hold their blocks.
#[test]
fn commands_of_the_corpus_wait() {
    let report = report("compare-and-write-waits-for-write");
    assert!(report.waits >= 3);
    let names = report.commands.iter().map(|(name, _)| *name);
    assert!(names.eq(["WRITE(10)", "COMPARE AND WRITE", "READ(10)", "READ(10)"]), "{report:?}");
    assert_eq!(report.good(), 4);
}

#[test]
fn task_management_of_the_corpus_works() {
    for (program, aborted) in [
        ("abort-task", 1),
        ("abort-task-set", 2),
        ("clear-task-set", 4),
        ("logical-unit-reset", 4),
        ("nexus-reset", 2),
        ("target-warm-reset", 4),
        ("target-cold-reset", 4),
    ] {
        let report = report(program);
        let is_aborted = |end| end == End::Aborted || end == End::Status(Status::TaskAborted);
        let commands = report.commands.iter().filter(|(_, end)| is_aborted(*end));
        assert_eq!(commands.count(), aborted, "{program}: {report:?}");
        let is_query = |function| {
            matches!(function, TaskManagement::QueryTask { .. } | TaskManagement::QueryTaskSet { .. })
        };
        let outcomes = report.management.iter().filter(|(function, _)| !is_query(*function));
        assert!(outcomes.map(|(_, outcome)| *outcome).eq([TaskManagementOutcome::Complete]), "{program}");
    }
}

#[test]
fn multiple() {
    replay("multiple", 3_000, |input| {
        glint_fuzz::multiple(input);
    });
}

/// So many commands come to the driver, so many connections join and go before the end, so many functions are answered.
#[test]
fn sessions_of_the_corpus_work() {
    for (name, executed, joined, parted, managed) in [
        ("reads-over-three", 9, 2, 0, 0),
        ("writes-over-three", 6, 2, 0, 0),
        ("data-on-another-connection", 2, 1, 0, 0),
        ("order-over-connections", 4, 1, 0, 0),
        ("early-on-another-connection", 3, 1, 0, 0),
        ("early-lost-with-connection", 3, 1, 1, 0),
        ("gap-after-loss", 0, 1, 1, 0),
        ("gap-filled-after-loss", 2, 2, 2, 0),
        ("lost-while-running", 3, 1, 1, 0),
        ("lost-while-managing", 2, 1, 1, 0),
        ("alone-and-reinstated", 2, 1, 1, 0),
        ("reinstated", 3, 2, 1, 0),
        ("refused-while-orphans", 3, 2, 1, 0),
        ("too-many", 3, 3, 0, 0),
        ("digests-of-their-own", 5, 3, 0, 0),
        ("logout-of-another", 2, 1, 1, 0),
        ("logout-of-another-twice", 1, 2, 1, 0),
        ("logout-of-session-while-another-leaves", 2, 2, 1, 0),
        ("fence", 3, 1, 0, 1),
        ("fence-of-silent", 1, 1, 1, 1),
        ("fence-of-lost", 2, 1, 1, 1),
        ("fence-and-own-loss", 2, 1, 1, 0),
        ("fences", 1, 2, 1, 3),
        ("abort-over-connections", 2, 1, 0, 3),
        ("query-over-connections", 1, 1, 0, 3),
        ("cold-reset", 2, 1, 0, 1),
        ("comings-and-goings", 4, 4, 3, 0),
    ] {
        let (_, input) = corpus("multiple").into_iter().find(|(found, _)| found == name).unwrap();
        let wanted = glint_fuzz::Tally { executed, joined, parted, managed };
        assert_eq!(glint_fuzz::multiple(&input), wanted, "{name}");
    }
}
