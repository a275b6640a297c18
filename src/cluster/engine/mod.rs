//! What drives the state machines of `cluster-core`: one task of the node gives them what has happened, and has done what they say.
//!
//! It never waits: whatever takes time is a task of its own that comes back as an [`Event`].

mod looking;
mod members;
mod volume;

pub use volume::{Make, VolumeParts};

use super::clock;
use super::hub::{Hub, Tidings};
use super::link::{End, Fingerprint};
use super::node::Neighbour;
use crate::backend::Device;
use crate::server::Workers;
use crate::store::Store;
use bytes::Bytes;
use glint_cluster_core::membership::{Beat, Incarnation, Lease, NodeId, Numbers, Peers, Term, Timing};
use glint_cluster_core::ownership::{Input, Member as Group, SetOutcome, Ticket};
use glint_cluster_core::store::{Directory, DocumentName, Documents, State};
use glint_target_core::lun::unit::LogicalUnit;
use looking::Looked;
use members::Member;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use volume::Volume;

/// Between two looks at everything.
const TICK: Duration = Duration::from_millis(100);

/// What the process wants.
pub enum Order {
    /// A volume is served from now on.
    Add(Box<VolumeParts>),
    /// It is not any more; told when this node has let go of it.
    Remove(Arc<str>, oneshot::Sender<()>),
    /// Everything is to go to other nodes; told when it has, or as soon as there is no hope.
    HandOver(oneshot::Sender<()>),
}

/// The end of something that was begun.
pub(super) enum Event {
    BeatWritten(bool),
    BeatRead(Incarnation, Instant, Option<Option<Bytes>>),
    Looked(Result<Looked, String>),
    Set(Arc<str>, Ticket, SetOutcome),
    Opened(Arc<str>, Ticket, Option<Device>),
    Loaded(Arc<str>, Ticket, Option<Arc<LogicalUnit<Device>>>),
    Drained(Arc<str>, Ticket, bool),
    Stopped(Arc<str>, Ticket),
}

/// How the node stands, for those who wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It has not been able to tell that it lives yet.
    #[default]
    Unborn,
    /// It lives.
    Alive,
    /// Another process has taken its name: it has to end.
    Replaced,
}

/// What the engine is made with.
pub struct Parts {
    /// What all of the node share.
    pub hub: Arc<Hub>,
    /// The store.
    pub documents: Arc<Documents<Store>>,
    /// The agreed times.
    pub timing: Timing,
    /// This node's own numbers.
    pub numbers: Numbers,
    /// This end of internal connections.
    pub end: Arc<End>,
    /// Where connections are served.
    pub workers: Workers,
    /// Ends all sessions: what they bring is out of date.
    pub expel: Box<dyn Fn() + Send>,
    /// Told how the node stands.
    pub fate: watch::Sender<Fate>,
    /// Told the portals of the other nodes.
    pub neighbours: watch::Sender<Vec<Neighbour>>,
    /// Told the certificates of all nodes.
    pub certificates: watch::Sender<HashMap<Incarnation, Fingerprint>>,
    /// Cancelled when what came in by internal connections is out of date; a new one each time.
    pub terms: watch::Sender<CancellationToken>,
}

/// See the module.
pub struct Engine {
    parts: Parts,
    lease: Lease,
    peers: Peers,
    term: Option<Term>,
    events: UnboundedSender<Event>,
    volumes: BTreeMap<Arc<str>, Volume>,
    /// What was read last of the documents that are watched.
    cache: HashMap<DocumentName, State>,
    /// A look at the store is under way.
    is_looking: bool,
    look_due: Instant,
    members: BTreeMap<NodeId, Member>,
    /// The target port groups of all nodes, this one's too, and the ports of each.
    groups: Vec<Group>,
    ports: Vec<Vec<u16>>,
    beats_due: Instant,
    beats_read: HashSet<Incarnation>,
    /// What was reported as unreadable, so that it is told once.
    reported: HashMap<DocumentName, String>,
    /// Something has changed that ALUA states may depend on.
    is_view_new: bool,
    leaving: Option<oneshot::Sender<()>>,
    removing: HashMap<Arc<str>, oneshot::Sender<()>>,
}

