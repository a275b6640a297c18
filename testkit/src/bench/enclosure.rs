//! A place for a comparison: a file system in memory that nobody else sees, and an end to all that was started in it.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::OFlags;
use tempfile::TempDir;

/// Where the directory on disk is, for who runs inside.
const DISK: &str = "GLINT_BENCH_DISK";

/// What the first process inside does: a file system over `$0`, and then this program.
const INIT: &str = "mount -t tmpfs -o size=80% tmpfs \"$0\" && exec \"$@\"";

/// Runs this program once more inside and gives its exit; none when it is inside already.
///
/// Inside is a PID and mount namespace whose first process the bench is. The kernel takes down all of it when the bench ends, or when
/// who started it does, however that comes about: tgtd for one ignores being asked. Temporary files are in memory there.
///
/// # Errors
/// When there is no room for directories, or no `setpriv` (package util-linux).
pub fn enter() -> io::Result<Option<ExitCode>> {
    if env::var_os(DISK).is_some() {
        return Ok(None);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(io::Error::other("this takes root: bricks and tgtd do, and so do mounts"));
    }
    let directory = TempDir::with_prefix_in("glint-bench-", on_disk())?;
    let (memory, disk) = (directory.path().join("memory"), directory.path().join("disk"));
    fs::create_dir(&memory)?;
    fs::create_dir(&disk)?;
    let status = Command::new("setpriv")
        .args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ])
        .args(["sh", "-c", INIT])
        .arg(&memory)
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env("TMPDIR", &memory)
        .env(DISK, &disk)
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Some(code.map_or(ExitCode::FAILURE, ExitCode::from)))
}

/// A directory in memory; it must be inside.
pub fn memory() -> PathBuf {
    env::temp_dir()
}

/// A directory on disk; it must be inside.
#[track_caller]
pub fn disk() -> PathBuf {
    env::var_os(DISK).expect("the bench runs inside").into()
}

/// Whether files there can be opened for direct I/O; in memory they can from Linux 6.6 on.
pub fn has_direct_io(directory: &Path) -> bool {
    let file = directory.join("direct");
    let flags = OFlags::DIRECT.bits().cast_signed();
    let opened = fs::OpenOptions::new().write(true).create(true).custom_flags(flags).open(&file);
    // Gone already where it could not be made.
    let _ = fs::remove_file(&file);
    opened.is_ok()
}

/// The directory of temporary files, or another that takes them where that is in memory.
fn on_disk() -> PathBuf {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    let in_memory = |path: &PathBuf| rustix::fs::statfs(path).is_ok_and(|found| found.f_type == TMPFS_MAGIC);
    let own = env::temp_dir();
    let places = [own.clone(), PathBuf::from("/var/tmp")];
    places.into_iter().find(|place| !in_memory(place)).unwrap_or(own)
}
