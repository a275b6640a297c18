//! Commands of one unit that have come in at this node and are not executed at once: they wait, or another node executes them.

use super::hub::Hub;
use super::link::{Frame, Message, command_head};
use super::routes::Routes;
use glint_cluster_core::forwarding::{CommandId, Order, Origin, Patience, Reply};
use glint_cluster_core::membership::Incarnation;
use glint_cluster_core::ownership::{Class, Epoch, Reason};
use glint_target_core::scsi::command::{Command, Nexus, NexusId, Outcome, TaskTag};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// What whoever runs a command is to do next.
#[derive(Debug)]
pub enum Step {
    /// Execute it here.
    Execute,
    /// Answer it here, as far as that goes without the medium.
    Local,
    /// This is the answer.
    Answer(Outcome),
    /// Refuse it: it was not executed.
    NotReady(Reason),
    /// Nobody knows whether it was executed.
    InDoubt,
}

/// A command, as far as it is of interest here.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// From whom.
    pub nexus: Arc<Nexus>,
    /// What.
    pub command: Command,
    /// When it came in.
    pub since: Instant,
    /// Whether it may move ownership.
    pub class: Class,
    /// It may be executed twice without harm.
    pub is_repeatable: bool,
}

#[derive(Debug)]
struct Entry {
    waiting: Waiting,
    next: oneshot::Sender<Step>,
}

struct State {
    origin: Origin,
    entries: HashMap<CommandId, Entry>,
}

/// The commands of one unit.
pub struct Outbound {
    state: Mutex<State>,
}

/// A command's place among those that wait; it is given up when this is dropped.
pub struct Place<'a> {
    outbound: &'a Outbound,
    id: CommandId,
    next: oneshot::Receiver<Step>,
}

impl Place<'_> {
    /// What is to be done with it.
    pub async fn next(&mut self) -> Step {
        // The other end goes with the unit alone.
        (&mut self.next).await.unwrap_or(Step::NotReady(Reason::Transitioning))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.outbound.lock();
        if state.entries.remove(&self.id).is_some() {
            state.origin.abandon(self.id);
        }
    }
}

impl Outbound {
    /// None yet.
    pub fn new(patience: Patience) -> Self {
        Self { state: Mutex::new(State { origin: Origin::new(patience), entries: HashMap::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command has come in and is sent on its way, if it can go anywhere.
    pub fn arrive(&self, hub: &Hub, routes: &Routes, waiting: Waiting) -> Place<'_> {
        let (next, receiver) = oneshot::channel();
        let mut state = self.lock();
        // Under the lock: of this unit numbers come in the order of their size.
        let id = hub.next_command();
        state.origin.arrive(waiting.since, id, waiting.class, waiting.is_repeatable);
        state.entries.insert(id, Entry { waiting, next });
        state.go_on(hub, routes);
        Place { outbound: self, id, next: receiver }
    }

    /// Sends on their way what can go, by where commands go now; answers what has waited for too long. Whether medium commands wait for ownership.
    pub fn go_on(&self, hub: &Hub, routes: &Routes) -> bool {
        let mut state = self.lock();
        if state.entries.is_empty() {
            return false;
        }
        state.go_on(hub, routes);
        state.origin.waits()
    }

    /// Whether medium commands wait for ownership to change.
    pub fn waits(&self) -> bool {
        self.lock().origin.waits()
    }

    /// The connection to a node is lost.
    pub fn cut(&self, peer: &Incarnation) {
        self.lock().origin.cut(peer);
    }

    /// The owner has answered. Whether the owner record should be read again.
    pub fn reply(
        &self,
        hub: &Hub,
        routes: &Routes,
        id: CommandId,
        epoch: Epoch,
        reply: Reply<Outcome>,
    ) -> bool {
        let mut state = self.lock();
        let mut orders = Vec::new();
        let look = state.origin.reply(super::clock::now(), id, epoch, reply, &mut orders);
        state.obey(hub, orders);
        if look {
            state.go_on(hub, routes);
        }
        look
    }

    /// Tasks that have not left here are aborted; how many there were, and whether any is left that another node has.
    pub fn abort(&self, nexus: NexusId, tag: Option<TaskTag>) -> (usize, bool) {
        let mut state = self.lock();
        let is_meant = |entry: &Entry| {
            entry.waiting.nexus.id == nexus && tag.is_none_or(|tag| tag == entry.waiting.command.tag)
        };
        let meant: Vec<_> =
            state.entries.iter().filter(|(_, entry)| is_meant(entry)).map(|(id, _)| *id).collect();
        let (mut aborted, mut sent) = (0, false);
        for id in meant {
            if !state.origin.is_unsent(id) {
                sent = true;
            } else if let Some(entry) = state.entries.remove(&id) {
                state.origin.abandon(id);
                aborted += 1;
                let _ = entry.next.send(Step::Answer(Outcome::Aborted)); // its session may have ended
            }
        }
        (aborted, sent)
    }
}

impl State {
    fn go_on(&mut self, hub: &Hub, routes: &Routes) {
        let now = super::clock::now();
        for link in hub.links().iter() {
            if let Some((stamp, told)) = link.told() {
                self.origin.told_time(told, link.peer(), stamp);
            }
        }
        let mut orders = Vec::new();
        let may_answer = hub.standing().may_answer(now);
        self.origin.advance(now, |class| routes.of(class, may_answer), &mut orders);
        self.obey(hub, orders);
    }

    fn obey(&mut self, hub: &Hub, orders: Vec<Order<Outcome>>) {
        for order in orders {
            let (id, step) = match order {
                Order::Send(id, owner, request) => {
                    if let Some(entry) = self.entries.get(&id)
                        && let Some(link) = hub.link(&owner)
                    {
                        let Waiting { nexus, command, .. } = &entry.waiting;
                        let message = Message::Request {
                            sequence: request.sequence,
                            epoch: request.epoch.0,
                            stamp: request.stamp.0,
                            floor: request.floor,
                            nexus: nexus.id.0,
                            command: command_head(command),
                        };
                        link.introduce(nexus);
                        link.send(Frame { message, data: command.data_out.clone() });
                    }
                    continue;
                }
                Order::Execute(id, _) => (id, Step::Execute),
                Order::Local(id) => (id, Step::Local),
                Order::Answer(id, outcome) => (id, Step::Answer(outcome)),
                Order::NotReady(id, reason) => (id, Step::NotReady(reason)),
                Order::InDoubt(id) => (id, Step::InDoubt),
            };
            if let Some(entry) = self.entries.remove(&id) {
                let _ = entry.next.send(step); // its session may have ended
            }
        }
    }
}

#[cfg(test)]
#[path = "outbound_tests.rs"]
mod tests;
