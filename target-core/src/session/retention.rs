//! What is kept of receive buffers. A piece of a buffer keeps all of it alive, so whoever keeps small pieces between much that is thrown
//! away holds many times the memory that anyone counts.

use bytes::Bytes;

/// Shorter data is not worth keeping by reference: whoever collects it joins it by copying.
pub(super) const SHORTEST_PIECE: usize = 4096;
/// Bytes that may come for each byte that is kept.
const COME_FOR_KEPT: usize = 4;
/// Bytes beyond that which are passed over: what has come is counted before it is known what it is.
const PASSED_OVER: usize = 512 << 10;
/// Most that is held against an initiator, so that one which has read for long soon writes without copies.
const REMEMBERED: usize = 1 << 20;

/// Tells which data to keep as a part of its receive buffer and which to copy out.
#[derive(Debug, Default)]
pub(super) struct Retention {
    /// Bytes that have come without enough of them being kept.
    idle: usize,
}

impl Retention {
    /// So many bytes have come.
    pub(super) fn came(&mut self, bytes: usize) {
        self.idle = self.idle.saturating_add(bytes).min(REMEMBERED);
    }

    /// Data that will be kept: as it is, or a copy when that costs less memory.
    pub(super) fn keep(&mut self, data: Bytes) -> Bytes {
        if data.len() < SHORTEST_PIECE {
            return data;
        }
        self.idle = self.idle.saturating_sub(data.len().saturating_mul(COME_FOR_KEPT));
        if self.idle > PASSED_OVER { Bytes::copy_from_slice(&data) } else { data }
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