impl Engine {
    /// Runs until nobody has orders any more.
    pub async fn run(
        parts: Parts,
        mut orders: UnboundedReceiver<Order>,
        mut tidings: UnboundedReceiver<Tidings>,
    ) {
        let (events, mut incoming) = unbounded_channel();
        let now = clock::now();
        let mut engine = Self {
            lease: Lease::new(parts.timing, now),
            peers: Peers::new(parts.timing),
            parts,
            term: None,
            events,
            volumes: BTreeMap::new(),
            cache: HashMap::new(),
            is_looking: false,
            look_due: now,
            members: BTreeMap::new(),
            groups: Vec::new(),
            ports: Vec::new(),
            beats_due: now,
            beats_read: HashSet::new(),
            reported: HashMap::new(),
            is_view_new: true,
            leaving: None,
            removing: HashMap::new(),
        };
        engine.take_groups();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(event) = incoming.recv() => engine.event(event),
                Some(told) = tidings.recv() => engine.tidings(told),
                order = orders.recv() => match order {
                    Some(order) => engine.order(order),
                    None => return,
                },
                _ = ticks.tick() => engine.tick(),
            }
            engine.follow_up();
        }
    }

    fn event(&mut self, event: Event) {
        let now = clock::now();
        self.watch_term(now);
        match event {
            Event::BeatWritten(is_done) => {
                self.lease.written(now, is_done);
                self.watch_term(now);
                self.parts.hub.standing().set_until(self.lease.until().filter(|_| self.term.is_some()));
            }
            Event::BeatRead(whose, began, read) => self.beat_read(&whose, began, now, read),
            Event::Looked(looked) => self.looked(now, looked),
            Event::Set(name, ticket, outcome) => self.drive(&name, Input::Set(ticket, outcome)),
            Event::Opened(name, ticket, device) => self.opened(&name, ticket, device),
            Event::Loaded(name, ticket, unit) => self.loaded(&name, ticket, unit),
            Event::Drained(name, ticket, is_done) => self.drive(&name, Input::Drained(ticket, is_done)),
            Event::Stopped(name, ticket) => self.drive(&name, Input::Stopped(ticket)),
        }
    }

    fn tidings(&mut self, told: Tidings) {
        let now = clock::now();
        self.watch_term(now);
        match told {
            Tidings::Wanted(name) => self.drive(&name, Input::Wanted),
            Tidings::Look(name) => self.drive(&name, Input::Look),
            Tidings::Strangers => self.look_due = now,
            Tidings::Refused(name, epoch) => self.drive(&name, Input::Refused(epoch)),
            Tidings::Move(name, node) => self.drive(&name, Input::Move(node)),
            Tidings::Up(peer) => self.set_cut(&peer, None),
            Tidings::Down(peer) => self.set_cut(&peer, Some(now)),
        }
    }

    fn order(&mut self, order: Order) {
        let now = clock::now();
        self.watch_term(now);
        match order {
            Order::Add(parts) => self.add(now, *parts),
            Order::Remove(name, done) => {
                self.removing.insert(Arc::clone(&name), done);
                self.drive(&name, Input::Shutdown);
            }
            Order::HandOver(done) => {
                self.leaving = Some(done);
                for name in self.names() {
                    self.drive(&name, Input::Shutdown);
                }
            }
        }
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.volumes.keys().cloned().collect()
    }

    fn tick(&mut self) {
        let now = clock::now();
        self.watch_term(now);
        if let Some(count) = self.lease.beat(now) {
            let beat = Beat { boot: self.me().boot, count, unreachable: self.unreachable() };
            let (documents, file) = (Arc::clone(&self.parts.documents), self.me().beat_file());
            self.spawn(async move {
                Event::BeatWritten(documents.directory().overwrite(&file, &beat.encode()).await.is_ok())
            });
        }
        self.watch_peers(now);
        self.count();
        for name in self.names() {
            let waits = self.volumes.get(&name).is_some_and(|volume| volume.parts.unit.waits());
            self.drive(&name, if waits { Input::Wanted } else { Input::Tick });
        }
    }

    fn count(&self) {
        let figures = self.parts.hub.figures();
        let count = |is: fn(&Volume) -> bool| self.volumes.values().filter(|volume| is(volume)).count();
        figures.owned.store(count(|volume| volume.machine.active().is_some()), Ordering::Relaxed);
        figures.unfenced.store(count(|volume| !volume.parts.fences), Ordering::Relaxed);
        figures.nodes.store(self.members.len(), Ordering::Relaxed);
    }

    /// What may be due after anything has happened.
    fn follow_up(&mut self) {
        let now = clock::now();
        self.look(now);
        if std::mem::take(&mut self.is_view_new) {
            for name in self.names() {
                self.publish(now, &name, true);
            }
        }
        let gone: Vec<_> = self
            .removing
            .keys()
            .filter(|name| self.volumes.get(*name).is_none_or(|volume| volume.machine.has_left()))
            .cloned()
            .collect();
        for name in gone {
            self.volumes.remove(&name);
            if let Some(done) = self.removing.remove(&name) {
                let _ = done.send(()); // nobody waits any more
            }
        }
        if self.volumes.values().all(|volume| volume.machine.has_left())
            && let Some(done) = self.leaving.take()
        {
            let _ = done.send(()); // nobody waits any more
        }
    }

    fn me(&self) -> &Incarnation {
        self.parts.hub.me()
    }

    /// Begins something whose end is an event.
    fn spawn(&self, work: impl Future<Output = Event> + Send + 'static) {
        let events = self.events.clone();
        tokio::spawn(async move {
            let _ = events.send(work.await); // without an engine the process ends
        });
    }

    /// What a lapse of the lease ends: everything that came in before it. Others may have gone on without this node.
    fn watch_term(&mut self, now: Instant) {
        let term = self.lease.term(now);
        if term == self.term {
            return;
        }
        let has_lapsed = self.term.is_some();
        self.term = term;
        let standing = self.parts.hub.standing();
        if has_lapsed {
            standing.set_until(None);
            tracing::error!(
                "no heartbeat of this node has reached the store for {:?} (it was stopped, or the store hangs): others take its volumes over, its sessions end",
                self.parts.timing.fence
            );
            self.void();
        }
        if term.is_some() {
            let is_first = *self.parts.fate.borrow() == Fate::Unborn;
            match is_first {
                true => drop(self.parts.fate.send_replace(Fate::Alive)),
                // Those too who came in between.
                false => self.void(),
            }
            self.parts.hub.standing().set_until(self.lease.until());
            self.connect_all();
        }
        self.is_view_new = true;
    }

    /// Whoever is here, and whatever came in, is of a time that is over.
    fn void(&mut self) {
        let hub = &self.parts.hub;
        hub.standing().set_floor(hub.next_nexus());
        (self.parts.expel)();
        self.parts.terms.send_replace(CancellationToken::new()).cancel();
        hub.retain_guests(|_| false);
        self.cut_all();
    }
}
