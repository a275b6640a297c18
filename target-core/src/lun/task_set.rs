//! The task set of a logical unit (SAM-5 clause 8): which tasks there are, which must wait for which, and which are aborted.
//!
//! One rule serves task attributes and range locks alike: a task enters the set with its attribute and its [`Claim`], counts the tasks
//! that are before it and in its way, and starts when that count has come down to zero. Since a task only ever waits for tasks that were
//! ordered before it, nothing can wait in a circle, and nothing is overtaken for ever. An ordinary task in a healthy unit finds nothing in
//! its way and pays two short uncontended locks: one to enter, one to leave.

use super::claim::Claim;
use crate::scsi::command::{NexusId, TaskAttribute, TaskTag};
use smallvec::SmallVec;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// How an aborted task ends towards its initiator (SAM-5 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// Without any response.
    Silent,
    /// With status TASK ABORTED: another nexus did it, and TAS is set.
    TaskAborted,
}

/// The name of a task within a set; rises in order of arrival and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence(u64);

/// The tag that no task can have: it is reserved (RFC 7143 §11.2.1.8).
const NO_TAG: TaskTag = TaskTag(u32::MAX);

/// Who a task belongs to and how it wants to run.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Its I_T nexus.
    pub nexus: NexusId,
    /// Its tag within the nexus.
    pub tag: TaskTag,
    /// Its attribute.
    pub attribute: TaskAttribute,
    /// Its blocks.
    pub claim: Claim,
}

struct Entry {
    sequence: u64,
    entrant: Entrant,
    /// It is no command of this unit but a step of one, maybe of another unit: only its claim counts.
    step: bool,
    /// Tasks in its way that are still in the set.
    blockers: u32,
    /// The next sequence number at the time when it started.
    started: Option<u64>,
    abort: Option<Abort>,
    waker: Option<Waker>,
}

impl Entry {
    /// Whether `self` must have left before `other` may start. The answer stays the same as long as `other` has not started.
    fn blocks(&self, other: &Entry) -> bool {
        let conflict = || self.entrant.claim.conflicts(&other.entrant.claim);
        let started_before = || self.started.is_some_and(|at| at <= other.sequence);
        // A step waits for nothing but claims that are held and older steps: a command that waits may wait for the very command whose step it
        // is. Neither holders of claims nor steps ever wait for anything of another unit.
        if other.step {
            return (self.step && self.sequence < other.sequence || !self.step && started_before())
                && conflict();
        }
        if self.step {
            return conflict();
        }
        let attributes = (self.entrant.attribute, other.entrant.attribute);
        if self.sequence > other.sequence {
            // SAM-5 8.5.4: a head of queue task goes before all that have not started yet.
            return attributes.0 == TaskAttribute::HeadOfQueue;
        }
        match attributes {
            (_, TaskAttribute::HeadOfQueue) => started_before() && conflict(),
            // SAM-5 8.5.3: ordered tasks wait for all older ones, and later ones wait for them.
            (TaskAttribute::HeadOfQueue | TaskAttribute::Ordered, _) | (_, TaskAttribute::Ordered) => true,
            _ => conflict(),
        }
    }

    /// Whether it can be in the way of a simple task with a shared claim, or is affected by the arrival of others.
    fn is_special(&self) -> bool {
        self.entrant.claim.is_exclusive()
            || matches!(self.entrant.attribute, TaskAttribute::Ordered | TaskAttribute::HeadOfQueue)
    }
}

#[derive(Default)]
struct Inner {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    next: u64,
    /// Entries that are [`Entry::is_special`]; while there are none, ordinary tasks need not look at the others.
    special: usize,
    waiting: usize,
    /// Waiting for aborted tasks to leave.
    drainers: Vec<Waker>,
}

