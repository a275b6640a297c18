//! A byte string in several pieces: write data as it was split from receive buffers, read data as a backend gave it.

use bytes::Bytes;
use smallvec::SmallVec;

/// Bytes in order, held as reference-counted pieces; never copied to be joined.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    pieces: SmallVec<[Bytes; 2]>,
    len: usize,
}

impl Payload {
    /// An empty payload.
    pub fn new() -> Self {
        Self::default()
    }

    /// Total length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a piece at the end; an empty piece is dropped.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push(piece);
        }
    }

    /// Adds all pieces of `other` at the end.
    pub fn append(&mut self, other: Payload) {
        self.len += other.len;
        self.pieces.extend(other.pieces);
    }

    /// The pieces in order, none of them empty.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// Keeps the first `len` bytes; nothing happens when it is shorter already.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            *self = self.slice(0, len);
        }
    }

    /// A view of `len` bytes from `offset`, shorter where the payload ends before.
    pub fn slice(&self, offset: usize, len: usize) -> Payload {
        let mut out = Payload::new();
        let (mut skip, mut left) = (offset, len);
        for piece in &self.pieces {
            if left == 0 {
                break;
            }
            if skip >= piece.len() {
                skip -= piece.len();
                continue;
            }
            let take = left.min(piece.len() - skip);
            out.push(piece.slice(skip..skip + take));
            skip = 0;
            left -= take;
        }
        out
    }

    /// Copies the bytes into `out`; returns how many, the lesser of both lengths.
    pub fn copy_to_slice(&self, out: &mut [u8]) -> usize {
        let mut at = 0;
        for piece in &self.pieces {
            let take = piece.len().min(out.len() - at);
            out[at..at + take].copy_from_slice(&piece[..take]);
            at += take;
            if at == out.len() {
                break;
            }
        }
        at
    }

    /// The whole as one piece: free of cost when it is one already, a copy otherwise.
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            _ => {
                let mut all = Vec::with_capacity(self.len);
                self.pieces.iter().for_each(|piece| all.extend_from_slice(piece));
                all.into()
            }
        }
    }
}

/// By content, however it is cut into pieces.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.pieces.iter().flatten().eq(other.pieces.iter().flatten())
    }
}

impl Eq for Payload {}

impl From<Bytes> for Payload {
    fn from(piece: Bytes) -> Self {
        let mut payload = Payload::new();
        payload.push(piece);
        payload
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
