//! Many sessions that do nothing but to say that they are there, kept by one thread.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::initiator::{Initiator, Port, TargetPdu};

/// Sessions that answer pings until this is dropped, which ends their connections.
pub struct Crowd {
    stop: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Logs in one session of each port.
    #[track_caller]
    pub fn log_in(portal: SocketAddr, ports: impl Iterator<Item = Port>) -> Self {
        allow_files();
        let mut sessions: Vec<_> = ports.map(|port| Initiator::log_in(portal, port)).collect();
        // What the first command brings into being is part of what a session costs.
        for session in &mut sessions {
            session.attentions();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let keeper = thread::spawn(move || keep(&mut sessions, &told));
        Self { stop, keeper: Some(keeper) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let kept = self.keeper.take().map(JoinHandle::join);
        assert!(thread::panicking() || kept.is_none_or(|kept| kept.is_ok()), "an idle session was ended");
    }
}

/// Lets the test have as many descriptors as it may.
pub fn allow_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit that may be raised");
}

fn keep(sessions: &mut [Initiator], stop: &AtomicBool) {
    let glance = Timespec::try_from(Duration::from_millis(50)).expect("a short time");
    while !stop.load(Ordering::Relaxed) {
        let mut sockets: Vec<_> =
            sessions.iter().map(|session| PollFd::new(session.socket(), PollFlags::IN)).collect();
        poll(&mut sockets, Some(&glance)).expect("sockets that can be waited for");
        let heard: Vec<_> = sockets.iter().map(|socket| !socket.revents().is_empty()).collect();
        for (session, _) in sessions.iter_mut().zip(heard).filter(|(_, heard)| *heard) {
            match session.receive() {
                Some(TargetPdu::NopIn(ping)) => session.answer_ping(&ping),
                other => panic!("not expected in an idle session: {other:?}"),
            }
        }
    }
}
