//! PDUs on their way out, ready for vectored writes.

use super::output::{Digests, Output};
use super::target::{Numbering, TargetPdu};
use crate::login::parameters::Digest;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Pieces up to this many bytes are copied beside their header: cheaper than a slice of their own in the vector.
const COPY_LIMIT: usize = 512;
/// So much of the arena may be written out before it is moved up or, when empty, be kept for the next PDUs.
const ARENA_KEPT: usize = 64 * 1024;

/// Bytes in order, as runs of the arena and payload pieces by reference.
#[derive(Debug)]
enum Run {
    /// So many bytes of the arena, after those of the runs before.
    Arena(usize),
    Shared(Bytes),
}

/// Encoded PDUs that wait to be written: headers and small data gathered in an arena, payload by reference.
///
/// It is a [`Buf`]: write `chunks_vectored`, then `advance` by what was written.
#[derive(Debug, Default)]
pub struct TransmitQueue {
    arena: Vec<u8>,
    /// Where the first unwritten byte of the arena is.
    start: usize,
    runs: VecDeque<Run>,
    len: usize,
}

impl TransmitQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encodes a PDU at the end. Its data segment must not be longer than the 24 bits of DataSegmentLength can tell.
    pub fn push(
        &mut self,
        pdu: &TargetPdu,
        numbering: Numbering,
        header_digest: Digest,
        data_digest: Digest,
    ) {
        pdu.write(numbering, Digests { header: header_digest, data: data_digest }, self);
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The arena's bytes from `at`, as many as there are up to `len`.
    fn arena(&self, at: usize, len: usize) -> &[u8] {
        self.arena.get(at..at + len).unwrap_or_default()
    }

    /// Gives the arena's written part back once that pays.
    fn reclaim(&mut self) {
        if self.runs.is_empty() {
            self.arena.clear();
            self.arena.shrink_to(ARENA_KEPT);
            self.start = 0;
        } else if self.start > ARENA_KEPT && self.start > self.arena.len() / 2 {
            self.arena.drain(..self.start);
            self.start = 0;
        }
    }
}

impl Output for TransmitQueue {
    fn copy(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.arena.extend_from_slice(bytes);
        self.len += bytes.len();
        match self.runs.back_mut() {
            Some(Run::Arena(len)) => *len += bytes.len(),
            _ => self.runs.push_back(Run::Arena(bytes.len())),
        }
    }

    fn share(&mut self, piece: &Bytes) {
        if piece.len() <= COPY_LIMIT {
            return self.copy(piece);
        }
        self.len += piece.len();
        self.runs.push_back(Run::Shared(piece.clone()));
    }
}

impl Buf for TransmitQueue {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        match self.runs.front() {
            Some(Run::Arena(len)) => self.arena(self.start, *len),
            Some(Run::Shared(piece)) => piece,
            None => &[],
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut at = self.start;
        let mut filled = 0;
        for (slice, run) in slices.iter_mut().zip(&self.runs) {
            *slice = IoSlice::new(match run {
                Run::Arena(len) => {
                    let run = self.arena(at, *len);
                    at += len;
                    run
                }
                Run::Shared(piece) => piece,
            });
            filled += 1;
        }
        filled
    }

    /// Passes over `count` bytes that were written; past the end it stops there.
    fn advance(&mut self, mut count: usize) {
        while let Some(run) = self.runs.front_mut() {
            let (taken, left) = match run {
                Run::Arena(len) => {
                    let taken = count.min(*len);
                    *len -= taken;
                    self.start += taken;
                    (taken, *len)
                }
                Run::Shared(piece) => {
                    let taken = count.min(piece.len());
                    piece.advance(taken);
                    (taken, piece.len())
                }
            };
            self.len -= taken;
            count -= taken;
            if left != 0 {
                break;
            }
            self.runs.pop_front();
        }
        self.reclaim();
    }
}

#[cfg(test)]
#[path = "transmit_tests.rs"]
mod tests;
