//! SIGHUP changes what is served, and who may have it, without disturbing anybody else.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::process::Process;
use glint_testkit::tools::{Finished, libiscsi, tool};
use glint_testkit::wait;

const LIMIT: Duration = Duration::from_secs(10);

fn ram(name: &str) -> String {
    format!("[[target]]\nname = \"{name}\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n\n")
}

/// Discovery as an initiator of that name.
fn discover(glint: &Glint, initiator: &str) -> String {
    libiscsi("iscsi-ls", &["-i", initiator, &format!("iscsi://{}", glint.portal())])
}

fn shows(glint: &Glint, name: &str) -> bool {
    discover(glint, "iqn.2026-12.io.glint.test:any").contains(&format!("io.glint:{name} "))
}

fn inquire(url: &str, initiator: &str) -> Finished {
    tool("iscsi-inq", ["-i", initiator, url], LIMIT)
}

/// A session that has begun to read, does so for some seconds, and fails if its connection is lost.
fn busy_session(url: &str, seconds: u32) -> Process {
    let seconds = seconds.to_string();
    let mut session =
        Process::start(Command::new("iscsi-perf").args(["-m", "4", "-x", "0", "-t", &seconds, url]));
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    session
}

fn assert_undisturbed(session: Process) {
    let (status, output) = session.finish(Duration::from_secs(30));
    assert!(
        status.success() && output.contains("finished"),
        "the session was disturbed, {status}:\n{output}"
    );
}

#[test]
fn adds_and_removes_volumes() {
    let mut glint = Glint::serve().start_with_config(&(ram("stays") + &ram("goes")));
    assert!(shows(&glint, "stays") && shows(&glint, "goes") && !shows(&glint, "comes"));
    let session = busy_session(&glint.url("stays"), 4);

    glint.reconfigure(&(ram("stays") + &ram("comes")));
    wait::until("the new volume is there", LIMIT, || shows(&glint, "comes"));
    wait::until("the removed volume is gone", LIMIT, || !shows(&glint, "goes"));
    assert!(shows(&glint, "stays"));
    libiscsi("iscsi-inq", &[&glint.url("comes")]);
    inquire(&glint.url("goes"), "iqn.2026-12.io.glint.test:any").failure();

    assert_undisturbed(session);
    glint.assert_alive();
}

#[test]
fn a_removed_volume_lets_its_sessions_go() {
    let mut glint = Glint::serve().start_with_config(&(ram("stays") + &ram("goes")));
    let session = busy_session(&glint.url("goes"), 30);
    glint.reconfigure(&ram("stays"));
    wait::until("the removed volume is gone", LIMIT, || !shows(&glint, "goes"));
    // It was asked to log out, did so, and finds no target any more.
    let (_, output) = session.finish(Duration::from_secs(15));
    assert!(output.contains("Target not found"), "a session goes on with a volume that is gone:\n{output}");
    assert!(glint.log().contains("end=LogoutRequested"), "{}", glint.log());
    glint.assert_alive();
}

#[test]
fn changes_secrets() {
    fn with_chap(secret_file: &Path) -> String {
        format!(
            "[[target]]\nname = \"disk\"\n[target.chap]\nuser = \"alice\"\nsecret_file = \"{}\"\n\
             [[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n",
            secret_file.display()
        )
    }
    let builder = Glint::serve();
    let secret = builder.dir().join("secret");
    fs::write(&secret, "first-secret-000").unwrap();
    let config = with_chap(&secret);
    let mut glint = builder.start_with_config(&config);
    let initiator = "iqn.2026-12.io.glint.test:any";
    let first = glint.url_as("alice", "first-secret-000", "disk");
    let second = glint.url_as("alice", "second-secret-00", "disk");

    inquire(&first, initiator).success();
    inquire(&second, initiator).failure();
    inquire(&glint.url("disk"), initiator).failure();
    let session = busy_session(&first, 4);

    fs::write(&secret, "second-secret-00").unwrap();
    glint.reconfigure(&config);
    wait::until("the new secret is taken", LIMIT, || inquire(&second, initiator).status.success());
    inquire(&first, initiator).failure();

    assert_undisturbed(session);
    let log = glint.log();
    assert!(!log.contains("-secret-"), "a secret is in the log:\n{log}");
}

#[test]
fn changes_who_may_log_in() {
    fn admitting(initiator: &str) -> String {
        format!(
            "[[target]]\nname = \"disk\"\ninitiators = [\"{initiator}\"]\n\
             [[target.lun]]\ndevice = \"ram:\"\nsize = \"16MiB\"\n"
        )
    }
    let (first, second) = ("iqn.2026-12.io.glint.test:first", "iqn.2026-12.io.glint.test:second");
    let mut glint = Glint::serve().start_with_config(&admitting(first));
    let url = glint.url("disk");
    let target = "iqn.2026-12.io.glint:disk";

    inquire(&url, first).success();
    inquire(&url, second).failure();
    assert!(discover(&glint, first).contains(target));
    assert!(
        !discover(&glint, second).contains(target),
        "whoever may not log in must not see the target either"
    );

    glint.reconfigure(&admitting(second));
    wait::until("the second initiator may log in", LIMIT, || inquire(&url, second).status.success());
    inquire(&url, first).failure();
    assert!(discover(&glint, second).contains(target));
}

#[test]
fn a_faulty_configuration_changes_nothing() {
    let mut glint = Glint::serve().start_with_config(&ram("disk"));
    let session = busy_session(&glint.url("disk"), 3);
    glint.reconfigure("[[target]]\nname = \"disk\"\nnonsense = 1\n");
    glint.wait_for_log("nonsense", LIMIT);
    assert!(shows(&glint, "disk"));
    libiscsi("iscsi-inq", &[&glint.url("disk")]);
    assert_undisturbed(session);
    glint.assert_alive();
}
