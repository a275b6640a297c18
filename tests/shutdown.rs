//! SIGTERM drains; `kill -9` loses nothing that was acknowledged.

use std::fs;
use std::path::Path;
use std::process::Command;

use glint_testkit::data;
use glint_testkit::glint::{Builder, Glint};
use glint_testkit::process::Process;
use glint_testkit::tools::qemu_img;

const SIZE: usize = 16 << 20;

fn on_file(builder: Builder) -> Glint {
    let volume = format!("disk=file:{}/volume.img,size=16MiB", builder.dir().display());
    builder.volume(&volume).start()
}

fn fill(glint: &Glint, seed: u64) -> Vec<u8> {
    let image = data::noise(seed, SIZE);
    let source = glint.dir().join("source.img");
    assert!(fs::write(&source, &image).is_ok(), "cannot write {}", source.display());
    qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", &source.display().to_string(), &glint.url("disk")]);
    image
}

fn holds(path: &Path, image: &[u8]) -> bool {
    fs::read(path).is_ok_and(|content| content == image)
}

#[test]
fn an_idle_glint_ends_at_once_and_well() {
    let mut glint = Glint::with_volume("disk=ram:,size=16MiB");
    assert_eq!(glint.terminate().code(), Some(0), "{}", glint.log());
}

#[test]
fn a_busy_glint_drains_and_ends_well() {
    let mut glint = on_file(Glint::serve());
    let image = fill(&glint, 1);
    let mut session =
        Process::start(Command::new("iscsi-perf").args(["-t", "60", "-m", "32", &glint.url("disk")]));
    session
        .wait_for_line("that it reads", std::time::Duration::from_secs(10), |line| line.contains("will run"));
    assert_eq!(glint.terminate().code(), Some(0), "{}", glint.log());
    assert!(holds(&glint.dir().join("volume.img"), &image), "what was written is not in the file");
}

#[test]
fn what_was_flushed_outlives_a_kill() {
    let mut glint = on_file(Glint::serve());
    let image = fill(&glint, 2);
    glint.kill();
    assert!(holds(&glint.dir().join("volume.img"), &image), "what was written is not in the file");
    glint.start_again();
    let copy = glint.dir().join("copy.img");
    qemu_img(&["convert", "-f", "raw", "-O", "raw", &glint.url("disk"), &copy.display().to_string()]);
    assert!(holds(&copy, &image), "what was written is not on the disk after the restart");
}
