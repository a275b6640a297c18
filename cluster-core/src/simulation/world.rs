//! The events, and the network that carries them.

use super::brick::Brick;
use super::checker::Checker;
use super::client::{Client, ClientEvent};
use super::faults::{Fault, Faults, Stall};
use super::node::{Message, Node, NodeEvent};
use super::store::Store;
use super::{Handle, Io, Told};
use crate::membership::{BootId, Incarnation, NodeId};
use crate::ownership::{Epoch, OwnerRecord, SetOutcome, Ticket};
use crate::store::fake::Random;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time is in microseconds.
pub const MS: u64 = 1000;
/// A request that is cut off is told as unanswered then.
const NO_ANSWER: u64 = 1500 * MS;
/// What was cut off may yet be done until then.
const LATE: u64 = 1000 * MS;
/// How long a slow store takes at most, each way.
const SLOW: u64 = 2500 * MS;

#[derive(Clone, Debug)]
pub enum Ask {
    Read(Ticket),
    Set(Ticket, Epoch, OwnerRecord),
    /// Whatever else is read or written there.
    Load(Ticket),
    WriteBeat(Bytes),
    ReadBeat(Incarnation, Instant),
    Fence(Ticket, Epoch),
    Io(u64, Epoch, Io),
    Close(Epoch),
}

impl Ask {
    fn is_for_brick(&self) -> bool {
        matches!(self, Self::Fence(..) | Self::Io(..) | Self::Close(_))
    }

    /// What is heard when nothing is heard.
    fn unanswered(&self) -> Option<NodeEvent> {
        Some(match self {
            Self::Read(ticket) => NodeEvent::Read(*ticket, None),
            Self::Set(ticket, ..) => NodeEvent::Set(*ticket, SetOutcome::Unknown),
            Self::Load(ticket) => NodeEvent::Loaded(*ticket, false),
            Self::WriteBeat(_) => NodeEvent::BeatWritten(false),
            Self::ReadBeat(whose, _) => NodeEvent::BeatRead(whose.clone(), None),
            Self::Fence(ticket, _) => NodeEvent::Fenced(*ticket, false),
            Self::Io(task, ..) => NodeEvent::IoDone(*task, Told::Nothing),
            Self::Close(_) => return None,
        })
    }
}

pub enum Event {
    Node(usize, u64, NodeEvent),
    Client(usize, ClientEvent),
    Ask(usize, u64, Ask, bool),
    Fault(Fault),
    Start(usize),
    /// The bricks notice that a process has gone.
    Gone(usize, u64),
    Connect,
}

/// A node's place: the process in it comes and goes.
pub struct Slot {
    pub node: Option<Box<Node>>,
    /// The process that runs, also while it is at work.
    pub running: Option<u64>,
    /// Parts of a thousand that its clock is too fast.
    pub drift: i64,
    /// It is frozen until then.
    pub frozen: u64,
    /// What it has sent leaves no earlier.
    pub leaves: u64,
    /// It is to be frozen for so long in the middle of the next thing it does.
    pub stall: Option<(u64, Stall)>,
}

impl Slot {
    pub fn boot(&self) -> Option<u64> {
        self.running
    }
}

#[derive(Clone, Copy, Default)]
pub struct Link {
    pub count: u64,
    pub is_up: bool,
}

pub struct World {
    pub now: u64,
    pub base: Instant,
    pub random: Random,
    events: BTreeMap<(u64, u64), Event>,
    counter: u64,
    pub nodes: Vec<Slot>,
    pub clients: Vec<Client>,
    pub store: Store,
    pub brick: Brick,
    pub links: BTreeMap<(usize, usize), Link>,
    pub faults: Faults,
    pub checker: Checker,
    /// What the nodes believe.
    pub fences: bool,
    /// GLINT_CLUSTER_TRACE is set: what happens is written to standard error.
    pub is_traced: bool,
}

pub fn node_id(at: usize) -> NodeId {
    NodeId::new(format!("n{at}")).unwrap()
}

pub fn incarnation(at: usize, boot: u64) -> Incarnation {
    Incarnation { node: node_id(at), boot: BootId(boot) }
}

pub fn index(incarnation: &Incarnation) -> usize {
    incarnation.node.as_str()[1..].parse().unwrap()
}

