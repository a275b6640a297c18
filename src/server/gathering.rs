//! Data of writes that are not complete: bytes that peers make the node keep before there is a command to run.
//!
//! They are apart from those of commands that run, as who is waited for with the one could not give the other back. What was asked for
//! has a limit of its own (`invitations`), and is nobody's fault while it is on its way; here the rest is counted. While all connections
//! together hold more of it than the limit, those with more than the average are not read from: the others complete their commands,
//! which frees memory. At twice the limit, with what was asked for, when not enough of them do, who has more than the average is closed;
//! but not who has commands that the limits of their volume make wait, or has to be asked for what his commands lack: he cannot help it,
//! and time frees what they hold. He is not read from meanwhile.

use super::invitations::Invitations;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often a connection that is not read from looks whether it may be.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// What the node holds.
#[derive(Debug)]
pub(super) struct Gathering {
    limit: usize,
    invitations: Arc<Invitations>,
    total: AtomicUsize,
    holders: AtomicUsize,
}

/// What is to be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Read,
    Wait,
    Close,
}

impl Gathering {
    pub(super) fn new(limit: usize, invitations: Arc<Invitations>) -> Arc<Self> {
        Arc::new(Self { limit, invitations, total: AtomicUsize::new(0), holders: AtomicUsize::new(0) })
    }

    pub(super) fn part(self: &Arc<Self>) -> Part {
        Part { node: Arc::clone(self), bytes: 0 }
    }

    /// Bytes that are held and were not asked for.
    pub(super) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }
}

/// What one connection holds; given back when dropped.
#[derive(Debug)]
pub(super) struct Part {
    node: Arc<Gathering>,
    bytes: usize,
}

impl Part {
    /// Notes what the connection holds now that it was not asked for.
    pub(super) fn set(&mut self, bytes: usize) {
        if bytes == self.bytes {
            return;
        }
        match (self.bytes, bytes) {
            (0, _) => self.node.holders.fetch_add(1, Ordering::Relaxed),
            (_, 0) => self.node.holders.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        if bytes > self.bytes {
            self.node.total.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            self.node.total.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// Whether the connection may be read from; `cannot_help`: its commands wait for us, not for its peer.
    pub(super) fn verdict(&self, cannot_help: bool) -> Verdict {
        let total = self.node.total.load(Ordering::Relaxed);
        if total <= self.node.limit || self.bytes == 0 {
            return Verdict::Read;
        }
        let with_invited = total.saturating_add(self.node.invitations.total());
        let is_full = with_invited > self.node.limit.saturating_mul(2);
        if is_full && cannot_help {
            return Verdict::Wait;
        }
        // One of all holds no more than the average, so there is always one that goes on.
        let average = total / self.node.holders.load(Ordering::Relaxed).max(1);
        if self.bytes <= average {
            Verdict::Read
        } else if is_full {
            Verdict::Close
        } else {
            Verdict::Wait
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn who_holds_most_waits_and_then_goes() {
        let node = Gathering::new(100, Invitations::new(50));
        let (mut large, mut small) = (node.part(), node.part());
        large.set(100);
        assert_eq!(large.verdict(false), Verdict::Read);
        small.set(10);
        assert_eq!((large.verdict(false), small.verdict(false)), (Verdict::Wait, Verdict::Read));
        large.set(191);
        assert_eq!((large.verdict(false), small.verdict(false)), (Verdict::Close, Verdict::Read));
        assert_eq!((large.verdict(true), small.verdict(true)), (Verdict::Wait, Verdict::Wait));
        drop(large);
        assert_eq!((node.total(), small.verdict(false)), (10, Verdict::Read));
        small.set(0);
        assert_eq!((node.total(), node.holders.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn what_was_asked_for_makes_it_full_sooner() {
        let node = Gathering::new(100, Invitations::new(50));
        let (mut large, mut small) = (node.part(), node.part());
        large.set(150);
        small.set(10);
        let mut guest = node.invitations.guest(Instant::now());
        assert!(guest.invite(40));
        assert_eq!(large.verdict(false), Verdict::Wait);
        assert!(guest.invite(10));
        assert_eq!((large.verdict(false), small.verdict(false)), (Verdict::Close, Verdict::Read));
    }

    #[test]
    fn one_alone_is_never_held_up() {
        let node = Gathering::new(100, Invitations::new(50));
        let mut only = node.part();
        only.set(250);
        assert_eq!(only.verdict(false), Verdict::Read);
    }
}
