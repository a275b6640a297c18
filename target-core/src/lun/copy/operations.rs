//! What the third-party copy commands of a unit have come to, by LIST IDENTIFIER, for those who ask later (SPC-5 5.17.4).

use super::tokens::RodToken;
use crate::scsi::command::NexusId;
use crate::scsi::sense::{Sense, Status};
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Operations that a nexus may have under way at a time on one unit.
pub const CONCURRENT: usize = 16;
/// Results that are held for a nexus; the oldest make room.
const HELD: usize = 64;

/// LIST ID USAGE (SPC-5 tables 128 and 129).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The operation has a name, and its results are held.
    Hold,
    /// It has a name as long as it is under way.
    Discard,
    /// It has no name.
    Anonymous,
}

/// COPY OPERATION STATUS of an end (SPC-5 table 249).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// All is done.
    Complete = 0x01,
    /// It failed.
    Failed = 0x02,
    /// It is done as far as the token went.
    PartialToken = 0x03,
    /// It was ended from outside.
    Terminated = 0x60,
}

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct End {
    /// Well or not.
    pub ending: Ending,
    /// Its status, which is its command's where that waited for it.
    pub status: Status,
    /// Its sense data.
    pub sense: Option<Sense>,
    /// The token that it made.
    pub token: Option<RodToken>,
}

impl End {
    /// The end of what was ended from outside (SPC-5 table 250).
    pub const TERMINATED: Self =
        Self { ending: Ending::Terminated, status: Status::TaskAborted, sense: None, token: None };
}

/// One operation, under way or over.
pub struct Operation {
    /// SERVICE ACTION of its command.
    pub service_action: u8,
    /// Its command has ended before it.
    pub in_background: bool,
    list_id: u32,
    usage: Usage,
    halted: AtomicBool,
    bytes: AtomicU64,
    segments: AtomicU16,
    steps: AtomicU16,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    end: Option<End>,
    waiters: Vec<Waker>,
}

impl Operation {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many bytes more are written, without a gap to those before.
    pub fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that are written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The next segment begins.
    pub fn begin_segment(&self) {
        self.segments.fetch_add(1, Ordering::Relaxed);
    }

    /// Segments that are done or under way.
    pub fn segments(&self) -> u16 {
        self.segments.load(Ordering::Relaxed)
    }

    /// Something was read or written.
    pub fn count_step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// OPERATION COUNTER.
    pub fn steps(&self) -> u16 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Asks it to stop.
    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }

    /// Whether it was asked to stop.
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// How it ended; None while it is under way.
    pub fn end(&self) -> Option<End> {
        self.lock().end.clone()
    }

    fn is_running(&self) -> bool {
        self.lock().end.is_none()
    }

    /// Ready when it has ended.
    pub async fn ended(&self) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.end.is_some() {
                return Poll::Ready(());
            }
            if !state.waiters.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiters.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// Why an operation can't begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// One with this list identifier is under way.
    InUse,
    /// Too many are under way.
    TooMany,
}

type Known = HashMap<NexusId, VecDeque<Arc<Operation>>>;

/// The operations of one unit.
#[derive(Clone, Default)]
pub struct Operations(Arc<Mutex<Known>>);

/// What is to be known of an operation before it begins.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Beginning {
    pub nexus: NexusId,
    pub service_action: u8,
    pub in_background: bool,
    pub list_id: u32,
    pub usage: Usage,
}

impl Operations {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation; what is held of an earlier one with the same list identifier is thrown away. A list identifier is a number of
    /// 32 bits, in however many of them it came (SPC-5 5.17.4.2).
    pub fn begin(&self, beginning: Beginning) -> Result<Running, Refusal> {
        let Beginning { nexus, service_action, in_background, list_id, usage } = beginning;
        let mut known = self.lock();
        let own = known.entry(nexus).or_default();
        let named = usage != Usage::Anonymous;
        let is_same = |other: &Operation| named && other.is_named(list_id);
        if own.iter().any(|other| is_same(other) && other.is_running()) {
            return Err(Refusal::InUse);
        }
        if own.iter().filter(|other| other.is_running()).count() >= CONCURRENT {
            return Err(Refusal::TooMany);
        }
        own.retain(|other| !is_same(other));
        while own.len() >= HELD {
            let Some(oldest) = own.iter().position(|other| !other.is_running()) else { break };
            own.remove(oldest);
        }
        let operation = Arc::new(Operation {
            service_action,
            in_background,
            list_id,
            usage,
            halted: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            segments: AtomicU16::new(0),
            steps: AtomicU16::new(0),
            state: Mutex::default(),
        });
        own.push_back(Arc::clone(&operation));
        Ok(Running { all: self.clone(), nexus, operation })
    }

    /// The operation of a list identifier.
    pub fn find(&self, nexus: NexusId, list_id: u32) -> Option<Arc<Operation>> {
        self.lock().get(&nexus)?.iter().find(|own| own.is_named(list_id)).cloned()
    }

    /// Forgets what is held of an operation.
    pub fn discard(&self, nexus: NexusId, operation: &Operation) {
        let mut known = self.lock();
        if let Some(own) = known.get_mut(&nexus) {
            own.retain(|other| !std::ptr::eq(Arc::as_ptr(other), operation));
            if own.is_empty() {
                known.remove(&nexus);
            }
        }
    }

    /// A nexus is lost: nothing is held for it any more (SPC-5 5.17.4.5).
    pub fn forget(&self, nexus: NexusId) {
        self.lock().remove(&nexus);
    }

    /// A reset: everything is aborted, and nothing is held (SPC-5 5.17.5).
    pub fn reset(&self) {
        self.lock().drain().flat_map(|(_, own)| own).for_each(|operation| operation.halt());
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.lock().values().map(VecDeque::len).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Operation {
    fn is_named(&self, list_id: u32) -> bool {
        self.usage != Usage::Anonymous && self.list_id == list_id
    }
}

/// An operation that is under way. Dropped, it counts as ended from outside.
pub struct Running {
    all: Operations,
    nexus: NexusId,
    operation: Arc<Operation>,
}

impl std::ops::Deref for Running {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

impl Running {
    /// Ends it. The result is held for those who ask, if that is wanted.
    pub fn finish(self, end: End) {
        self.conclude(end);
    }

    /// The first end counts.
    fn conclude(&self, end: End) {
        let waiters = {
            let mut state = self.operation.lock();
            if state.end.is_some() {
                return;
            }
            state.end = Some(end);
            std::mem::take(&mut state.waiters)
        };
        waiters.into_iter().for_each(Waker::wake);
        if self.operation.usage != Usage::Hold {
            self.all.discard(self.nexus, &self.operation);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.conclude(End::TERMINATED);
    }
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
