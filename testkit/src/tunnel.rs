//! The initiator's end of a TLS tunnel: stunnel, which takes plain connections and goes on over TLS.

use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::Process;
use crate::{glint, wait};

/// How stunnel is to connect.
pub struct Tunnel<'a> {
    /// The server's CA.
    pub ca: &'a Path,
    /// The name that the server's certificate has to have.
    pub name: &'a str,
    /// What it shows of itself: certificate and key.
    pub pair: Option<&'a (PathBuf, PathBuf)>,
    /// Further lines of its configuration.
    pub more: &'a str,
}

/// A stunnel that runs; it is ended when dropped.
pub struct Stunnel {
    process: Process,
    /// Where initiators connect to.
    pub address: SocketAddr,
}

impl Tunnel<'_> {
    /// Starts it on a port of its own.
    #[track_caller]
    pub fn start(&self, directory: &Path, server: SocketAddr) -> Stunnel {
        self.start_at(glint::loopback(), directory, server)
    }

    /// Starts it, with its configuration in `directory`.
    #[track_caller]
    pub fn start_at(&self, address: SocketAddr, directory: &Path, server: SocketAddr) -> Stunnel {
        let (ca, name) = (self.ca.display(), self.name);
        let mut text = format!(
            "foreground = yes\npid =\ndebug = info\n\n[iscsi]\nclient = yes\naccept = {address}\nconnect = {server}\n\
             verifyChain = yes\nCAfile = {ca}\ncheckHost = {name}\n"
        );
        if let Some((certificate, key)) = self.pair {
            write!(text, "cert = {}\nkey = {}\n", certificate.display(), key.display())
                .expect("a string grows");
        }
        text += self.more;
        let file = directory.join(format!("stunnel-{}.conf", address.port()));
        fs::write(&file, text).expect("the configuration is written");
        let mut process = Process::start(Command::new("stunnel4").arg(file));
        wait::until("stunnel listens", Duration::from_secs(20), || {
            assert!(process.try_wait().is_none(), "stunnel ended:\n{}", process.output());
            process.output().contains("Configuration successful") && TcpStream::connect(address).is_ok()
        });
        Stunnel { process, address }
    }
}

impl Stunnel {
    /// All that it logged.
    pub fn log(&self) -> String {
        self.process.output()
    }
}
