//! The side where commands come in: each is answered once.

use super::messages::{Freshness, Refusal, Reply, Request, Stamp};
use crate::membership::Incarnation;
use crate::ownership::{Class, Epoch, Reason, Route};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// From a refusal to the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// A command that has come in; never used again: one that was to be executed here and was not comes in anew, under another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// For how long commands wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For an owner: longer than it takes to find one dead and take over, shorter than initiators wait.
    pub hold: Duration,
    /// For forwarded commands to be begun.
    pub freshness: Freshness,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order<T> {
    /// Execute it here.
    Execute(CommandId, Epoch),
    /// Answer it here as far as that can be done without the medium.
    Local(CommandId),
    /// Send it to the owner.
    Send(CommandId, Incarnation, Request),
    /// Answer it: this is what the owner has said.
    Answer(CommandId, T),
    /// Refuse it: it was not executed.
    NotReady(CommandId, Reason),
    /// ABORTED COMMAND: it may have been executed or not; it will not be any more, but for what an owner has begun, which is in its task set and has its
    /// blocks locked. The initiator repeats it as it sees fit.
    InDoubt(CommandId),
}

#[derive(Clone, Debug)]
struct Sent {
    to: Incarnation,
    epoch: Epoch,
    /// By then no copy of it can be begun any more.
    over: Instant,
    /// It was sent more than once: a refusal of one does not speak for the other.
    is_repeated: bool,
    /// It is on the connection that there is now.
    is_current: bool,
}

#[derive(Clone, Debug)]
struct Pending {
    class: Class,
    /// It may be executed twice without harm (READ).
    is_repeatable: bool,
    since: Instant,
    /// Not sent before then: an owner has refused it.
    again: Instant,
    sent: Option<Sent>,
}

/// The commands of one volume that have come in at this node and are not executed here.
#[derive(Clone, Debug)]
pub struct Origin {
    patience: Patience,
    pending: BTreeMap<CommandId, Pending>,
    /// Connections that there are, with the owner's time as it was told last, and when.
    links: BTreeMap<Incarnation, (Stamp, Instant)>,
}

impl Origin {
    /// No commands, no connections.
    pub fn new(patience: Patience) -> Self {
        Self { patience, pending: BTreeMap::new(), links: BTreeMap::new() }
    }

    /// A command has come in, at that time; [`Self::advance`] sends it on its way.
    pub fn arrive(&mut self, now: Instant, id: CommandId, class: Class, is_repeatable: bool) {
        self.pending.insert(id, Pending { class, is_repeatable, since: now, again: now, sent: None });
    }

    /// Its session has gone: nobody waits for its answer. True if it had not left here, so that it never will be executed.
    pub fn abandon(&mut self, id: CommandId) -> bool {
        self.pending.remove(&id).is_some_and(|pending| pending.sent.is_none())
    }

    /// Whether it has not left here, or what it was sent to has refused it.
    pub fn is_unsent(&self, id: CommandId) -> bool {
        self.pending.get(&id).is_some_and(|pending| pending.sent.is_none())
    }

    /// The owner has told its time, first of all when the connection was made.
    pub fn told_time(&mut self, now: Instant, peer: &Incarnation, stamp: Stamp) {
        self.links.insert(peer.clone(), (stamp, now));
    }

    /// The connection is lost, or another is about to take its place.
    pub fn cut(&mut self, peer: &Incarnation) {
        self.links.remove(peer);
        for sent in self.pending.values_mut().filter_map(|pending| pending.sent.as_mut()) {
            sent.is_current &= sent.to != *peer;
        }
    }

    /// Medium commands that wait for ownership to change.
    pub fn waits(&self) -> bool {
        self.pending.values().any(|pending| pending.sent.is_none() && pending.class == Class::Medium)
    }

    /// The owner has answered. Gives whether the owner record should be read again.
    pub fn reply<T>(
        &mut self,
        now: Instant,
        id: CommandId,
        epoch: Epoch,
        reply: Reply<T>,
        orders: &mut Vec<Order<T>>,
    ) -> bool {
        let Some(pending) = self.pending.get_mut(&id) else { return false };
        // That of an earlier sending, to another owner.
        let Some(sent) = pending.sent.take_if(|sent| sent.epoch == epoch) else { return false };
        match reply {
            Reply::Done(result) => {
                self.pending.remove(&id);
                orders.push(Order::Answer(id, result));
                false
            }
            Reply::Refused(refusal) => {
                pending.again = now + PAUSE;
                if sent.is_repeated && !pending.is_repeatable {
                    // The other sending of it may have been begun, and may yet be.
                    pending.sent = Some(Sent { is_current: false, ..sent });
                }
                refusal == Refusal::NotOwner
            }
        }
    }

    /// Sends everything on its way that can go, by where commands go now; and answers what has waited for too long.
    pub fn advance<T>(&mut self, now: Instant, route: impl Fn(Class) -> Route, orders: &mut Vec<Order<T>>) {
        let (probe, medium) = (route(Class::Probe), route(Class::Medium));
        let floor = self.pending.keys().next().map_or(0, |id| id.0);
        let mut over = Vec::new();
        for (id, pending) in &mut self.pending {
            let route = match pending.class {
                Class::Probe => &probe,
                Class::Medium => &medium,
            };
            if let Some(sent) = pending.sent.as_mut() {
                let is_same =
                    matches!(route, Route::Owner(to, epoch) if *to == sent.to && *epoch == sent.epoch);
                let link = self.links.get(&sent.to).filter(|_| is_same);
                if sent.is_current {
                    // The owner is at it.
                } else if now >= sent.over {
                    if pending.is_repeatable {
                        pending.sent = None;
                    } else {
                        orders.push(Order::InDoubt(*id));
                        over.push(*id);
                    }
                } else if let Some(order) =
                    link.and_then(|link| send(*id, sent, *link, floor, now, &self.patience))
                {
                    sent.is_repeated = true;
                    orders.push(order);
                }
                continue;
            }
            match route {
                Route::Here(epoch) => orders.push(Order::Execute(*id, *epoch)),
                Route::Local => orders.push(Order::Local(*id)),
                Route::NotReady(reason) => orders.push(Order::NotReady(*id, *reason)),
                Route::Owner(..) | Route::Wait if now >= pending.since + self.patience.hold => {
                    orders.push(Order::NotReady(*id, Reason::Transitioning));
                }
                Route::Owner(..) if now < pending.again => continue,
                Route::Owner(to, epoch) => {
                    let mut sent = Sent {
                        to: to.clone(),
                        epoch: *epoch,
                        over: now,
                        is_repeated: false,
                        is_current: false,
                    };
                    let link = self.links.get(to);
                    let order = link.and_then(|link| send(*id, &mut sent, *link, floor, now, &self.patience));
                    if let Some(order) = order {
                        orders.push(order);
                        pending.sent = Some(sent);
                    }
                    continue;
                }
                Route::Wait => continue,
            }
            over.push(*id);
        }
        for id in over {
            self.pending.remove(&id);
        }
    }
}

/// Sends a command, unless the owner's time is known from so long ago only that it would be refused.
fn send<T>(
    id: CommandId,
    sent: &mut Sent,
    (stamp, told): (Stamp, Instant),
    floor: u64,
    now: Instant,
    patience: &Patience,
) -> Option<Order<T>> {
    let over = told + patience.freshness.over();
    if now >= over {
        return None;
    }
    sent.over = sent.over.max(over);
    sent.is_current = true;
    let request = Request { sequence: id.0, epoch: sent.epoch, stamp, floor };
    Some(Order::Send(id, sent.to.clone(), request))
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
