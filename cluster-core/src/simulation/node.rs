//! One process: the state machines, and what a real node would have around them.

use super::client::ClientEvent;
use super::execution::{Task, Who};
use super::world::{Ask, Event, MS, World, incarnation};
use super::{BLOCKS, Command, Outcome, Told};
use crate::forwarding::{CommandId, Executor, Freshness, Order, Origin, Patience, Reply, Request, Stamp};
use crate::membership::{Beat, Incarnation, Lease, NodeId, Peers, Term, Timing};
use crate::ownership::{
    Action, Class, Epoch, Holder, Input, Ownership, Reason, Seen, SetOutcome, Settings, Ticket, View,
};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

pub const TIMING: Timing = Timing {
    beat: Duration::from_millis(500),
    fence: Duration::from_millis(2500),
    dead: Duration::from_millis(4000),
    drift: 10,
};
const FRESHNESS: Freshness = Freshness { age: Duration::from_millis(1000), drift: 10 };
const PATIENCE: Patience = Patience { hold: Duration::from_millis(6000), freshness: FRESHNESS };
/// Every command has an answer by then, or its session has gone.
const ANSWERED: Duration = Duration::from_millis(10_000);
/// A connection on which nothing has come for so long is given up.
const SILENCE: Duration = Duration::from_millis(1500);

#[derive(Clone, Debug)]
pub enum Message {
    Time(Stamp),
    Request(Request, Command),
    Reply(u64, Epoch, Reply<Outcome>),
    Look,
}

#[derive(Clone, Debug)]
pub enum NodeEvent {
    Tick,
    Read(Ticket, Option<Seen>),
    Set(Ticket, SetOutcome),
    Fenced(Ticket, bool),
    Loaded(Ticket, bool),
    BeatWritten(bool),
    BeatRead(Incarnation, Option<(Instant, Option<Bytes>)>),
    IoDone(u64, Told),
    LinkUp(Incarnation, u64),
    LinkCut(usize, u64),
    Link(usize, u64, Message),
    Login { client: usize, session: u64 },
    Command { client: usize, session: u64, term: Term, tag: u64, command: Command },
    Close { client: usize, session: u64 },
    Move(NodeId),
    Shutdown,
}

#[derive(Debug)]
pub struct Incoming {
    pub client: usize,
    pub session: u64,
    pub tag: u64,
    pub command: Command,
    pub arrived: Instant,
}

pub struct Linked {
    pub peer: Incarnation,
    pub count: u64,
    pub heard: Instant,
}

pub struct Node {
    pub at: usize,
    pub boot: u64,
    pub lease: Lease,
    pub peers: Peers,
    pub machine: Ownership,
    pub origin: Origin,
    pub executor: Executor<Outcome>,
    term: Option<Term>,
    sessions: BTreeMap<usize, u64>,
    pub commands: BTreeMap<CommandId, Incoming>,
    last_command: u64,
    pub links: BTreeMap<usize, Linked>,
    pub tasks: BTreeMap<u64, Task>,
    pub blocks: [VecDeque<u64>; BLOCKS],
    pub serving: Option<Epoch>,
    pub drain: Option<Ticket>,
    pub ending: Vec<(Ticket, Epoch)>,
    beats_read: BTreeSet<Incarnation>,
    ends: Option<Instant>,
}

impl World {
    pub fn start(&mut self, at: usize) {
        let boot = self.next();
        let now = self.local(at);
        let me = incarnation(at, boot);
        let settings = Settings {
            me,
            fences: self.fences,
            preferred: NodeId::new("n0"),
            poll: Duration::from_millis(500),
            retry: Duration::from_millis(100),
            grace: Duration::from_millis(1000),
            fail_back: Duration::from_millis(5000),
        };
        let node = Node {
            at,
            boot,
            lease: Lease::new(TIMING, now),
            peers: Peers::new(TIMING),
            machine: Ownership::new(settings, now),
            origin: Origin::new(PATIENCE),
            executor: Executor::new(FRESHNESS),
            term: None,
            sessions: BTreeMap::new(),
            commands: BTreeMap::new(),
            last_command: 0,
            links: BTreeMap::new(),
            tasks: BTreeMap::new(),
            blocks: Default::default(),
            serving: None,
            drain: None,
            ending: Vec::new(),
            beats_read: BTreeSet::new(),
            ends: None,
        };
        let slot = &mut self.nodes[at];
        (slot.node, slot.running) = (Some(Box::new(node)), Some(boot));
        (slot.frozen, slot.leaves, slot.stall) = (0, 0, None);
        self.push(0, Event::Node(at, boot, NodeEvent::Tick));
    }

