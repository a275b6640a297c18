//! An initiator with a path through each node: it gives up on one that does not answer, waits, and goes through another.

use super::node::NodeEvent;
use super::world::{Event, MS, World};
use super::{BLOCKS, Command, Outcome};
use crate::membership::Term;

/// A command that has no answer for so long has failed, and its session with it.
pub const PATH_TIMEOUT: u64 = 10_500 * MS;
/// From the end of a session to the next attempt.
pub const REPLACEMENT: u64 = 1000 * MS;

#[derive(Clone, Copy, Debug)]
pub enum ClientEvent {
    Go,
    LoggedIn { session: u64, term: Term },
    Answer { session: u64, tag: u64, outcome: Outcome },
    Dropped { session: u64 },
    Timeout { session: u64, tag: u64 },
}

#[derive(Default)]
pub struct Client {
    path: usize,
    session: u64,
    term: Option<Term>,
    tag: u64,
    open: Option<(Command, u64)>,
    /// What each block held when it was read last.
    read: [u64; BLOCKS],
    next_value: u64,
    /// Commands that had to be repeated elsewhere.
    pub last_good: u64,
    pub patience: Option<u64>,
}

impl Client {
    /// Its session at that node.
    pub fn session_at(&self, node: usize) -> Option<u64> {
        (self.path == node && self.session != 0).then_some(self.session)
    }
}

impl World {
    fn send_to_node(&mut self, client: usize, event: NodeEvent) {
        let path = self.clients[client].path;
        if self.faults.client[client][path] {
            return;
        }
        let Some(boot) = self.nodes[path].boot() else { return };
        let delay = self.delay();
        self.push(delay, Event::Node(path, boot, event));
    }

    pub fn send_client(&mut self, at: usize, client: usize, event: ClientEvent) {
        if !self.faults.client[client][at] {
            let delay = self.delay_from(at);
            self.push(delay, Event::Client(client, event));
        }
    }

    pub fn client(&mut self, at: usize, event: ClientEvent) {
        match event {
            ClientEvent::Go if self.clients[at].open.is_some() => {}
            ClientEvent::Go => match self.clients[at].term {
                None => {
                    let session = self.next();
                    self.clients[at].session = session;
                    // Where nobody is at home that is known at once; else after a while.
                    self.push(1000 * MS, Event::Client(at, ClientEvent::Timeout { session, tag: 0 }));
                    self.send_to_node(at, NodeEvent::Login { client: at, session });
                }
                Some(_) => self.issue(at),
            },
            ClientEvent::LoggedIn { session, term } if self.is_of(at, session) => {
                self.clients[at].term = Some(term);
                self.issue(at);
            }
            ClientEvent::Answer { session, tag, outcome }
                if self.is_of(at, session) && self.clients[at].tag == tag =>
            {
                let Some((command, issued)) = self.clients[at].open.take() else { return };
                self.answered(at, command, issued, outcome);
                let pause = match outcome {
                    Outcome::Transitioning => 200 * MS,
                    Outcome::Unavailable => {
                        self.next_path(at);
                        100 * MS
                    }
                    // At times it takes another path for no reason.
                    _ if self.random.chance(30)
                        || (outcome == Outcome::InDoubt && self.random.chance(500)) =>
                    {
                        self.next_path(at);
                        self.random.below(10 * MS)
                    }
                    _ => self.random.below(40 * MS),
                };
                self.push(pause, Event::Client(at, ClientEvent::Go));
            }
            ClientEvent::Dropped { session } if self.is_of(at, session) => self.give_up(at),
            ClientEvent::Timeout { session, tag: 0 }
                if self.is_of(at, session) && self.clients[at].term.is_none() =>
            {
                self.give_up(at);
            }
            ClientEvent::Timeout { session, tag }
                if self.is_of(at, session)
                    && self.clients[at].tag == tag
                    && self.clients[at].open.is_some() =>
            {
                self.send_to_node(at, NodeEvent::Close { client: at, session });
                self.give_up(at);
            }
            _ => {}
        }
    }

    fn is_of(&self, at: usize, session: u64) -> bool {
        self.clients[at].session == session
    }

    fn next_path(&mut self, at: usize) {
        let session = self.clients[at].session;
        self.send_to_node(at, NodeEvent::Close { client: at, session });
        let count = self.nodes.len();
        let client = &mut self.clients[at];
        client.path = (client.path + 1) % count;
        client.term = None;
        client.session = 0;
    }

    fn give_up(&mut self, at: usize) {
        let pause = if self.clients[at].patience.is_some() { 0 } else { REPLACEMENT };
        if let Some((command, _)) = self.clients[at].open.take()
            && let Some(value) = written(command)
        {
            // Whoever has issued it hears of it no sooner than another path is tried (replacement_timeout).
            self.checker.ended(self.now + pause, value);
        }
        self.next_path(at);
        self.push(pause, Event::Client(at, ClientEvent::Go));
    }

    fn issue(&mut self, at: usize) {
        let block = self.random.below(BLOCKS as u64) as usize;
        let kind = self.random.below(10);
        let tag = self.next();
        let client = &mut self.clients[at];
        client.next_value += 1;
        let value = (at as u64 + 1) << 32 | client.next_value;
        let command = match kind {
            0 => Command::Probe,
            1..4 => Command::Read { block },
            4..7 => Command::CompareAndWrite { block, expected: client.read[block], value },
            _ => Command::Write { block, value },
        };
        client.open = Some((command, self.now));
        client.tag = tag;
        let (session, timeout) = (client.session, client.patience.unwrap_or(PATH_TIMEOUT));
        let Some(term) = client.term else { return };
        if let Some(value) = written(command) {
            self.checker.issued(self.now, block, value);
        }
        self.send_to_node(at, NodeEvent::Command { client: at, session, term, tag, command });
        self.push(timeout, Event::Client(at, ClientEvent::Timeout { session, tag }));
    }

    fn answered(&mut self, at: usize, command: Command, issued: u64, outcome: Outcome) {
        let now = self.now;
        if let (
            Command::Read { block } | Command::CompareAndWrite { block, .. },
            Outcome::Good(value) | Outcome::Miscompare(value),
        ) = (command, outcome)
        {
            self.clients[at].read[block] = value;
        }
        match (command, outcome) {
            (Command::Read { block }, Outcome::Good(value)) => self.checker.read(issued, now, block, value),
            (Command::CompareAndWrite { block, value, .. }, Outcome::Miscompare(found)) => {
                self.checker.refused(now, value);
                self.checker.read(issued, now, block, found);
            }
            (Command::Write { value, .. } | Command::CompareAndWrite { value, .. }, Outcome::Good(_)) => {
                self.checker.good(now, value);
                self.clients[at].last_good = now;
            }
            (Command::Write { value, .. } | Command::CompareAndWrite { value, .. }, Outcome::InDoubt) => {
                self.checker.in_doubt += 1;
                self.checker.ended(now, value);
            }
            (Command::Write { value, .. } | Command::CompareAndWrite { value, .. }, _) => {
                self.checker.refused(now, value)
            }
            _ => {}
        }
    }
}

fn written(command: Command) -> Option<u64> {
    match command {
        Command::Write { value, .. } | Command::CompareAndWrite { value, .. } => Some(value),
        Command::Probe | Command::Read { .. } => None,
    }
}
