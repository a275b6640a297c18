//! Commands that run to their end: libiscsi's tools, qemu-img and whatever else a test asks.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::process::Process;

/// How a command ended.
pub struct Finished {
    /// The command line, for messages.
    pub command: String,
    /// Its exit status.
    pub status: ExitStatus,
    /// All it printed, on both streams.
    pub output: String,
}

impl Finished {
    /// What it printed, if it succeeded; panics otherwise.
    #[track_caller]
    pub fn success(self) -> String {
        assert!(self.status.success(), "`{}` failed, {}:\n{}", self.command, self.status, self.output);
        self.output
    }

    /// What it printed, if it failed; panics otherwise.
    #[track_caller]
    pub fn failure(self) -> String {
        assert!(
            !self.status.success(),
            "`{}` should have failed and did not:\n{}",
            self.command,
            self.output
        );
        self.output
    }
}

/// Run `command` to its end; panics when that takes longer than `limit`.
#[track_caller]
pub fn run(command: &mut Command, limit: Duration) -> Finished {
    let line = format!("{command:?}");
    let (status, output) = Process::start(command.stdin(Stdio::null())).finish(limit);
    Finished { command: line, status, output }
}

/// Run `program` with `arguments` as [`run`] does.
#[track_caller]
pub fn tool(
    program: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    limit: Duration,
) -> Finished {
    run(Command::new(program).args(arguments), limit)
}

/// Run a libiscsi tool (`iscsi-ls`, `iscsi-inq`, ...) that must succeed, and return what it printed.
#[track_caller]
pub fn libiscsi(program: &str, arguments: &[&str]) -> String {
    tool(program, arguments, Duration::from_secs(60)).success()
}

/// Run qemu-img, which must succeed, and return what it printed.
#[track_caller]
pub fn qemu_img(arguments: &[&str]) -> String {
    tool("qemu-img", arguments, Duration::from_secs(120)).success()
}
