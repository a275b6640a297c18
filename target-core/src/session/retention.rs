//! What is kept of receive buffers. A piece of a buffer keeps all of it alive, so whoever keeps small pieces between much that is thrown
//! away holds many times the memory of its data. What lies between is counted as held too; where it would be too much, data is copied.

use bytes::Bytes;

/// Shorter data is not worth keeping by reference: whoever collects it joins it by copying.
pub(super) const SHORTEST_PIECE: usize = 4096;
/// Bytes of a buffer that are kept for each byte of data at the most.
const HELD_FOR_KEPT: usize = 4;
/// Bytes beyond that which are passed over.
const PASSED_OVER: usize = 256 << 10;
/// Most that is held against an initiator, so that one which has read for long soon writes without copies.
const REMEMBERED: usize = 512 << 10;

/// Tells which data to keep as a part of its receive buffer and which to copy out, and how much of its buffers is held thereby.
#[derive(Debug, Default)]
pub(super) struct Retention {
    /// Bytes of receive buffers that are neither kept data nor counted with any.
    idle: usize,
}

/// Data that is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) data: Bytes,
    /// Bytes of receive buffers that it keeps alive beyond itself.
    pub(super) beyond: u32,
}

impl Retention {
    /// So many bytes of receive buffers have been made use of, or left unused.
    pub(super) fn passed(&mut self, bytes: usize) {
        self.idle = self.idle.saturating_add(bytes).min(REMEMBERED);
    }

    /// Data that will be kept: as it is, or a copy when that costs less memory.
    pub(super) fn keep(&mut self, data: Bytes) -> Kept {
        if data.len() < SHORTEST_PIECE {
            return Kept { data, beyond: 0 };
        }
        self.idle = self.idle.saturating_sub(data.len());
        let beyond = self.idle.min(data.len().saturating_mul(HELD_FOR_KEPT - 1));
        self.idle -= beyond;
        match self.idle > PASSED_OVER {
            true => Kept { data: Bytes::copy_from_slice(&data), beyond: 0 },
            // No more than is remembered.
            false => Kept { data, beyond: beyond as u32 },
        }
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
