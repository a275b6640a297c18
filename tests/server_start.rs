//! How the service starts when it cannot, and ends when it is told twice.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use glint_testkit::glint::{self, Glint};
use glint_testkit::process::Process;
use glint_testkit::{paths, ports, wait};
use rustix::process::Signal;

const LIMIT: Duration = Duration::from_secs(10);

/// Nothing is kept: these share nothing with each other.
const STATELESS: [&str; 2] = ["--state-dir", "/dev/null/glint"];

fn serve(arguments: &[&str]) -> Process {
    Process::start(Command::new(paths::glint()).arg("serve").args(STATELESS).args(arguments))
}

#[test]
fn a_volume_that_cannot_be_opened_is_told_and_nothing_is_served() {
    let failed = glint::run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--api",
        "off",
        STATELESS[0],
        STATELESS[1],
        "--volume",
        "good=ram:,size=1MiB",
        "--volume",
        "bad=file:/nowhere/at/all.img",
    ]);
    assert_eq!(failed.status.code(), Some(1));
    let told = failed.failure();
    assert!(told.contains("volume bad, LUN 0: file:/nowhere/at/all.img does not exist"), "{told}");
    assert!(!told.contains("ready "), "{told}");
}

#[test]
fn a_port_that_is_taken_is_told() {
    let rival = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = rival.local_addr().unwrap().to_string();
    let volume = ["--volume", "disk=ram:,size=1MiB"];
    for (portal, api, told) in [
        (taken.as_str(), "off", format!("cannot listen on {taken}: ")),
        ("127.0.0.1:0", taken.as_str(), format!("the API cannot listen on {taken}: ")),
    ] {
        let options = ["serve", "--listen", portal, "--api", api, volume[0], volume[1]];
        let failed = glint::run(&[&options, &STATELESS[..]].concat());
        assert_eq!(failed.status.code(), Some(1));
        assert!(failed.failure().contains(&told));
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let port = ports::free_port();
    let portal = format!("127.0.0.1:{port}");
    let mut glint = serve(&["--listen", &portal, "--api", "off", "--volume", "disk=ram:,size=1MiB"]);
    glint.wait_for_line("its ready line", LIMIT, |line| line.starts_with("ready "));
    // An initiator that will not log out keeps the drain waiting.
    let url = format!("iscsi://{portal}/iqn.2026-12.io.glint:disk/0");
    let mut session = Process::start(Command::new("iscsi-perf").args(["-t", "60", &url]));
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    session.signal(Signal::STOP);
    let start = Instant::now();
    glint.signal(Signal::TERM);
    glint.wait_for_line("that it drains", LIMIT, |line| line.contains("draining"));
    // What comes at once is the same request, told to the process and to its group.
    glint.signal(Signal::TERM);
    thread::sleep(Duration::from_millis(600));
    glint.signal(Signal::TERM);
    assert_eq!(glint.wait(LIMIT).code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
}

#[test]
fn the_port_is_free_at_once_after_a_kill_with_sessions() {
    let mut glint = Glint::with_volume("disk=ram:,size=16MiB");
    let mut session = Process::start(Command::new("iscsi-perf").args(["-t", "60", &glint.url("disk")]));
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    let idle = TcpStream::connect(glint.portal()).unwrap();
    glint.kill();
    glint.start_again();
    TcpStream::connect(glint.portal()).unwrap();
    drop(idle);
}

#[test]
fn a_portal_of_all_addresses_is_told_as_the_one_that_was_used() {
    let dir = tempfile::tempdir().unwrap();
    let port = ports::free_port();
    let file = dir.path().join("glint.toml");
    let text = format!(
        "[node]\nid = \"test\"\n[[portal]]\nlisten = [\"0.0.0.0:{port}\", \"[::1]:{port}\"]\n[api]\nlisten = \"off\"\n\
         [[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"1MiB\"\n"
    );
    fs::write(&file, text).unwrap();
    let mut glint = serve(&["-c", file.to_str().unwrap()]);
    let ready = glint.wait_for_line("its ready line", LIMIT, |line| line.starts_with("ready "));
    assert_eq!(ready, format!("ready iscsi://127.0.0.1:{port}/iqn.2026-12.io.glint:disk/0"));
    let list = |host: &str| glint_testkit::tools::libiscsi("iscsi-ls", &[&format!("iscsi://{host}:{port}")]);
    wait::until("it answers", LIMIT, || TcpStream::connect(("127.0.0.2", port)).is_ok());
    let seen = list("127.0.0.2");
    assert!(seen.contains(&format!("Portal:127.0.0.2:{port},1")), "{seen}");
    assert!(seen.contains(&format!("Portal:[::1]:{port},1")), "{seen}");
}

#[test]
fn it_can_be_told_to_end_while_a_volume_is_still_being_opened() {
    // Accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let volume = format!("disk=gluster://{}/vol/disk.img,size=1MiB", silent.local_addr().unwrap());
    let mut glint = serve(&["--listen", "127.0.0.1:0", "--api", "127.0.0.1:0", "--volume", &volume]);
    glint.wait_for_line("that it starts", LIMIT, |line| line.contains("API listening"));
    let start = Instant::now();
    glint.signal(Signal::TERM);
    assert_eq!(glint.wait(LIMIT).code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
}

#[test]
fn a_file_size_limit_fails_writes_and_does_not_kill() {
    let builder = Glint::serve();
    let file = builder.dir().join("disk.img");
    let mut glint = builder.volume(&format!("disk=file:{},size=2MiB", file.display())).start();
    let pid = rustix::process::Pid::from_raw(glint.id().cast_signed());
    let limit = rustix::process::Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    let source = glint.dir().join("source.img");
    fs::write(&source, vec![0x5a; 2 << 20]).unwrap();
    let mut copy = Command::new("qemu-img");
    copy.args(["convert", "-n", "-f", "raw", "-O", "raw"]).arg(&source).arg(glint.url("disk"));
    let (status, output) = Process::start(&mut copy).finish(Duration::from_secs(30));
    assert!(!status.success(), "{output}");
    glint.assert_alive();
}
