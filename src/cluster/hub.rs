//! What the shared targets of a node have in common: who they are, the other nodes that can be reached, the nexuses.

use super::figures::Figures;
use super::inbound::Guests;
use super::link::Frame;
use super::links::Link;
use super::standing::Standing;
use super::target::SharedTarget;
use arc_swap::ArcSwap;
use glint_cluster_core::forwarding::{CommandId, Patience};
use glint_cluster_core::membership::{Incarnation, NodeId};
use glint_cluster_core::ownership::Epoch;
use glint_target_core::scsi::command::{Nexus, NexusId};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// What has happened that the node's engine has to know.
#[derive(Debug)]
pub enum Tidings {
    /// A medium command waits.
    Wanted(Arc<str>),
    /// The owner record of a volume may have changed.
    Look(Arc<str>),
    /// A node that nobody knows has come: the records may have changed.
    Strangers,
    /// The store has refused I/O of an epoch.
    Refused(Arc<str>, Epoch),
    /// An initiator wants the volume at that node.
    Move(Arc<str>, NodeId),
    /// There is a connection to a node.
    Up(Incarnation),
    /// There is none any more.
    Down(Incarnation),
}

/// Nexuses with their targets.
type Nexuses = HashMap<NexusId, (Arc<Nexus>, Arc<SharedTarget>)>;

/// See the module.
pub struct Hub {
    me: Incarnation,
    patience: Patience,
    standing: Standing,
    figures: Figures,
    next_command: AtomicU64,
    /// Gives numbers to the nexuses of other nodes.
    next_nexus: Box<dyn Fn() -> NexusId + Send + Sync>,
    tidings: UnboundedSender<Tidings>,
    /// Connections that this node has made.
    links: ArcSwap<Vec<Arc<Link>>>,
    /// By their iSCSI names.
    targets: ArcSwap<HashMap<String, Arc<SharedTarget>>>,
    /// Those that came in at this node.
    nexuses: Mutex<Nexuses>,
    guests: Mutex<HashMap<Incarnation, Arc<Guests>>>,
    /// Of nodes that there is no connection to, the nexuses of this one that they know of.
    known: Mutex<HashMap<Incarnation, HashSet<NexusId>>>,
}

impl Hub {
    /// For this process.
    pub fn new(
        me: Incarnation,
        patience: Patience,
        tidings: UnboundedSender<Tidings>,
        next_nexus: Box<dyn Fn() -> NexusId + Send + Sync>,
    ) -> Arc<Self> {
        Arc::new(Self {
            me,
            patience,
            standing: Standing::default(),
            figures: Figures::default(),
            next_command: AtomicU64::new(1),
            next_nexus,
            tidings,
            links: ArcSwap::default(),
            targets: ArcSwap::default(),
            nexuses: Mutex::default(),
            guests: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// Who this is.
    pub fn me(&self) -> &Incarnation {
        &self.me
    }

    /// For how long commands wait.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Whether it may answer.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// What is counted.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// A number that no command of this process has had.
    pub fn next_command(&self) -> CommandId {
        CommandId(self.next_command.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a nexus of another node.
    pub fn next_nexus(&self) -> NexusId {
        (self.next_nexus)()
    }

    /// Tells the engine.
    pub fn tell(&self, tidings: Tidings) {
        let _ = self.tidings.send(tidings); // without an engine the process ends
    }

    /// The connections that this node has made.
    pub fn links(&self) -> Arc<Vec<Arc<Link>>> {
        self.links.load_full()
    }

    /// The connection to a node.
    pub fn link(&self, peer: &Incarnation) -> Option<Arc<Link>> {
        self.links.load().iter().find(|link| link.peer() == peer).cloned()
    }

    /// There is a connection now.
    pub fn link_up(&self, link: &Arc<Link>) {
        self.links.rcu(|links| {
            let others = links.iter().filter(|other| other.peer() != link.peer());
            others.cloned().chain([Arc::clone(link)]).collect::<Vec<_>>()
        });
        self.tell(Tidings::Up(link.peer().clone()));
    }

    /// It is lost.
    pub fn link_down(&self, link: &Arc<Link>) {
        self.links
            .rcu(|links| links.iter().filter(|other| !Arc::ptr_eq(other, link)).cloned().collect::<Vec<_>>());
        for target in self.targets.load().values() {
            target.units().iter().for_each(|(_, unit)| unit.cut(link.peer()));
        }
        self.tell(Tidings::Down(link.peer().clone()));
    }

    /// The target of this name.
    pub fn target(&self, name: &str) -> Option<Arc<SharedTarget>> {
        self.targets.load().get(&name.to_ascii_lowercase()).cloned()
    }

    /// One more target.
    pub fn add_target(&self, target: &Arc<SharedTarget>) {
        let name = target.name().to_ascii_lowercase();
        self.targets.rcu(|targets| {
            let mut targets = HashMap::clone(targets);
            targets.insert(name.clone(), Arc::clone(target));
            targets
        });
    }

    /// One target less.
    pub fn remove_target(&self, name: &str) {
        let name = name.to_ascii_lowercase();
        self.targets.rcu(|targets| {
            let mut targets = HashMap::clone(targets);
            targets.remove(&name);
            targets
        });
    }

    fn nexuses(&self) -> MutexGuard<'_, Nexuses> {
        self.nexuses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A nexus has come in at this node.
    pub fn nexus_established(&self, nexus: &Arc<Nexus>, target: &Arc<SharedTarget>) {
        self.nexuses().insert(nexus.id, (Arc::clone(nexus), Arc::clone(target)));
    }

    /// It is lost.
    pub fn nexus_lost(&self, nexus: &Nexus) {
        self.nexuses().remove(&nexus.id);
        self.links.load().iter().for_each(|link| link.farewell(nexus.id));
    }

    /// The target of a nexus that came in at this node.
    pub fn target_of(&self, nexus: NexusId) -> Option<Arc<SharedTarget>> {
        self.nexuses().get(&nexus).map(|(_, target)| Arc::clone(target))
    }

    /// A nexus that came in at this node.
    pub fn nexus(&self, id: NexusId) -> Option<Arc<Nexus>> {
        self.nexuses().get(&id).map(|(nexus, _)| Arc::clone(nexus))
    }

    /// The nexuses of this node that another knows of, whose connection is lost.
    pub fn keep_known(&self, at: &Incarnation, nexuses: HashSet<NexusId>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Of a node only its last start.
        known.retain(|other, _| other.node != at.node);
        known.insert(at.clone(), nexuses);
    }

    /// Those, for a new connection.
    pub fn take_known(&self, at: &Incarnation) -> HashSet<NexusId> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(at).unwrap_or_default()
    }

    /// The nexuses of another node, as far as it has told of them.
    pub fn guests(self: &Arc<Self>, of: &Incarnation) -> Arc<Guests> {
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(guests.entry(of.clone()).or_insert_with(|| Guests::new(of.clone(), self)))
    }

    /// Forgets the nexuses of nodes for which this is not true.
    pub fn retain_guests(&self, keep: impl Fn(&Guests) -> bool) {
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropped when the lock is free: that ends their tasks.
        let gone: Vec<_> = guests.extract_if(|_, guests| !keep(guests)).collect();
        drop(guests);
        gone.iter().for_each(|(_, guests)| guests.clear());
    }

    /// Says something to all nodes that can be reached.
    pub fn broadcast(&self, frame: &Frame) {
        self.links.load().iter().for_each(|link| link.send(frame.clone()));
    }
}