    pub fn handle(&mut self, node: &mut Node, event: NodeEvent) {
        let now = self.local(node.at);
        self.watch_term(node, now);
        match event {
            NodeEvent::Tick => self.tick(node, now),
            NodeEvent::Read(ticket, seen) => self.drive(node, Input::Read(ticket, seen)),
            NodeEvent::Set(ticket, outcome) => self.drive(node, Input::Set(ticket, outcome)),
            NodeEvent::Fenced(ticket, is_done) => self.drive(node, Input::Fenced(ticket, is_done)),
            NodeEvent::Loaded(ticket, is_done) => self.drive(node, Input::Loaded(ticket, is_done)),
            NodeEvent::BeatWritten(is_done) => {
                node.lease.written(now, is_done);
                self.watch_term(node, now);
            }
            NodeEvent::BeatRead(whose, read) => {
                node.beats_read.remove(&whose);
                if let (Some((began, beat)), Some(peer)) = (read, node.peers.get_mut(&whose)) {
                    peer.watch.read(began, now, beat);
                }
            }
            NodeEvent::IoDone(task, told) => self.io_done(node, task, told),
            NodeEvent::LinkUp(peer, count) => self.link_up(node, now, peer, count),
            NodeEvent::LinkCut(other, count) => self.link_cut(node, now, other, count),
            NodeEvent::Link(from, count, message) => {
                let link = node.links.get_mut(&from).filter(|link| link.count == count);
                if let Some(link) = link {
                    link.heard = now;
                    let peer = link.peer.clone();
                    self.message(node, now, &peer, message);
                }
            }
            NodeEvent::Login { client, session } => {
                if let Some(term) = node.lease.term(now) {
                    self.close(node, client);
                    node.sessions.insert(client, session);
                    self.send_client(node.at, client, ClientEvent::LoggedIn { session, term });
                }
            }
            NodeEvent::Command { client, session, term, tag, command } => {
                if node.sessions.get(&client) == Some(&session) && node.lease.term(now) == Some(term) {
                    node.last_command += 1;
                    let id = CommandId(node.last_command);
                    node.commands.insert(id, Incoming { client, session, tag, command, arrived: now });
                    node.origin.arrive(now, id, class(command), matches!(command, Command::Read { .. }));
                } else {
                    self.send_client(node.at, client, ClientEvent::Dropped { session });
                }
            }
            NodeEvent::Close { client, session } => {
                if node.sessions.get(&client) == Some(&session) {
                    self.close(node, client);
                }
            }
            NodeEvent::Move(to) => {
                // As the order is carried to the owner, if there is one; else to where it is to be.
                let seen = node.machine.seen().map(|seen| seen.record.holder.clone());
                let is_owned =
                    matches!(seen, Some(Holder::Owned(owner)) if node.peers.alive(&owner.node).is_some());
                if node.machine.active().is_some() || !is_owned {
                    self.drive(node, Input::Move(to));
                }
            }
            NodeEvent::Shutdown => {
                node.ends = Some(now + Duration::from_secs(5));
                self.drive(node, Input::Shutdown);
            }
        }
        self.pump(node);
        if node.ends.is_some_and(|ends| now >= ends || node.machine.has_left()) {
            self.crash(node.at);
            self.push(500 * MS, Event::Start(node.at));
        }
    }

