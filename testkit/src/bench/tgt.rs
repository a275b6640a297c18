//! tgt, the user-space target that distributions ship: `tgtd` on ports of its own.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::glint::loopback;
use crate::process::Process;
use crate::tools;

const IQN_BASE: &str = "iqn.2026-12.io.glint.tgt";

/// A running tgtd; killed when dropped.
pub struct Tgt {
    process: Process,
    portal: SocketAddr,
    targets: u32,
}

impl Tgt {
    /// Start it without targets.
    #[track_caller]
    #[must_use]
    pub fn start() -> Self {
        let portal = loopback();
        let mut command = Command::new("tgtd");
        command.args(["-f", "-C", &portal.port().to_string(), "--iscsi", &format!("portal={portal}")]);
        let tgt = Self { process: Process::start(&mut command), portal, targets: 0 };
        crate::wait::until("tgtd answers", Duration::from_secs(10), || {
            let show = tgt.command(&["--mode", "sys", "--op", "show"]).output();
            show.is_ok_and(|output| output.status.success())
        });
        tgt
    }

    /// Serve `store` through its backing store `kind` as a target of its own; gives libiscsi's URL of it.
    #[track_caller]
    pub fn serve(&mut self, kind: &str, store: &str) -> String {
        self.targets += 1;
        let (number, name) = (self.targets.to_string(), format!("{IQN_BASE}:{}", self.targets));
        let target = ["--lld", "iscsi", "--mode", "target", "--tid", &number];
        let unit = ["--lld", "iscsi", "--mode", "logicalunit", "--op", "new", "--tid", &number, "--lun", "1"];
        self.run(&[&target[..], &["--op", "new", "-T", &name]].concat());
        // By itself it takes none, whoever offers them.
        for digest in ["HeaderDigest", "DataDigest"] {
            self.run(
                &[&target[..], &["--op", "update", "--name", digest, "--value", "CRC32C,None"]].concat(),
            );
        }
        self.run(&[&unit[..], &["--bstype", kind, "--backing-store", store]].concat());
        self.run(&[&target[..], &["--op", "bind", "-I", "ALL"]].concat());
        format!("iscsi://{}/{name}/1", self.portal)
    }

    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tgtadm");
        command.args(["-C", &self.portal.port().to_string()]).args(arguments);
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) {
        tools::run(&mut self.command(arguments), Duration::from_secs(30)).success();
    }
}