impl World {
    pub fn new(seed: u64, nodes: usize, clients: usize, fences: bool, enforces: bool) -> Self {
        let mut world = Self {
            now: 0,
            base: Instant::now(),
            random: Random(seed),
            events: BTreeMap::new(),
            counter: 0,
            nodes: Vec::new(),
            clients: (0..clients).map(|_| Client::default()).collect(),
            store: Store::new(),
            brick: Brick::new(enforces),
            links: BTreeMap::new(),
            faults: Faults::new(nodes, clients),
            checker: Checker::default(),
            fences,
            is_traced: std::env::var_os("GLINT_CLUSTER_TRACE").is_some(),
        };
        for at in 0..nodes {
            let drift = world.random.below(17) as i64 - 8;
            world.nodes.push(Slot { node: None, running: None, drift, frozen: 0, leaves: 0, stall: None });
            world.push(world.now, Event::Start(at));
        }
        for at in 0..clients {
            world.push(100 * MS, Event::Client(at, ClientEvent::Go));
        }
        world.push(50 * MS, Event::Connect);
        world
    }

    pub fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub fn push(&mut self, delay: u64, event: Event) {
        let key = (self.now + delay, self.next());
        self.events.insert(key, event);
    }

    /// Of a message: short as a rule.
    pub fn delay(&mut self) -> u64 {
        let most = if self.random.chance(20) { 200 * MS } else { 5 * MS };
        200 + self.random.below(most)
    }

    /// Of a message that a node sends.
    pub fn delay_from(&mut self, at: usize) -> u64 {
        self.delay() + self.nodes[at].leaves.saturating_sub(self.now)
    }

    /// What a node's clock shows.
    pub fn local(&self, at: usize) -> Instant {
        let shown = i128::from(self.now) * i128::from(1000 + self.nodes[at].drift) / 1000;
        self.base + Duration::from_micros(shown as u64)
    }