    /// What a lapse ends: everything that came in before it.
    fn watch_term(&mut self, node: &mut Node, now: Instant) {
        let term = node.lease.term(now);
        if term == node.term {
            return;
        }
        node.term = term;
        for client in node.sessions.keys().copied().collect::<Vec<_>>() {
            let session = node.sessions[&client];
            self.close(node, client);
            self.send_client(node.at, client, ClientEvent::Dropped { session });
        }
        for other in node.links.keys().copied().collect::<Vec<_>>() {
            let count = node.links[&other].count;
            self.link_cut(node, now, other, count);
        }
    }

    fn close(&mut self, node: &mut Node, client: usize) {
        node.sessions.remove(&client);
        let gone: Vec<_> =
            node.commands.iter().filter(|(_, command)| command.client == client).map(|(id, _)| *id).collect();
        for id in gone {
            node.origin.abandon(id);
            node.commands.remove(&id);
        }
    }

    fn tick(&mut self, node: &mut Node, now: Instant) {
        if let Some(count) = node.lease.beat(now) {
            let beat = Beat { boot: crate::membership::BootId(node.boot), count, unreachable: Vec::new() };
            self.ask(node.at, node.boot, Ask::WriteBeat(beat.encode().into()));
        }
        let mut known: Vec<_> = (0..self.nodes.len())
            .filter(|at| *at != node.at)
            .filter_map(|at| Some(incarnation(at, self.nodes[at].running?)))
            .collect();
        if let Some(Seen { record, .. }) = node.machine.seen()
            && let Holder::Owned(owner) = &record.holder
            && *owner != incarnation(node.at, node.boot)
        {
            known.push(owner.clone());
        }
        node.peers.retain(|peer| known.contains(peer));
        for peer in known {
            node.peers.watch(peer.clone(), now);
            if self.random.chance(250) && node.beats_read.insert(peer.clone()) {
                self.ask(node.at, node.boot, Ask::ReadBeat(peer, now));
            }
        }
        let oldest = node.commands.values().map(|command| command.arrived).min();
        if oldest.is_some_and(|oldest| now > oldest + ANSWERED) {
            self.checker.faults.push(format!(
                "{}: a command has no answer at node {}: {:?}",
                self.now, node.at, node.commands
            ));
        }
        for (other, count, heard) in
            node.links.iter().map(|(at, link)| (*at, link.count, link.heard)).collect::<Vec<_>>()
        {
            if now > heard + SILENCE {
                self.link_cut(node, now, other, count);
            } else {
                self.send(node.at, other, count, Message::Time(self.stamp(node.at)));
            }
        }
        self.drive(node, if node.origin.waits() { Input::Wanted } else { Input::Tick });
        self.push(100 * MS, Event::Node(node.at, node.boot, NodeEvent::Tick));
    }

    pub fn stamp(&self, at: usize) -> Stamp {
        Stamp((self.local(at) - self.base).as_millis() as u64)
    }

    /// Gives the machine an input, and does what it says.
    pub fn drive(&mut self, node: &mut Node, input: Input) {
        let now = self.local(node.at);
        let mut actions = Vec::new();
        let view = View { lease: &node.lease, peers: &node.peers };
        let told = self.is_traced.then(|| format!("{input:?}"));
        node.machine.handle(now, &view, input, &mut actions);
        if let Some(told) =
            told.filter(|told| !actions.is_empty() || !matches!(told.as_str(), "Tick" | "Wanted"))
        {
            eprintln!("{:>9} n{}.{} {told} -> {actions:?}", self.now, node.at, node.boot);
        }
        for action in actions {
            let (at, boot) = (node.at, node.boot);
            match action {
                Action::Read(ticket) => self.ask(at, boot, Ask::Read(ticket)),
                Action::Set(ticket, after, record) => self.ask(at, boot, Ask::Set(ticket, after, record)),
                Action::Fence(ticket, epoch) => self.ask(at, boot, Ask::Fence(ticket, epoch)),
                Action::Load(ticket, _) => self.ask(at, boot, Ask::Load(ticket)),
                Action::Serve(epoch) => {
                    node.serving = Some(epoch);
                    node.drain = None;
                    node.executor.serve(Some(epoch));
                    self.retry_refused(node, epoch);
                }
                Action::Hold(_) | Action::Changed => {}
                Action::Drain(ticket, _) => {
                    node.drain = Some(ticket);
                    self.watch_drain(node);
                }
                Action::Stop(ticket, epoch) => {
                    node.ending.push((ticket, epoch));
                    node.serving = None;
                    node.drain = None;
                    node.executor.serve(None);
                    self.stop_tasks(node, epoch);
                    self.ask(at, boot, Ask::Close(epoch));
                    self.watch_ending(node);
                }
                Action::Tell(_) => {
                    for peer in node.links.values().map(|link| link.peer.clone()).collect::<Vec<_>>() {
                        self.send_peer(node, &peer, Message::Look);
                    }
                }
            }
        }
    }

