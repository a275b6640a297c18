//! A virtual machine whose kernel is Debian's, in which the tests run Linux's own iSCSI initiator. It reaches this machine's
//! loopback at 10.0.2.2. Emulated in full (no KVM), it is up after about ten seconds.

mod cpio;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::paths;
use crate::process::Process;

/// What a line begins with that a job says with `mark`.
const MARK: &str = "GLINT-VM-MARK ";

/// What the last line of a job begins with.
const RESULT: &str = "GLINT-VM-RESULT rc=";

/// A machine to be started.
pub struct Vm {
    memory_mib: u32,
}

impl Default for Vm {
    fn default() -> Self {
        Self { memory_mib: 512 }
    }
}

/// What came of a job.
pub struct VmOutput {
    /// Everything on the machine's console.
    pub console: String,
    /// The job's exit status.
    pub exit_code: i32,
}

impl VmOutput {
    /// The console, if the job ended well; panics with the console otherwise.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.exit_code, 0, "the job in the virtual machine failed:\n{}", self.console);
        self.console
    }
}

impl Vm {
    /// Set the machine's memory.
    #[must_use]
    pub fn memory_mib(mut self, memory_mib: u32) -> Self {
        self.memory_mib = memory_mib;
        self
    }

    /// Run `job`, a shell script that begins with `. /lib.sh`, to its end. Panics when that takes longer than `limit`.
    #[track_caller]
    pub fn run(&self, job: &str, limit: Duration) -> VmOutput {
        self.spawn(job).finish(limit)
    }

    /// Start a machine with `job` and leave it running, so that the test can act between its marks.
    pub fn spawn(&self, job: &str) -> RunningVm {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let initrd = directory.path().join("initrd");
        write_initrd(&initrd, job)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", initrd.display()));
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-accel", "tcg", "-cpu", "max", "-smp", "1", "-m"])
            .arg(self.memory_mib.to_string())
            .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"])
            .args(["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="])
            .arg("-kernel")
            .arg(paths::tool("vm/vmlinux"))
            .arg("-initrd")
            .arg(&initrd)
            .args(["-append", "console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off no_timer_check"]);
        RunningVm { process: Process::start(&mut qemu), _directory: directory }
    }
}

/// The initramfs that `make test-deps` made, and behind it one of its own with the job: the kernel unpacks both.
fn write_initrd(path: &Path, job: &str) -> io::Result<()> {
    let mut initrd = File::create(path)?;
    let length = io::copy(&mut File::open(paths::tool("vm/initrd"))?, &mut initrd)?;
    // An archive begins at a multiple of four.
    let padding = length.next_multiple_of(4) - length;
    initrd.write_all(&[0; 3][..padding as usize])?;
    cpio::write(&mut initrd, &[("job", 0o100_644, job.as_bytes())])?;
    initrd.flush()
}

/// A machine with a job under way. It is switched off when dropped.
pub struct RunningVm {
    process: Process,
    _directory: TempDir,
}

impl RunningVm {
    /// Wait until the job says `mark NAME...`, and return the words after NAME.
    #[track_caller]
    pub fn wait_for_mark(&mut self, name: &str, limit: Duration) -> String {
        fn words<'a>(line: &'a str, name: &str) -> Option<&'a str> {
            let rest = line.strip_prefix(MARK)?.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
        }
        let line = self.process.wait_for_line(&format!("{MARK}{name}"), limit, |line| {
            words(line, name).is_some() || line.starts_with(RESULT)
        });
        match words(&line, name) {
            Some(rest) => rest.to_owned(),
            None => panic!("the job ended before its mark {name}"),
        }
    }

    /// Wait for the end of the job; panics when it takes longer than `limit` or when the machine goes down without a word.
    #[track_caller]
    pub fn finish(mut self, limit: Duration) -> VmOutput {
        let line = self.process.wait_for_line("the job's result", limit, |line| line.starts_with(RESULT));
        let exit_code = line.strip_prefix(RESULT).and_then(|code| code.trim().parse().ok());
        // It powers itself off; where that hangs, the test has its result all the same.
        let (_, console) = self.process.finish(Duration::from_secs(30));
        let exit_code = exit_code.unwrap_or_else(|| panic!("no exit status in {line:?}:\n{console}"));
        VmOutput { console, exit_code }
    }
}
