//! fio with its libiscsi engine, writing data that carries its own checksum and reading it back.

use std::process::Command;
use std::time::Duration;

use crate::{paths, tools};

/// A load with verification.
pub struct Verify {
    /// Bytes of the volume that are written, from its start.
    pub size: u64,
    /// Smallest and largest request, in bytes; they are spread evenly between.
    pub request: (u32, u32),
    /// Requests in flight.
    pub depth: u32,
    /// The time that all of it may take.
    pub limit: Duration,
}

impl Default for Verify {
    fn default() -> Self {
        Self { size: 32 << 20, request: (4 << 10, 256 << 10), depth: 16, limit: Duration::from_secs(180) }
    }
}

impl Verify {
    /// Write at random places of the LUN at `url`, each request with its CRC32C, then read all of it back. Panics on the
    /// first block that differs and on any I/O error.
    #[track_caller]
    pub fn run(&self, url: &str) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut fio = Command::new(paths::tool("fio/fio"));
        fio.current_dir(directory.path())
            .args(["--name=verify", "--ioengine=libiscsi", "--thread", "--rw=randwrite", "--verify=crc32c"])
            .args([
                "--verify_fatal=1",
                "--do_verify=1",
                "--verify_state_save=0",
                "--randrepeat=1",
                "--minimal",
            ])
            // fio takes a colon as a separator of file names.
            .arg(format!("--filename={}", url.replace(':', "\\:")))
            .arg(format!("--size={}", self.size))
            .arg(format!("--bsrange={}-{}", self.request.0, self.request.1))
            .arg(format!("--iodepth={}", self.depth));
        tools::run(&mut fio, self.limit).success();
    }
}
