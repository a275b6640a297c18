//! What goes wrong.

use super::client::ClientEvent;
use super::node::NodeEvent;
use super::world::{Event, MS, World, node_id};

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The process is killed, and starts again.
    Crash {
        node: usize,
        down: u64,
    },
    /// The process is frozen.
    Freeze {
        node: usize,
        time: u64,
    },
    /// It is frozen between a decision and what it sends.
    Stall {
        node: usize,
        time: u64,
        when: Stall,
    },
    Store {
        node: usize,
        is_cut: bool,
    },
    /// The store answers, but late.
    Slow {
        node: usize,
        is_slow: bool,
    },
    Brick {
        node: usize,
        is_cut: bool,
    },
    Internal {
        a: usize,
        b: usize,
        is_cut: bool,
    },
    Client {
        client: usize,
        node: usize,
        is_cut: bool,
    },
    /// An order to move the volume, given to whoever owns it.
    Move {
        to: usize,
    },
    /// SIGTERM, and a start after it.
    Shutdown {
        node: usize,
    },
    /// The owner record becomes unreadable.
    Damage,
}

/// In the middle of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    Anything,
    /// When it has heard that the record is set.
    Claim,
    /// When it has found out that the volume is still its own.
    Reading,
}

pub struct Faults {
    pub slow: Vec<bool>,
    pub store: Vec<bool>,
    pub brick: Vec<bool>,
    pub internal: Vec<Vec<bool>>,
    pub client: Vec<Vec<bool>>,
}

impl Faults {
    pub fn new(nodes: usize, clients: usize) -> Self {
        Self {
            slow: vec![false; nodes],
            store: vec![false; nodes],
            brick: vec![false; nodes],
            internal: vec![vec![false; nodes]; nodes],
            client: vec![vec![false; nodes]; clients],
        }
    }
}

/// Kinds of faults.
const KINDS: u64 = 11;

impl World {
    /// Faults until that time, and none after it.
    pub fn schedule(&mut self, count: u64, until: u64, with_stalls: bool) {
        let (nodes, clients) = (self.nodes.len() as u64, self.clients.len() as u64);
        // Some kinds only in each run: too many at once keep each other from doing harm.
        let mut kinds: Vec<u64> = (0..KINDS).filter(|_| self.random.chance(400)).collect();
        if kinds.is_empty() {
            kinds.extend(0..KINDS);
        }
        for _ in 0..count {
            let at = 2000 * MS + self.random.below(until - 2000 * MS);
            let time = [300 * MS, 2000 * MS, 6000 * MS, 20_000 * MS][self.random.below(4) as usize];
            let time = self.random.below(time).min(until - at);
            let node = self.random.below(nodes) as usize;
            let other = (node + 1 + self.random.below(nodes - 1) as usize) % nodes as usize;
            let (a, b) = (node.min(other), node.max(other));
            let client = self.random.below(clients) as usize;
            let kind = kinds[self.random.below(kinds.len() as u64) as usize];
            let when = [Stall::Anything, Stall::Claim, Stall::Reading][self.random.below(3) as usize];
            let cut = |is_cut| match kind {
                3 => Fault::Store { node, is_cut },
                4 => Fault::Slow { node, is_slow: is_cut },
                5 => Fault::Brick { node, is_cut },
                6 => Fault::Internal { a, b, is_cut },
                _ => Fault::Client { client, node, is_cut },
            };
            let fault = match kind {
                0 => Fault::Crash { node, down: time },
                1 if with_stalls => Fault::Stall { node, time, when },
                1 | 2 => Fault::Freeze { node, time },
                3..8 => {
                    self.push(at + time, Event::Fault(cut(false)));
                    cut(true)
                }
                8 => Fault::Move { to: node },
                9 => Fault::Shutdown { node },
                _ => Fault::Damage,
            };
            self.push(at, Event::Fault(fault));
        }
    }

    pub fn strike(&mut self, fault: Fault) {
        if self.is_traced {
            eprintln!("{:>9} {fault:?}", self.now);
        }
        match fault {
            Fault::Crash { node, down } => {
                self.crash(node);
                self.push(down + 10 * MS, Event::Start(node));
            }
            Fault::Freeze { node, time } => {
                self.nodes[node].frozen = self.nodes[node].frozen.max(self.now + time)
            }
            Fault::Stall { node, time, when } => self.nodes[node].stall = Some((time, when)),
            Fault::Slow { node, is_slow } => self.faults.slow[node] = is_slow,
            Fault::Store { node, is_cut } => self.faults.store[node] = is_cut,
            Fault::Brick { node, is_cut } => self.faults.brick[node] = is_cut,
            Fault::Internal { a, b, is_cut } => {
                self.faults.internal[a][b] = is_cut;
                if is_cut {
                    self.disconnect(a, b, 1500 * MS);
                }
            }
            Fault::Client { client, node, is_cut } => self.faults.client[client][node] = is_cut,
            Fault::Move { to } => {
                for at in 0..self.nodes.len() {
                    self.tell(at, NodeEvent::Move(node_id(to)));
                }
            }
            Fault::Shutdown { node } => self.tell(node, NodeEvent::Shutdown),
            Fault::Damage => self.store.damage(),
        }
    }

    fn tell(&mut self, at: usize, event: NodeEvent) {
        if let Some(boot) = self.nodes[at].running {
            self.push(0, Event::Node(at, boot, event));
        }
    }

    pub fn crash(&mut self, at: usize) {
        let Some(boot) = self.nodes[at].running else { return };
        for other in 0..self.nodes.len() {
            if other != at {
                self.disconnect(at, other, 50 * MS);
            }
        }
        self.nodes[at].running = None;
        self.nodes[at].node = None;
        let delay = self.random.below(2000 * MS);
        self.push(delay, Event::Gone(at, boot));
        // Their sessions end with it.
        for client in 0..self.clients.len() {
            let (delay, session) = (self.delay(), self.clients[client].session_at(at));
            if let Some(session) = session {
                self.push(delay, Event::Client(client, ClientEvent::Dropped { session }));
            }
        }
    }
}
