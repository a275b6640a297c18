//! One machine, driven by hand.

use super::*;
use crate::membership::{BootId, Incarnation, Lease, NodeId, Peers, Timing};
use bytes::Bytes;
use std::time::{Duration, Instant};

pub const TIMING: Timing = Timing {
    beat: Duration::from_secs(1),
    fence: Duration::from_secs(4),
    dead: Duration::from_secs(6),
    drift: 10,
};

pub fn node(name: &str) -> Incarnation {
    Incarnation { node: NodeId::new(name).unwrap(), boot: BootId(1) }
}

pub fn owned(epoch: u64, name: &str) -> Seen {
    Seen { epoch: Epoch(epoch), record: OwnerRecord::of(Holder::Owned(node(name))) }
}

pub fn released(epoch: u64, to: Option<&str>) -> Seen {
    Seen { epoch: Epoch(epoch), record: OwnerRecord::of(Holder::Released(to.and_then(NodeId::new))) }
}

/// Node `me`, with `other` and `third` beside it.
pub struct Bench {
    pub now: Instant,
    pub lease: Lease,
    pub peers: Peers,
    pub machine: Ownership,
    beats: u32,
}

impl Bench {
    pub fn new(fences: bool) -> Self {
        let now = Instant::now();
        let settings = Settings {
            me: node("me"),
            fences,
            preferred: None,
            poll: Duration::from_secs(1),
            retry: Duration::from_millis(100),
            grace: Duration::from_secs(2),
            fail_back: Duration::from_secs(60),
        };
        let mut bench = Self {
            now,
            lease: Lease::new(TIMING, now),
            peers: Peers::new(TIMING),
            machine: Ownership::new(settings, now),
            beats: 0,
        };
        for other in ["other", "third"] {
            bench.peers.watch(node(other), now);
            bench.peers.get_mut(&node(other)).unwrap().cut = None;
        }
        bench.beat(&["other", "third"]);
        bench.beat(&["other", "third"]);
        bench
    }

    /// This node and these write a heartbeat, and all are read.
    pub fn beat(&mut self, alive: &[&str]) {
        if self.lease.beat(self.now).is_some() {
            self.lease.written(self.now, true);
        }
        self.beats += 1;
        for other in ["other", "third"] {
            let watch = &mut self.peers.get_mut(&node(other)).unwrap().watch;
            let beat = if alive.contains(&other) {
                Some(Bytes::copy_from_slice(&self.beats.to_be_bytes()))
            } else {
                watch.seen().cloned()
            };
            watch.read(self.now, self.now, beat);
        }
    }

    /// Time goes on, in steps of a heartbeat; all that the machine wants on the way is answered by nothing new.
    pub fn pass(&mut self, seconds: u64, alive: &[&str]) -> Vec<Action> {
        let mut all = Vec::new();
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.beat(alive);
            for action in self.input(Input::Tick) {
                match action {
                    Action::Read(ticket) => {
                        let seen = self.machine.seen().cloned();
                        all.extend(self.input(Input::Read(ticket, seen)));
                    }
                    other => all.push(other),
                }
            }
        }
        all
    }

    pub fn input(&mut self, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        let view = View { lease: &self.lease, peers: &self.peers };
        self.machine.handle(self.now, &view, input, &mut actions);
        actions
    }

    pub fn route(&self, class: Class) -> Route {
        self.machine.route(self.now, &View { lease: &self.lease, peers: &self.peers }, class)
    }

    /// The record is read again, and is this.
    pub fn sees(&mut self, seen: Seen) -> Vec<Action> {
        self.now += Duration::from_secs(1);
        self.beat(&["other", "third"]);
        let mut actions = self.input(Input::Look);
        let ticket = reading(&actions).expect("the record is read");
        actions.retain(|action| *action != Action::Read(ticket));
        actions.extend(self.input(Input::Read(ticket, Some(seen))));
        actions
    }

    /// Brings it to own the volume: with epoch 1.
    pub fn own(&mut self) {
        self.sees(Seen { epoch: Epoch(0), record: OwnerRecord::of(Holder::Nobody) });
        let actions = self.input(Input::Wanted);
        let Some(Action::Set(ticket, Epoch(0), _)) = actions.first() else { panic!("{actions:?}") };
        let actions = self.input(Input::Set(*ticket, SetOutcome::Won));
        self.fence(&actions, owned(1, "me"));
        assert_eq!(self.machine.active(), Some(Epoch(1)));
    }

    /// From the order to take the lock to the last step, the record being this.
    pub fn fence(&mut self, actions: &[Action], seen: Seen) -> Vec<Action> {
        let fence = actions.iter().find_map(|action| match action {
            Action::Fence(ticket, _) => Some(*ticket),
            _ => None,
        });
        let actions = self.input(Input::Fenced(fence.expect("the lock is taken"), true));
        let ticket = reading(&actions).expect("the record is read again");
        let mut actions = self.input(Input::Read(ticket, Some(seen)));
        if let Some(Action::Load(ticket, _)) = actions.first().cloned() {
            actions.extend(self.input(Input::Loaded(ticket, true)));
        }
        actions
    }
}

pub fn reading(actions: &[Action]) -> Option<Ticket> {
    actions.iter().rev().find_map(|action| match action {
        Action::Read(ticket) => Some(*ticket),
        _ => None,
    })
}

pub fn setting(actions: &[Action]) -> Option<(Ticket, Epoch, Holder)> {
    actions.iter().find_map(|action| match action {
        Action::Set(ticket, after, record) => Some((*ticket, *after, record.holder.clone())),
        _ => None,
    })
}

pub fn stops(actions: &[Action], epoch: u64) -> bool {
    actions.iter().any(|action| matches!(action, Action::Stop(_, stopped) if *stopped == Epoch(epoch)))
}
