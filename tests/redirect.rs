//! A target that is served elsewhere sends its initiators there, and they go.

use std::fs;
use std::process::Command;
use std::time::Duration;

use glint_testkit::glint::Glint;
use glint_testkit::process::Process;
use glint_testkit::tools::{libiscsi, qemu_img, tool};
use glint_testkit::vm::Vm;
use glint_testkit::{data, http, wait};

const LIMIT: Duration = Duration::from_secs(20);
const ANYONE: &str = "iqn.2026-12.io.glint.test:anyone";
/// A target that stays, since a glint that serves nothing at all says so by silence.
const OTHER: &str = "[[target]]\nname = \"other\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"1MiB\"\n\n";

/// A target `disk` that has moved to `to`.
fn moved(to: &str, permanent: bool, more: &str) -> String {
    format!(
        "{OTHER}[[target]]\nname = \"disk\"\n{more}\n[target.redirect]\nto = \"{to}\"\npermanent = {permanent}\n\n"
    )
}

fn served(more: &str, size: &str) -> String {
    format!(
        "{OTHER}[[target]]\nname = \"disk\"\n{more}\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"{size}\"\n"
    )
}

fn sessions(glint: &Glint) -> f64 {
    http::metric(&http::get(glint.api(), "/metrics").1, "glint_sessions", &[])
}

/// Reads that were served of the disk.
fn reads(glint: &Glint) -> f64 {
    let metrics = http::get(glint.api(), "/metrics").1;
    http::metric(&metrics, "glint_volume_operations_total", &["io.glint:disk", "read"])
}

#[test]
fn libiscsi_and_qemu_follow() {
    let new = Glint::serve().start_with_config(&served("", "16MiB"));
    let old = Glint::serve().start_with_config(&moved(&new.portal().to_string(), false, ""));
    libiscsi("iscsi-inq", &[&old.url("disk")]);
    // Told of where it was, logged in to where it is.
    let listed = libiscsi("iscsi-ls", &["-s", &format!("iscsi://{}", old.portal())]);
    assert!(listed.contains(&format!("io.glint:disk Portal:{}", old.portal())), "{listed}");
    assert!(listed.contains("(Size:15M)"), "{listed}");

    let path = |name: &str| old.dir().join(name).display().to_string();
    let (source, copy) = (path("source.img"), path("copy.img"));
    let image = data::image(5, 16 << 20);
    fs::write(&source, &image).unwrap();
    qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", &source, &old.url("disk")]);
    qemu_img(&["convert", "-f", "raw", "-O", "raw", &new.url("disk"), &copy]);
    assert!(fs::read(&copy).unwrap() == image, "the data went elsewhere");

    let metrics = http::get(old.api(), "/metrics").1;
    assert_eq!(http::metric(&metrics, "glint_logins_failed_total", &[]), 0.0, "{metrics}");
    assert!(old.log().contains("initiator redirected"), "{}", old.log());
}

/// libiscsi follows only what is moved for now; of the other it tells the status. Linux follows both.
#[test]
fn libiscsi_is_told_of_a_move_for_good() {
    let new = Glint::serve().start_with_config(&served("", "1MiB"));
    let old = Glint::serve().start_with_config(&moved(&new.portal().to_string(), true, ""));
    let told = tool("iscsi-inq", [&old.url("disk")], LIMIT).failure();
    assert!(told.contains("Target moved permanently"), "{told}");
    assert_eq!(sessions(&new), 0.0);
}

#[test]
fn only_who_may_see_the_target_is_told_where_it_is() {
    let new = Glint::serve().start_with_config(&served("", "1MiB"));
    let old = Glint::serve().start_with_config(&moved(
        &new.portal().to_string(),
        false,
        "initiators = [\"iqn.2026-12.io.glint.test:friend\"]",
    ));
    let as_initiator = |name: &str| tool("iscsi-inq", ["-i", name, &old.url("disk")], LIMIT).status.success();
    assert!(as_initiator("iqn.2026-12.io.glint.test:friend"));
    assert!(!as_initiator(ANYONE));
    let foreign = Glint::serve().start_with_config(&moved(
        &new.portal().to_string(),
        false,
        "networks = \"10.0.0.0/8\"",
    ));
    assert!(!tool("iscsi-inq", [&foreign.url("disk")], LIMIT).status.success());
}

/// The place that redirects need not know the secret; the one that serves asks for it.
#[test]
fn the_new_place_asks_for_its_proof() {
    let builder = Glint::serve();
    fs::write(builder.dir().join("secret"), "some-secret-0001").unwrap();
    let chap = "[target.chap]\nuser = \"alice\"\nsecret_file = \"secret\"";
    let new = builder.start_with_config(&served(chap, "1MiB"));
    let old = Glint::serve().start_with_config(&moved(&new.portal().to_string(), false, ""));
    libiscsi("iscsi-inq", &[&old.url_as("alice", "some-secret-0001", "disk")]);
    tool("iscsi-inq", [&old.url_as("alice", "wrong-secret-001", "disk")], LIMIT).failure();
    tool("iscsi-inq", [&old.url("disk")], LIMIT).failure();
}

/// A reload is all that moves a target: its sessions end, come back to the old place, and are sent on.
#[test]
fn a_target_moves_under_its_sessions() {
    let new = Glint::serve().start_with_config(&served("", "64MiB"));
    let mut old = Glint::serve().start_with_config(&served("", "64MiB"));
    let url = old.url("disk");
    let mut session = Process::start(Command::new("iscsi-perf").args(["-m", "4", "-t", "30", &url]));
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    assert_eq!((sessions(&old), sessions(&new)), (1.0, 0.0));
    old.reconfigure(&moved(&new.portal().to_string(), false, ""));
    wait::until("the session is at the new place", LIMIT, || (sessions(&old), sessions(&new)) == (0.0, 1.0));
    let before = reads(&new);
    wait::until("it reads there", LIMIT, || reads(&new) > before + 100.0);
    drop(session);
    // And back.
    old.reconfigure(&served("", "64MiB"));
    wait::until("the old place serves it again", LIMIT, || {
        tool("iscsi-inq", [&url], LIMIT).status.success()
            && http::get(old.api(), "/metrics").1.contains("io.glint:disk")
    });
    libiscsi("iscsi-readcapacity16", &[&url]);
}

/// The host's loopback as the guest sees it.
const HOST: &str = "10.0.2.2";

#[test]
fn linux_follows() {
    let new = Glint::serve().advertise(HOST).start_with_config(&served("", "64MiB"));
    let to = format!("{HOST}:{}", new.portal().port());
    for permanent in [false, true] {
        let old = Glint::serve().advertise(HOST).start_with_config(&moved(&to, permanent, ""));
        let job = format!(
            ". /lib.sh\nT=iqn.2026-12.io.glint:disk\nP={HOST}:{}\nnode $T $P\n\
             login $T $P\nD=$(disk $T)\nmkfs.ext4 -qF $D\nmount $D /mnt\necho moved >/mnt/file\numount /mnt\n\
             e2fsck -fn $D\nno_io_errors\niscsiadm -m session -P 1 | grep 'Current Portal: {to},'\nlogout $T $P\n",
            old.portal().port()
        );
        Vm::default().run(&job, Duration::from_secs(300)).success();
    }
}
