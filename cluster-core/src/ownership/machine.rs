//! The state, what comes in and what is to be done.

use super::record::{Epoch, OwnerRecord, Seen};
use crate::membership::{Incarnation, Lease, NodeId, Peers, Term};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What does not change while a volume is served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This node's process.
    pub me: Incarnation,
    /// The store refuses the I/O of all but the holder of the mandatory lock.
    pub fences: bool,
    /// Where the volume is to be when all is well.
    pub preferred: Option<NodeId>,
    /// The record is read again so often; less than the time to fence.
    pub poll: Duration,
    /// Pause after something went wrong.
    pub retry: Duration,
    /// A released volume is left to its named successor for so long.
    pub grace: Duration,
    /// The preferred node has to be alive for so long before the volume goes back to it; twice as long after each time that it then died soon.
    pub fail_back: Duration,
}

/// What the node knows, whatever the volume.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its own heartbeat.
    pub lease: &'a Lease,
    /// The others.
    pub peers: &'a Peers,
}

/// Ties an answer to the action that it is the answer of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How an attempt to set the record ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOutcome {
    /// It is in place.
    Won,
    /// It is not, or no more.
    Lost,
    /// It may be, or may come to be.
    Unknown,
}

/// What happens to a volume. An action with a ticket is answered once, whatever becomes of it.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time went on, or the view has changed: several times in each second.
    Tick,
    /// A medium command waits here.
    Wanted,
    /// Somebody says that the record has changed.
    Look,
    /// The record was read, or could not be.
    Read(Ticket, Option<Seen>),
    /// The record was set.
    Set(Ticket, SetOutcome),
    /// The file is open and ours alone, or that failed.
    Fenced(Ticket, bool),
    /// Reservations and all else that the unit remembers are loaded, or that failed.
    Loaded(Ticket, bool),
    /// The store refused I/O of this epoch (EBUSY, EAGAIN): another has the lock.
    Refused(Epoch),
    /// All commands have ended and are on stable storage, or that failed.
    Drained(Ticket, bool),
    /// Nothing that an epoch has sent to the store can arrive there any more.
    Stopped(Ticket),
    /// The volume is to go to that node (SET TARGET PORT GROUPS, `glint move`).
    Move(NodeId),
    /// This process is to end: hand it over.
    Shutdown,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the owner record.
    Read(Ticket),
    /// Set the record after that epoch.
    Set(Ticket, Epoch, OwnerRecord),
    /// Open the file afresh, with node and epoch as the lock owner on each thread that submits; take the mandatory lock on all of it if the volume
    /// fences; read its size again. The same epoch may come again: then the lock was stolen, and is taken back.
    Fence(Ticket, Epoch),
    /// Load what the unit remembers, and set each of these documents anew under this epoch: so that an earlier owner can change none any more.
    Load(Ticket, Epoch),
    /// Commands may go to the file; those that were refused are tried again.
    Serve(Epoch),
    /// Nothing new goes to the file until [`Self::Serve`] or [`Self::Stop`] comes.
    Hold(Epoch),
    /// As `Hold`; and tell when all that runs has ended and is on stable storage.
    Drain(Ticket, Epoch),
    /// It is over: nothing goes to the file any more, what has come back refused is answered, the file is closed when what is on its way has come back.
    /// Told by [`Input::Stopped`] then; only where the store does not fence that is waited for.
    Stop(Ticket, Epoch),
    /// Tell the others, that node first, to look at the record.
    Tell(Option<NodeId>),
    /// Ownership as seen from here has changed: waiting commands are routed again, access states are reported anew (unit attention 2Ah/06h).
    Changed,
}

/// How far this node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It does not own the volume.
    Idle,
    /// The record is being set.
    Claiming,
    /// The lock is being taken.
    Fencing { epoch: Epoch },
    /// The record is read once more: between claim and lock this node may have slept, and stolen the lock from its successor.
    Confirming { epoch: Epoch },
    /// What the unit remembers is loaded.
    Loading { epoch: Epoch },
    /// It owns the volume and serves it.
    Active { epoch: Epoch },
    /// It did, and was refused by the store: whose is it?
    Doubting { epoch: Epoch },
    /// It is about to let go.
    Draining { epoch: Epoch, to: Option<NodeId>, pinned: bool },
    /// It lets go: nothing runs any more.
    Releasing { epoch: Epoch, to: Option<NodeId> },
}

/// One volume on one node.
#[derive(Clone, Debug)]
pub struct Ownership {
    pub(super) settings: Settings,
    pub(super) step: Step,
    /// The term in which the step was begun, as far as it is not idle.
    pub(super) term: Term,
    pub(super) seen: Option<Seen>,
    /// When the record was first seen as it is, and when the latest reading that saw it so had begun.
    pub(super) since: Instant,
    pub(super) still: Instant,
    /// The answer that the step waits for, and that of a reading.
    pub(super) waiting: Option<Ticket>,
    pub(super) reading: Option<(Ticket, Instant)>,
    pub(super) last_ticket: u64,
    pub(super) read_due: Instant,
    /// Not before then is a step tried again.
    pub(super) not_before: Instant,
    pub(super) wanted: bool,
    /// It could not open the file though it owned the volume: others first.
    pub(super) shy_until: Option<Instant>,
    pub(super) attempts: u32,
    pub(super) active_since: Instant,
    /// The last epoch that this process has won: a damaged record of this epoch was its own.
    pub(super) won: Option<Epoch>,
    /// Epochs that were stopped, of which something may still be on its way to the store.
    pub(super) ending: BTreeSet<Ticket>,
    /// The record that is being set, and the epoch that it begins.
    pub(super) pending: Option<(Epoch, OwnerRecord)>,
    pub(super) leaving: bool,
}