impl Inner {
    fn present(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    fn entry(&mut self, slot: usize) -> Option<&mut Entry> {
        self.entries.get_mut(slot)?.as_mut()
    }
}

/// See the module.
#[derive(Default)]
pub struct TaskSet {
    inner: Mutex<Inner>,
    /// Counts abort orders, so that a running task learns without a lock that none concerns it.
    abort_orders: AtomicU64,
}

impl TaskSet {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in. It has to wait for [`Task::started`] before it does anything.
    pub fn enter(&self, entrant: Entrant) -> Task<'_> {
        self.admit(entrant, false)
    }

    /// A step of a command enters the set, for as long as it works on the blocks of its claim; the command itself may be one of another
    /// unit. Task attributes mean nothing to it, and no function that names a task by its tag finds it. It must not wait for anything else
    /// while it is in the set.
    pub fn enter_step(&self, nexus: NexusId, claim: Claim) -> Task<'_> {
        self.admit(Entrant { nexus, tag: NO_TAG, attribute: TaskAttribute::Simple, claim }, true)
    }

    fn admit(&self, entrant: Entrant, step: bool) -> Task<'_> {
        let mut inner = self.lock();
        let sequence = inner.next;
        inner.next += 1;
        let mut entry =
            Entry { sequence, entrant, step, blockers: 0, started: None, abort: None, waker: None };
        let special = entry.is_special();
        if special || inner.special > 0 || inner.waiting > 0 {
            entry.blockers = inner.present().filter(|other| other.blocks(&entry)).count() as u32;
            for waiter in inner.entries.iter_mut().flatten().filter(|other| other.started.is_none()) {
                waiter.blockers += u32::from(entry.blocks(waiter));
            }
        }
        let started = entry.blockers == 0;
        if started {
            entry.started = Some(sequence + 1);
        }
        inner.special += usize::from(special);
        inner.waiting += usize::from(!started);
        let slot = match inner.free.pop() {
            Some(slot) => slot,
            None => {
                inner.entries.push(None);
                inner.entries.len() - 1
            }
        };
        if let Some(place) = inner.entries.get_mut(slot) {
            *place = Some(entry);
        }
        let abort_orders = self.abort_orders.load(Ordering::Relaxed);
        Task { set: self, slot, started, abort_orders, left: false }
    }

    fn leave(&self, slot: usize) -> Option<Abort> {
        let mut wakers: SmallVec<[Waker; 4]> = SmallVec::new();
        let mut inner = self.lock();
        let gone = inner.entries.get_mut(slot).and_then(Option::take)?;
        inner.free.push(slot);
        inner.special -= usize::from(gone.is_special());
        inner.waiting -= usize::from(gone.started.is_none());
        if inner.waiting > 0 {
            for waiter in inner.entries.iter_mut().flatten().filter(|other| other.started.is_none()) {
                if gone.blocks(waiter) {
                    waiter.blockers -= 1;
                    if waiter.blockers == 0 {
                        wakers.extend(waiter.waker.take());
                    }
                }
            }
        }
        wakers.extend(inner.drainers.drain(..));
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        gone.abort
    }

    /// Marks the tasks that `choose` names as aborted, and tells which they are. They end by themselves, soon: see [`Self::gone`]. A task
    /// that is aborted already stays as it was marked first.
    pub fn abort(&self, mut choose: impl FnMut(NexusId, TaskTag) -> Option<Abort>) -> Vec<Sequence> {
        let mut wakers: SmallVec<[Waker; 4]> = SmallVec::new();
        let mut chosen = Vec::new();
        let mut inner = self.lock();
        for entry in inner.entries.iter_mut().flatten() {
            if let Some(abort) = choose(entry.entrant.nexus, entry.entrant.tag) {
                entry.abort.get_or_insert(abort);
                wakers.extend(entry.waker.take());
                chosen.push(Sequence(entry.sequence));
            }
        }
        if !chosen.is_empty() {
            self.abort_orders.fetch_add(1, Ordering::Release);
        }
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        chosen
    }

    /// Ready when none of these tasks is in the set any more: none of them can have any further effect.
    pub async fn gone(&self, mut tasks: Vec<Sequence>) {
        poll_fn(|context| {
            let mut inner = self.lock();
            // Sorted once per look, for a reset may wait for thousands, and each that leaves gives reason to look again.
            let mut present: Vec<u64> = inner.present().map(|entry| entry.sequence).collect();
            present.sort_unstable();
            tasks.retain(|task| present.binary_search(&task.0).is_ok());
            if tasks.is_empty() {
                return Poll::Ready(());
            }
            if !inner.drainers.iter().any(|waker| waker.will_wake(context.waker())) {
                inner.drainers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// The tasks that are in the set now.
    pub fn present(&self) -> Vec<Sequence> {
        self.lock().present().map(|entry| Sequence(entry.sequence)).collect()
    }

    /// Whether the set holds a task that `test` agrees to.
    pub fn any(&self, mut test: impl FnMut(NexusId, TaskTag) -> bool) -> bool {
        self.lock().present().any(|entry| test(entry.entrant.nexus, entry.entrant.tag))
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.lock().present().count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A task's membership in its set. It leaves the set when it is finished or dropped, whatever was the reason.
pub struct Task<'a> {
    set: &'a TaskSet,
    slot: usize,
    started: bool,
    abort_orders: u64,
    left: bool,
}

impl Task<'_> {
    /// Ready when nothing is in the task's way any more, or it is aborted.
    pub async fn started(&mut self) {
        if self.started {
            return;
        }
        poll_fn(|context| {
            let mut inner = self.set.lock();
            let next = inner.next;
            let Some(entry) = inner.entry(self.slot) else { return Poll::Ready(()) };
            if entry.blockers > 0 {
                if entry.abort.is_some() {
                    return Poll::Ready(());
                }
                entry.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            entry.started = Some(next);
            entry.waker = None;
            inner.waiting -= 1;
            Poll::Ready(())
        })
        .await;
        self.started = true;
    }

    /// Gives up the task's claim while it stays in the set: what waits for its blocks may go on.
    pub fn relinquish(&self) {
        let mut wakers: SmallVec<[Waker; 4]> = SmallVec::new();
        let mut inner = self.set.lock();
        let Some(entry) = inner.entry(self.slot) else { return };
        let was_special = entry.is_special();
        let claimed = std::mem::replace(&mut entry.entrant.claim, Claim::None);
        let (sequence, step) = (entry.sequence, entry.step);
        let (attribute, started) = (entry.entrant.attribute, entry.started);
        inner.special -=
            usize::from(was_special && !inner.entry(self.slot).is_some_and(|own| own.is_special()));
        // As it was, for the comparison with what it is now.
        let entrant = Entrant { nexus: NexusId(0), tag: TaskTag(0), attribute, claim: claimed };
        let before = Entry { sequence, entrant, step, blockers: 0, started, abort: None, waker: None };
        let after = Entry {
            entrant: Entrant { claim: Claim::None, ..before.entrant.clone() },
            waker: None,
            ..before
        };
        for waiter in inner.entries.iter_mut().flatten().filter(|other| other.started.is_none()) {
            if before.blocks(waiter) && !after.blocks(waiter) {
                waiter.blockers -= 1;
                if waiter.blockers == 0 {
                    wakers.extend(waiter.waker.take());
                }
            }
        }
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ready when the task is aborted.
    pub async fn aborted(&self) {
        poll_fn(|context| {
            let mut inner = self.set.lock();
            let Some(entry) = inner.entry(self.slot) else { return Poll::Ready(()) };
            if entry.abort.is_some() {
                return Poll::Ready(());
            }
            entry.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Whether the task was aborted: long work stops at the next convenient point.
    pub fn is_aborted(&self) -> bool {
        if self.set.abort_orders.load(Ordering::Acquire) == self.abort_orders {
            return false;
        }
        self.set.lock().entry(self.slot).is_none_or(|entry| entry.abort.is_some())
    }

    /// Leaves the set; tells whether the task was aborted.
    pub fn finish(mut self) -> Option<Abort> {
        self.left = true;
        self.set.leave(self.slot)
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        if !self.left {
            self.set.leave(self.slot);
        }
    }
}

#[cfg(test)]
#[path = "task_set_tests.rs"]
mod tests;
