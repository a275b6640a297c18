//! The buffers that WRITE BUFFER fills and READ BUFFER gives back (SPC-5 6.18, 6.49): one for all nexuses, and an echo buffer for each.

use crate::scsi::command::NexusId;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of the buffer that all nexuses share.
pub const DATA_CAPACITY: usize = 64 * 1024;

/// Bytes of an echo buffer: the most that its descriptor can tell.
pub const ECHO_CAPACITY: usize = 4096;

/// See the module. Memory is taken only when something is written.
#[derive(Default)]
pub struct Buffers {
    data: Mutex<Vec<u8>>,
    echoes: Mutex<HashMap<NexusId, Bytes>>,
}

impl Buffers {
    fn data(&self) -> MutexGuard<'_, Vec<u8>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn echoes(&self) -> MutexGuard<'_, HashMap<NexusId, Bytes>> {
        self.echoes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes to the shared buffer; false where it would not fit.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len()).filter(|end| *end <= DATA_CAPACITY) else {
            return false;
        };
        let mut data = self.data();
        if data.len() < end {
            data.resize(end, 0);
        }
        if let Some(place) = data.get_mut(offset..end) {
            place.copy_from_slice(bytes);
        }
        true
    }

    /// The shared buffer from `offset` on, at most `len` bytes of it; what was never written is zero. None where it begins beyond the end.
    pub fn read(&self, offset: usize, len: usize) -> Option<Vec<u8>> {
        let room = DATA_CAPACITY.checked_sub(offset)?;
        let data = self.data();
        let mut bytes: Vec<u8> = data.iter().skip(offset).take(len).copied().collect();
        bytes.resize(len.min(room), 0);
        Some(bytes)
    }

    /// Fills the echo buffer of a nexus.
    pub fn set_echo(&self, nexus: NexusId, bytes: Bytes) {
        self.echoes().insert(nexus, bytes);
    }

    /// The echo buffer of a nexus, where it was filled.
    pub fn echo(&self, nexus: NexusId) -> Option<Bytes> {
        self.echoes().get(&nexus).cloned()
    }

    /// Gives back what a nexus holds.
    pub fn forget(&self, nexus: NexusId) {
        self.echoes().remove(&nexus);
    }

    /// Empties all (after a reset).
    pub fn clear(&self) {
        *self.data() = Vec::new();
        self.echoes().clear();
    }
}