impl Ownership {
    /// Nothing known yet.
    pub fn new(settings: Settings, now: Instant) -> Self {
        Self {
            settings,
            step: Step::Idle,
            term: Term(0),
            seen: None,
            since: now,
            still: now,
            waiting: None,
            reading: None,
            last_ticket: 0,
            read_due: now,
            not_before: now,
            wanted: false,
            shy_until: None,
            attempts: 0,
            active_since: now,
            won: None,
            ending: BTreeSet::new(),
            pending: None,
            leaving: false,
        }
    }

    /// The record as seen last.
    pub fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// The epoch that is served now.
    pub fn active(&self) -> Option<Epoch> {
        match self.step {
            Step::Active { epoch } => Some(epoch),
            _ => None,
        }
    }

    /// It is on the way to this node, or from it.
    pub fn is_moving(&self) -> bool {
        !matches!(self.step, Step::Idle | Step::Active { .. })
    }

    /// Nothing is left to be done before the process ends.
    pub fn has_left(&self) -> bool {
        self.leaving && self.step == Step::Idle && !self.is_mine()
    }

    /// Another preferred node.
    pub fn prefer(&mut self, node: Option<NodeId>) {
        self.settings.preferred = node;
    }

    /// Takes an input; `do_` is given what is to be done, in this order.
    pub fn handle(&mut self, now: Instant, view: &View<'_>, input: Input, do_: &mut Vec<Action>) {
        self.watch_term(now, view, do_);
        match input {
            Input::Tick => {}
            Input::Wanted => self.wanted = true,
            Input::Look => self.read_due = now,
            Input::Read(ticket, seen) => self.read(now, ticket, seen, do_),
            Input::Set(ticket, outcome) if self.takes(ticket) => self.set(now, outcome, do_),
            Input::Fenced(ticket, is_done) if self.takes(ticket) => self.fenced(now, is_done, do_),
            Input::Loaded(ticket, is_done) if self.takes(ticket) => self.loaded(now, is_done, do_),
            Input::Drained(ticket, is_done) if self.takes(ticket) => self.drained(now, is_done, do_),
            // Answers to what was given up since.
            Input::Set(..) | Input::Fenced(..) | Input::Loaded(..) | Input::Drained(..) => {}
            Input::Stopped(ticket) => drop(self.ending.remove(&ticket)),
            Input::Refused(epoch) => self.refused(now, epoch, do_),
            Input::Move(to) => self.move_to(now, to, do_),
            Input::Shutdown => self.leaving = true,
        }
        self.go_on(now, view, do_);
    }

    /// What is under way in a term that has ended is void.
    fn watch_term(&mut self, now: Instant, view: &View<'_>, do_: &mut Vec<Action>) {
        if self.step != Step::Idle && (view.lease.term(now) != Some(self.term) || !self.has_authority(now)) {
            self.stop(now, do_);
        }
    }

    /// Where the store cannot fence, an owner that has not read for long that it is the owner takes itself for none.
    pub(super) fn has_authority(&self, now: Instant) -> bool {
        self.settings.fences
            || !matches!(self.step, Step::Active { .. })
            || now < self.still + self.settings.poll * 4
    }

    /// Whatever is due, as far as nothing is under way.
    fn go_on(&mut self, now: Instant, view: &View<'_>, do_: &mut Vec<Action>) {
        if view.lease.term(now).is_some() && now >= self.not_before {
            match self.step.clone() {
                Step::Idle => self.go_on_idle(now, view, do_),
                Step::Fencing { epoch } if self.waiting.is_none() => self.fence(epoch, do_),
                Step::Confirming { .. } | Step::Doubting { .. } if self.reading.is_none() => {
                    self.read_due = now
                }
                Step::Active { .. } => self.go_on_active(now, view, do_),
                _ => {}
            }
        }
        if self.reading.is_none() && now >= self.read_due {
            self.begin_reading(now, do_);
        }
    }

    /// Asks for the record to be set, and waits for that.
    pub(super) fn begin_setting(&mut self, after: Epoch, record: OwnerRecord, do_: &mut Vec<Action>) {
        self.pending = Some((Epoch(after.0.saturating_add(1)), record.clone()));
        let ticket = self.wait();
        do_.push(Action::Set(ticket, after, record));
    }

    /// Ends whatever is under way, at once.
    pub(super) fn stop(&mut self, now: Instant, do_: &mut Vec<Action>) {
        let epoch = match std::mem::replace(&mut self.step, Step::Idle) {
            Step::Idle => return,
            Step::Claiming => None,
            Step::Fencing { epoch }
            | Step::Confirming { epoch }
            | Step::Loading { epoch }
            | Step::Active { epoch }
            | Step::Doubting { epoch }
            | Step::Draining { epoch, .. }
            | Step::Releasing { epoch, .. } => Some(epoch),
        };
        self.waiting = None;
        self.read_due = now;
        if let Some(epoch) = epoch {
            self.end(epoch, do_);
        }
        do_.push(Action::Changed);
    }

    pub(super) fn end(&mut self, epoch: Epoch, do_: &mut Vec<Action>) {
        let ticket = self.ticket();
        self.ending.insert(ticket);
        do_.push(Action::Stop(ticket, epoch));
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// A ticket of which the step waits for the answer.
    pub(super) fn wait(&mut self) -> Ticket {
        let ticket = self.ticket();
        self.waiting = Some(ticket);
        ticket
    }

    fn takes(&mut self, ticket: Ticket) -> bool {
        self.waiting.take_if(|waiting| *waiting == ticket).is_some()
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
