//! A network of its own for a process that is to be cut off: nothing reaches it, or leaves it, but through proxies.

use std::fs::File;
use std::io::{self, Error, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Holds the namespace, with its loopback up, until its input ends.
const HOLD: &str = "busybox ip link set lo up && echo up && exec cat";

/// A network namespace with nothing but loopback.
#[derive(Debug)]
pub struct Namespace {
    holder: Child,
    sockets: Sender<Wanted>,
}

/// A socket that is made inside.
enum Wanted {
    Listener(SocketAddr, Sender<io::Result<TcpListener>>),
    Stream(SocketAddr, Sender<io::Result<TcpStream>>),
}

impl Namespace {
    /// Makes one; it takes root.
    pub fn new() -> io::Result<Self> {
        let mut holder = Command::new("unshare")
            .args(["--net", "sh", "-c", HOLD])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut told = [0; 3];
        holder.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.read_exact(&mut told)?;
        let file = File::open(namespace(&holder))?;
        let (sockets, wanted) = channel();
        let (ready, entered) = channel();
        // A socket belongs to the namespace that its thread was in when it was made, and stays there whoever uses it.
        thread::spawn(move || {
            let moved = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
            if ready.send(moved).is_err() || moved.is_err() {
                return;
            }
            for socket in wanted {
                // Who has gone does not want it any more.
                match socket {
                    Wanted::Listener(address, to) => drop(to.send(TcpListener::bind(address))),
                    Wanted::Stream(address, to) => {
                        drop(to.send(TcpStream::connect_timeout(&address, Duration::from_secs(2))));
                    }
                }
            }
        });
        entered.recv().map_err(Error::other)??;
        Ok(Self { holder, sockets })
    }

    /// What is put before a command line to have it run inside; the process stays the child that was started.
    pub fn prefix(&self) -> Vec<PathBuf> {
        let place = format!("--net={}", namespace(&self.holder).display());
        vec!["nsenter".into(), place.into()]
    }

    /// Listens inside.
    pub fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        self.want(|to| Wanted::Listener(address, to))
    }

    /// Connects inside.
    pub fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.want(|to| Wanted::Stream(address, to))
    }

    fn want<T>(&self, wanted: impl FnOnce(Sender<io::Result<T>>) -> Wanted) -> io::Result<T> {
        let (to, from) = channel();
        self.sockets.send(wanted(to)).map_err(|_| io::ErrorKind::BrokenPipe)?;
        from.recv().map_err(Error::other)?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // Only fails where it has been waited for already.
        let _ = self.holder.wait();
    }
}

fn namespace(holder: &Child) -> PathBuf {
    format!("/proc/{}/ns/net", holder.id()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glint::loopback;

    #[test]
    fn what_listens_inside_is_reached_from_inside_alone() {
        let (namespace, address) = (Namespace::new().unwrap(), loopback());
        let listener = namespace.listen(address).unwrap();
        assert!(TcpStream::connect(address).is_err());
        let _stream = namespace.connect(address).unwrap();
        listener.accept().unwrap();
        // The same address outside is another.
        TcpListener::bind(address).unwrap();
    }
}
