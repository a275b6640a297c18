//! What third-party copy commands have come to, by LIST IDENTIFIER, for those who ask later (SPC-5 5.17.4).

use super::tokens::RodToken;
use crate::scsi::command::NexusId;
use crate::scsi::sense::{Sense, Status};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Operations that a nexus may have under way at a time.
pub const CONCURRENT: usize = 16;
/// Results that are held for a nexus; the oldest make room.
const HELD: usize = 64;
/// How long they are held.
const HELD_FOR: Duration = Duration::from_secs(300);

/// Which commands share a number space of list identifiers: one byte, or four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListId {
    /// EXTENDED COPY(LID1).
    Short(u8),
    /// All others.
    Long(u32),
}

/// COPY OPERATION STATUS of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// All is done.
    Complete = 0x01,
    /// It failed.
    Failed = 0x02,
    /// It ended early, without error: the token had less.
    Residual = 0x03,
    /// COPY OPERATION ABORT ended it.
    Terminated = 0x60,
}

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct End {
    /// Well or not.
    pub ending: Ending,
    /// The command's status.
    pub status: Status,
    /// Its sense data.
    pub sense: Option<Sense>,
    /// The token that it made.
    pub token: Option<RodToken>,
    at: Instant,
}

impl End {
    /// An end without sense data or token.
    pub fn new(ending: Ending, status: Status, at: Instant) -> Self {
        Self { ending, status, sense: None, token: None, at }
    }
}

/// One operation, under way or over.
#[derive(Debug)]
pub struct Operation {
    /// SERVICE ACTION of its command.
    pub service_action: u8,
    list_id: Option<ListId>,
    halted: AtomicBool,
    bytes: AtomicU64,
    segments: AtomicU16,
    end: Mutex<Option<End>>,
}

impl Operation {
    fn lock(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many bytes more are written.
    pub fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that are written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// One segment more is done.
    pub fn segment_done(&self) {
        self.segments.fetch_add(1, Ordering::Relaxed);
    }

    /// Segments that are done.
    pub fn segments(&self) -> u16 {
        self.segments.load(Ordering::Relaxed)
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
        self.lock().clone()
    }

    fn is_running(&self) -> bool {
        self.lock().is_none()
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.lock().as_ref().is_some_and(|end| now.saturating_duration_since(end.at) >= HELD_FOR)
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

/// The operations of all nexuses.
#[derive(Default)]
pub struct Operations(Mutex<HashMap<NexusId, VecDeque<Arc<Operation>>>>);

impl Operations {
    fn lock(&self) -> MutexGuard<'_, HashMap<NexusId, VecDeque<Arc<Operation>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation; what is held of an earlier one with the same list identifier is thrown away.
    pub fn begin(
        &self,
        nexus: NexusId,
        service_action: u8,
        list_id: Option<ListId>,
        now: Instant,
    ) -> Result<Running<'_>, Refusal> {
        let mut all = self.lock();
        let own = all.entry(nexus).or_default();
        own.retain(|operation| !operation.is_stale(now));
        let same = |operation: &&Arc<Operation>| list_id.is_some() && operation.list_id == list_id;
        if own.iter().find(same).is_some_and(|operation| operation.is_running()) {
            return Err(Refusal::InUse);
        }
        if own.iter().filter(|operation| operation.is_running()).count() >= CONCURRENT {
            return Err(Refusal::TooMany);
        }
        own.retain(|operation| list_id.is_none() || operation.list_id != list_id);
        while own.len() >= HELD {
            match own.iter().position(|operation| !operation.is_running()) {
                Some(oldest) => own.remove(oldest),
                None => break,
            };
        }
        let operation = Arc::new(Operation {
            service_action,
            list_id,
            halted: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            segments: AtomicU16::new(0),
            end: Mutex::new(None),
        });
        own.push_back(Arc::clone(&operation));
        Ok(Running { all: self, nexus, operation, ended: false })
    }

    /// The operation of a list identifier.
    pub fn find(&self, nexus: NexusId, list_id: ListId, now: Instant) -> Option<Arc<Operation>> {
        let all = self.lock();
        let own = all.get(&nexus)?;
        own.iter().find(|own| own.list_id == Some(list_id) && !own.is_stale(now)).cloned()
    }

    /// Forgets what is held for a list identifier.
    pub fn discard(&self, nexus: NexusId, operation: &Arc<Operation>) {
        if let Some(own) = self.lock().get_mut(&nexus) {
            own.retain(|other| !Arc::ptr_eq(other, operation));
        }
    }

    /// Forgets a nexus.
    pub fn forget(&self, nexus: NexusId) {
        self.lock().remove(&nexus);
    }

    /// Operations that are known of a nexus.
    pub fn len(&self, nexus: NexusId) -> usize {
        self.lock().get(&nexus).map_or(0, VecDeque::len)
    }
}

/// An operation that is under way. Dropped without an end, because its command was aborted, it leaves nothing behind.
pub struct Running<'a> {
    all: &'a Operations,
    nexus: NexusId,
    operation: Arc<Operation>,
    ended: bool,
}

impl std::ops::Deref for Running<'_> {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

impl Running<'_> {
    /// Ends it. The result is held for those who ask, if it can be asked for.
    pub fn finish(mut self, end: End) {
        *self.operation.lock() = Some(end);
        self.ended = self.operation.list_id.is_some();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.all.discard(self.nexus, &self.operation);
        }
    }
}