    pub fn run(&mut self, until: u64) {
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > until || !self.checker.faults.is_empty() {
                return;
            }
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            match event {
                Event::Node(at, boot, event) => self.node_event(at, boot, event),
                Event::Client(at, event) => self.client(at, event),
                Event::Ask(at, boot, ask, is_waited_for) => self.answer(at, boot, ask, is_waited_for),
                Event::Fault(fault) => self.strike(fault),
                Event::Start(at) if self.nodes[at].running.is_none() => self.start(at),
                Event::Start(_) => {}
                Event::Gone(at, boot) => self.brick.close(|handle| (handle.node, handle.boot) == (at, boot)),
                Event::Connect => self.connect(),
            }
        }
    }

    fn node_event(&mut self, at: usize, boot: u64, event: NodeEvent) {
        if self.nodes[at].running != Some(boot) {
            return;
        }
        let frozen = self.nodes[at].frozen;
        if frozen > self.now {
            // What has come in from different sides is not found in the order in which it came.
            let delay = frozen - self.now + self.random.below(50 * MS);
            return self.push(delay, Event::Node(at, boot, event));
        }
        let stall = self.nodes[at].stall.take_if(|(_, when)| match when {
            Stall::Anything => true,
            Stall::Claim => matches!(event, NodeEvent::Set(_, SetOutcome::Won)),
            Stall::Reading => matches!(event, NodeEvent::Read(_, Some(_))),
        });
        let stall = stall.map(|(time, _)| time);
        self.nodes[at].leaves = self.now + stall.unwrap_or_default();
        let Some(mut node) = self.nodes[at].node.take() else { return };
        self.handle(&mut node, event);
        if self.nodes[at].running == Some(boot) {
            self.nodes[at].node = Some(node);
            self.nodes[at].frozen = self.nodes[at].leaves;
        }
    }

    /// A node asks the store or the bricks.
    pub fn ask(&mut self, at: usize, boot: u64, ask: Ask) {
        let mut delay = self.delay_from(at);
        if self.faults.slow[at] && !ask.is_for_brick() {
            delay += self.random.below(SLOW);
        }
        let leaves = delay.saturating_sub(200 * MS);
        if !self.is_cut(at, &ask) {
            return self.push(delay, Event::Ask(at, boot, ask, true));
        }
        if let Some(event) = ask.unanswered() {
            self.push(leaves + NO_ANSWER, Event::Node(at, boot, event));
        }
        if self.random.chance(500) {
            let late = leaves + self.random.below(LATE);
            self.push(late, Event::Ask(at, boot, ask, false));
        }
    }

    fn is_cut(&self, at: usize, ask: &Ask) -> bool {
        if ask.is_for_brick() { self.faults.brick[at] } else { self.faults.store[at] }
    }

    /// It has arrived; `is_waited_for` unless whoever asked hears anyway that there is no answer.
    fn answer(&mut self, at: usize, boot: u64, ask: Ask, is_waited_for: bool) {
        // The answer can get lost on a path that was cut in between.
        let is_lost = self.is_cut(at, &ask);
        let (unanswered, is_for_store) = (ask.unanswered(), !ask.is_for_brick());
        let handle = |epoch| Handle { node: at, boot, epoch };
        let event = match ask {
            Ask::Read(ticket) => Some(NodeEvent::Read(ticket, Some(self.store.record.clone()))),
            Ask::Set(ticket, after, record) => {
                let won = self.store.set(after, record);
                Some(NodeEvent::Set(ticket, if won { SetOutcome::Won } else { SetOutcome::Lost }))
            }
            Ask::Load(ticket) => Some(NodeEvent::Loaded(ticket, true)),
            Ask::WriteBeat(bytes) => {
                self.store.beats.insert(incarnation(at, boot), bytes);
                Some(NodeEvent::BeatWritten(true))
            }
            Ask::ReadBeat(whose, began) => {
                let beat = self.store.beats.get(&whose).cloned();
                Some(NodeEvent::BeatRead(whose, Some((began, beat))))
            }
            Ask::Fence(ticket, epoch) => {
                // One whose process has gone has no connection any more.
                if self.nodes[at].running == Some(boot) {
                    self.brick.lock = Some(handle(epoch));
                }
                Some(NodeEvent::Fenced(ticket, true))
            }
            Ask::Io(task, epoch, io) => {
                Some(NodeEvent::IoDone(task, self.brick.io(self.now, handle(epoch), io, &mut self.checker)))
            }
            Ask::Close(epoch) => {
                self.brick.close(|other| *other == handle(epoch));
                None
            }
        };
        let event = if is_lost { unanswered } else { event };
        let mut delay = if is_lost { NO_ANSWER } else { self.delay() };
        if self.faults.slow[at] && is_for_store {
            delay += self.random.below(SLOW);
        }
        if let Some(event) = event.filter(|_| is_waited_for) {
            self.push(delay, Event::Node(at, boot, event));
        }
    }

    fn connect(&mut self) {
        for a in 0..self.nodes.len() {
            for b in a + 1..self.nodes.len() {
                let (Some(boot_a), Some(boot_b)) = (self.nodes[a].running, self.nodes[b].running) else {
                    continue;
                };
                let link = self.links.entry((a, b)).or_default();
                let is_frozen = |slot: &Slot| slot.frozen > self.now;
                if link.is_up
                    || self.faults.internal[a][b]
                    || is_frozen(&self.nodes[a])
                    || is_frozen(&self.nodes[b])
                {
                    continue;
                }
                link.is_up = true;
                link.count += 1;
                let count = link.count;
                let (one, two) = (self.delay(), self.delay());
                self.push(one, Event::Node(a, boot_a, NodeEvent::LinkUp(incarnation(b, boot_b), count)));
                self.push(two, Event::Node(b, boot_b, NodeEvent::LinkUp(incarnation(a, boot_a), count)));
            }
        }
        self.push(200 * MS, Event::Connect);
    }

    /// The connection ends, and each end hears of it some time.
    pub fn disconnect(&mut self, a: usize, b: usize, within: u64) {
        let link = self.links.entry((a.min(b), a.max(b))).or_default();
        if !std::mem::take(&mut link.is_up) {
            return;
        }
        let count = link.count;
        for (at, other) in [(a, b), (b, a)] {
            if let Some(boot) = self.nodes[at].running {
                let delay = self.random.below(within);
                self.push(delay, Event::Node(at, boot, NodeEvent::LinkCut(other, count)));
            }
        }
    }

    pub fn send(&mut self, from: usize, to: usize, count: u64, message: Message) {
        let link = self.links.get(&(from.min(to), from.max(to))).copied().unwrap_or_default();
        let Some(boot) = self.nodes[to].running else { return };
        let mut delay = self.delay_from(from);
        if !link.is_up || link.count != count {
            // Sent into a connection that is about to fail: it may get through all the same.
            if self.random.chance(700) {
                return;
            }
            delay += self.random.below(300 * MS);
        }
        self.push(delay, Event::Node(to, boot, NodeEvent::Link(from, count, message)));
    }
}