    /// Sends all commands where they go now.
    fn pump(&mut self, node: &mut Node) {
        let now = self.local(node.at);
        let mut orders = Vec::new();
        let view = View { lease: &node.lease, peers: &node.peers };
        node.origin.advance(now, |class| node.machine.route(now, &view, class), &mut orders);
        self.obey(node, orders);
    }

    pub fn obey(&mut self, node: &mut Node, orders: Vec<Order<Outcome>>) {
        for order in orders {
            if self.is_traced {
                eprintln!("{:>9} n{}.{} {order:?}", self.now, node.at, node.boot);
            }
            match order {
                Order::Execute(id, epoch) => {
                    if let Some(command) = node.commands.get(&id).map(|command| command.command) {
                        self.begin(node, Task::new(Who::Here(id), command, epoch));
                    }
                }
                Order::Send(id, owner, request) => {
                    if let Some(command) = node.commands.get(&id).map(|command| command.command) {
                        self.send_peer(node, &owner, Message::Request(request, command));
                    }
                }
                Order::Local(id) => self.reply(node, id, Outcome::Good(0)),
                Order::Answer(id, outcome) => self.reply(node, id, outcome),
                Order::NotReady(id, Reason::Unavailable) => self.reply(node, id, Outcome::Unavailable),
                Order::NotReady(id, Reason::Transitioning) => self.reply(node, id, Outcome::Transitioning),
                Order::InDoubt(id) => self.reply(node, id, Outcome::InDoubt),
            }
        }
    }

    pub fn answer_to(&mut self, node: &mut Node, who: Who, epoch: Epoch, reply: Reply<Outcome>) {
        match (who, reply) {
            (Who::Here(id), Reply::Done(outcome)) => self.reply(node, id, outcome),
            (Who::Here(id), Reply::Refused(_)) => {
                // As a new one: an owner elsewhere may take its number for one that was answered.
                if let Some(command) = node.commands.remove(&id) {
                    node.last_command += 1;
                    let id = CommandId(node.last_command);
                    node.origin.arrive(command.arrived, id, class(command.command), false);
                    node.commands.insert(id, command);
                }
            }
            (Who::Peer(peer, sequence), reply) => {
                match reply {
                    Reply::Done(outcome) => node.executor.done(epoch, &peer, sequence, outcome),
                    Reply::Refused(_) => node.executor.withdrawn(epoch, &peer, sequence),
                }
                self.send_peer(node, &peer, Message::Reply(sequence, epoch, reply));
            }
        }
    }

    fn reply(&mut self, node: &mut Node, id: CommandId, outcome: Outcome) {
        let Some(command) = node.commands.remove(&id) else { return };
        let Incoming { client, session, tag, .. } = command;
        self.send_client(node.at, client, ClientEvent::Answer { session, tag, outcome });
    }
}

impl Node {
    pub fn view(&self) -> View<'_> {
        View { lease: &self.lease, peers: &self.peers }
    }
}

fn class(command: Command) -> Class {
    match command {
        Command::Probe => Class::Probe,
        _ => Class::Medium,
    }
}
