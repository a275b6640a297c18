//! The way to an opened volume: open under one epoch, or shut; and when all have come out again who went in before it was shut.

use glint_cluster_core::ownership::Epoch;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;

/// No epoch: versions begin at 1.
const SHUT: u64 = 0;

/// Passed by every command of the owner: two additions and a comparison.
#[derive(Debug, Default)]
pub struct Gate {
    epoch: AtomicU64,
    inside: AtomicUsize,
    left: Notify,
}

impl Gate {
    /// Lets commands in, under this epoch.
    pub fn open(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::SeqCst);
    }

    /// Lets nobody in any more. Who is inside stays.
    pub fn shut(&self) {
        self.epoch.store(SHUT, Ordering::SeqCst);
    }

    /// The epoch that it is open under.
    pub fn epoch(&self) -> Option<Epoch> {
        Some(self.epoch.load(Ordering::SeqCst)).filter(|epoch| *epoch != SHUT).map(Epoch)
    }

    /// Goes in, if it is open.
    pub fn enter(&self) -> Option<Pass<'_>> {
        // First in, then the look: who shuts it and then sees nobody inside has missed nobody.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let pass = Pass { gate: self, epoch: Epoch(self.epoch.load(Ordering::SeqCst)) };
        (pass.epoch.0 != SHUT).then_some(pass)
    }

    /// Ready when nobody is inside. Somebody may come in meanwhile unless it has been shut.
    pub async fn is_empty(&self) {
        loop {
            let left = self.left.notified();
            if self.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            left.await;
        }
    }
}

/// Somebody inside.
#[derive(Debug)]
pub struct Pass<'a> {
    gate: &'a Gate,
    /// The epoch under which it went in.
    pub epoch: Epoch,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.gate.inside.fetch_sub(1, Ordering::SeqCst) == 1 && self.gate.epoch().is_none() {
            self.gate.left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn nobody_goes_in_while_it_is_shut() {
        let gate = Gate::default();
        assert!(gate.enter().is_none());
        gate.open(Epoch(3));
        assert_eq!(gate.enter().map(|pass| pass.epoch), Some(Epoch(3)));
        gate.shut();
        assert!(gate.enter().is_none());
        assert!(gate.is_empty().now_or_never().is_some(), "who was turned away is not inside");
    }

    #[tokio::test]
    async fn it_is_empty_when_the_last_has_left() {
        let gate = Gate::default();
        gate.open(Epoch(3));
        let (one, other) = (gate.enter(), gate.enter());
        gate.shut();
        let mut empty = Box::pin(gate.is_empty());
        assert!(empty.as_mut().now_or_never().is_none());
        drop(one);
        assert!(empty.as_mut().now_or_never().is_none());
        drop(other);
        empty.await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_inside_when_it_is_shut_and_empty() {
        use std::sync::Arc;
        use std::sync::atomic::AtomicBool;
        let (gate, is_closed) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
        for round in 1..200 {
            is_closed.store(false, Ordering::SeqCst);
            gate.open(Epoch(round));
            let users: Vec<_> = (0..4)
                .map(|_| {
                    let (gate, is_closed) = (Arc::clone(&gate), Arc::clone(&is_closed));
                    tokio::spawn(async move {
                        for _ in 0..100 {
                            if let Some(_pass) = gate.enter() {
                                assert!(!is_closed.load(Ordering::SeqCst), "inside what is closed");
                                tokio::task::yield_now().await;
                                assert!(!is_closed.load(Ordering::SeqCst), "inside what is closed");
                            }
                        }
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            gate.shut();
            gate.is_empty().await;
            is_closed.store(true, Ordering::SeqCst);
            for user in users {
                user.await.unwrap();
            }
        }
    }
}
