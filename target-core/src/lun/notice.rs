//! What a device server has to tell the transport of a nexus unasked: that tasks are aborted which the transport has not handed over yet,
//! and conditions that are worth a word before the next command asks.
//!
//! A command whose data-out is on its way is in the task set by SAM-5, and known to the transport alone. Whoever aborts the tasks of
//! another nexus tells its transport so and waits until that has obeyed; one that has ended has obeyed.

use super::task_set::Abort;
use crate::scsi::command::NexusId;
use crate::scsi::lun_address::{LunAddress, LunKind};
use crate::scsi::sense::Asc;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// One thing to be told.
#[derive(Debug)]
pub enum Notice {
    /// Tasks are aborted.
    Abort(AbortOrder),
    /// A unit attention condition was established that tells of a change of the unit.
    Event {
        /// The unit.
        lun: LunAddress,
        /// The condition.
        condition: Asc,
    },
}

/// The tasks of a nexus in one unit that its transport has not handed over are aborted. It counts as obeyed when it is dropped.
pub struct AbortOrder {
    unit: u16,
    how: Abort,
    silenced: Arc<dyn Fn() + Send + Sync>,
    _receipt: Receipt,
}

impl AbortOrder {
    /// Whether a task of this address is meant.
    pub fn concerns(&self, lun: LunAddress) -> bool {
        lun.kind() == LunKind::Unit(self.unit)
    }

    /// The unit.
    pub fn lun(&self) -> LunAddress {
        LunAddress::from_number(self.unit)
    }

    /// How the tasks end.
    pub fn how(&self) -> Abort {
        self.how
    }

    /// To be told in the end: how many tasks there were. Who hears nothing of them otherwise gets a unit attention.
    pub fn obeyed(self, tasks: usize) {
        if tasks > 0 && self.how == Abort::Silent {
            (self.silenced)();
        }
    }
}

impl fmt::Debug for AbortOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortOrder").field("unit", &self.unit).field("how", &self.how).finish_non_exhaustive()
    }
}

/// Those who want to be told.
#[derive(Default)]
pub struct Notices {
    listeners: Mutex<Listeners>,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    present: Vec<Entry>,
}

struct Entry {
    id: u64,
    nexus: NexusId,
    waiting: Vec<Notice>,
    waker: Waker,
}

impl Entry {
    fn tell(&mut self, notice: Notice) {
        self.waiting.push(notice);
        self.waker.wake_by_ref();
    }
}

impl Notices {
    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps notices for a transport, or a part of it, that serves the nexus; `waker` is woken for each.
    pub fn listen(self: &Arc<Self>, nexus: NexusId, waker: Waker) -> Listener {
        let mut listeners = self.lock();
        let id = listeners.next;
        listeners.next += 1;
        listeners.present.push(Entry { id, nexus, waiting: Vec::new(), waker });
        Listener { notices: Arc::clone(self), id }
    }

    /// Tells every nexus of a condition, each through one of its listeners.
    pub fn announce(&self, lun: LunAddress, condition: Asc) {
        let mut listeners = self.lock();
        let mut told: Vec<NexusId> = Vec::new();
        for entry in &mut listeners.present {
            if !told.contains(&entry.nexus) {
                told.push(entry.nexus);
                entry.tell(Notice::Event { lun, condition });
            }
        }
    }

    /// Tells one nexus of a condition, through one of its listeners.
    pub fn announce_to(&self, nexus: NexusId, lun: LunAddress, condition: Asc) {
        if let Some(entry) = self.lock().present.iter_mut().find(|entry| entry.nexus == nexus) {
            entry.tell(Notice::Event { lun, condition });
        }
    }

    /// Has the transports of nexuses abort their tasks in a unit, each as `choose` says. `silenced` is called for a nexus that hears
    /// nothing of it otherwise. What comes back is to be waited for.
    pub fn abort(
        &self,
        unit: u16,
        choose: impl Fn(NexusId) -> Option<Abort>,
        silenced: impl Fn(NexusId) + Clone + Send + Sync + 'static,
    ) -> Obeyed {
        let latch = Arc::new(Latch::default());
        for entry in &mut self.lock().present {
            let Some(how) = choose(entry.nexus) else { continue };
            let (silenced, nexus) = (silenced.clone(), entry.nexus);
            entry.tell(Notice::Abort(AbortOrder {
                unit,
                how,
                silenced: Arc::new(move || silenced(nexus)),
                _receipt: Receipt::of(&latch),
            }));
        }
        Obeyed(latch)
    }
}

/// One who is told. When it is dropped all that waits for it counts as done.
pub struct Listener {
    notices: Arc<Notices>,
    id: u64,
}

impl Listener {
    /// What has come since the last time, in order.
    pub fn take(&self) -> Vec<Notice> {
        let mut listeners = self.notices.lock();
        let entry = listeners.present.iter_mut().find(|entry| entry.id == self.id);
        entry.map_or_else(Vec::new, |entry| std::mem::take(&mut entry.waiting))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut listeners = self.notices.lock();
        let at = listeners.present.iter().position(|entry| entry.id == self.id);
        // Woken are those who wait for it, after the lock is free.
        let gone = at.map(|at| listeners.present.remove(at));
        drop(listeners);
        drop(gone);
    }
}

/// Counts the orders that are not obeyed yet.
#[derive(Default)]
struct Latch(Mutex<(usize, Option<Waker>)>);

impl Latch {
    fn lock(&self) -> MutexGuard<'_, (usize, Option<Waker>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Receipt(Arc<Latch>);

impl Receipt {
    fn of(latch: &Arc<Latch>) -> Self {
        latch.lock().0 += 1;
        Self(Arc::clone(latch))
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let waker = {
            let mut latch = self.0.lock();
            latch.0 -= 1;
            if latch.0 == 0 { latch.1.take() } else { None }
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Orders that were given; none to begin with.
#[derive(Default)]
#[must_use]
pub struct Obeyed(Arc<Latch>);

impl Obeyed {
    /// Ready when all of them are obeyed.
    pub async fn all(&self) {
        poll_fn(|context| {
            let mut latch = self.0.lock();
            if latch.0 == 0 {
                return Poll::Ready(());
            }
            latch.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
