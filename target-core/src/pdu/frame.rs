//! Finds PDUs in a stream of bytes.

use super::digest::{self, DIGEST_LEN};
use super::fields::BHS_LEN;
use crate::login::parameters::Digest;
use bytes::{Buf, Bytes, BytesMut};

/// A PDU in its parts, digests checked and taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Basic header segment.
    pub bhs: [u8; BHS_LEN],
    /// Additional header segments, a whole number of words.
    pub ahs: Bytes,
    /// Data segment without its padding: a part of the receive buffer.
    pub data: Bytes,
}

/// Bytes that make no PDU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The header digest does not fit. Where the next PDU begins is unknown: the connection is lost at ErrorRecoveryLevel 0
    /// (RFC 7143 §7.7), and the decoder gives this error for ever.
    #[error("header digest error")]
    HeaderDigest,
    /// The data digest does not fit. The PDU is consumed, the next one can be decoded (RFC 7143 §7.7 asks for a Reject with
    /// reason 2).
    #[error("data digest error")]
    DataDigest {
        /// Header of the PDU.
        bhs: [u8; BHS_LEN],
    },
    /// More data is announced than was allowed. The decoder gives this error for ever.
    #[error("data segment of {length} bytes where {limit} are allowed")]
    DataSegmentTooLong {
        /// Header of the PDU.
        bhs: [u8; BHS_LEN],
        /// DataSegmentLength in bytes.
        length: u32,
        /// MaxRecvDataSegmentLength in bytes.
        limit: u32,
    },
}

/// A header that has arrived, its data segment not yet.
#[derive(Debug)]
struct Head {
    bhs: [u8; BHS_LEN],
    ahs: Bytes,
    data_length: usize,
}

/// Splits a receive buffer into [`Frame`]s.
///
/// Holds one header at most, and asks for no memory: a data segment stays in the caller's buffer until all of it is there.
#[derive(Debug)]
pub struct FrameDecoder {
    max_data_segment_length: u32,
    header_digest: Digest,
    data_digest: Digest,
    head: Option<Head>,
}

impl FrameDecoder {
    /// A decoder without digests; the limit is in bytes.
    pub fn new(max_data_segment_length: u32) -> Self {
        Self { max_data_segment_length, header_digest: Digest::None, data_digest: Digest::None, head: None }
    }

    /// Sets the digests that hold from the next PDU on.
    pub fn set_digests(&mut self, header: Digest, data: Digest) {
        self.header_digest = header;
        self.data_digest = data;
    }

    /// Sets the longest data segment taken from the next PDU on: the MaxRecvDataSegmentLength that we declared.
    pub fn set_max_data_segment_length(&mut self, length: u32) {
        self.max_data_segment_length = length;
    }

    /// Takes data segments of this length too from the next PDU on.
    pub fn raise_max_data_segment_length(&mut self, length: u32) {
        self.max_data_segment_length = self.max_data_segment_length.max(length);
    }

    /// Bytes that the PDU in progress lacks at the least when so many are buffered and `decode` has given `None`: 1 or more,
    /// so that a reader can make room for the rest of a data segment at once.
    pub fn missing(&self, buffered: usize) -> usize {
        let wanted = match &self.head {
            Some(head) => self.tail_length(head),
            None => BHS_LEN + if self.header_digest == Digest::Crc32c { DIGEST_LEN } else { 0 },
        };
        wanted.saturating_sub(buffered).max(1)
    }

    /// Takes one PDU off the front of `input`; `None` when more bytes are needed first.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let head = match self.head.take() {
            Some(head) => head,
            None => match self.decode_head(input)? {
                Some(head) => head,
                None => return Ok(None),
            },
        };
        let tail = self.tail_length(&head);
        if input.len() < tail {
            self.head = Some(head);
            return Ok(None);
        }
        let Head { bhs, ahs, data_length } = head;
        if data_length == 0 {
            return Ok(Some(Frame { bhs, ahs, data: Bytes::new() }));
        }
        let mut data = input.split_to(tail);
        if self.data_digest == Digest::Crc32c {
            let received = data.split_off(tail - DIGEST_LEN);
            if digest::crc32c([&data[..]]) != received[..] {
                return Err(FrameError::DataDigest { bhs });
            }
        }
        data.truncate(data_length);
        Ok(Some(Frame { bhs, ahs, data: data.freeze() }))
    }

    /// Takes the header segments off `input`, checked; nothing is taken on an error.
    fn decode_head(&self, input: &mut BytesMut) -> Result<Option<Head>, FrameError> {
        let Some(&bhs) = input.first_chunk::<BHS_LEN>() else { return Ok(None) };
        let [_, _, _, _, ahs_words, length_high, length_mid, length_low, ..] = bhs;
        let ahs_length = usize::from(ahs_words) * 4;
        let header_length = BHS_LEN + ahs_length;
        match self.header_digest {
            Digest::None if input.len() < header_length => return Ok(None),
            Digest::None => {}
            Digest::Crc32c => {
                let Some((header, digest)) = input.split_at_checked(header_length) else { return Ok(None) };
                let Some(received) = digest.first_chunk::<DIGEST_LEN>() else { return Ok(None) };
                if digest::crc32c([header]) != *received {
                    return Err(FrameError::HeaderDigest);
                }
            }
        }
        let length = u32::from_be_bytes([0, length_high, length_mid, length_low]);
        if length > self.max_data_segment_length {
            return Err(FrameError::DataSegmentTooLong { bhs, length, limit: self.max_data_segment_length });
        }
        input.advance(BHS_LEN);
        let ahs = if ahs_length == 0 { Bytes::new() } else { input.split_to(ahs_length).freeze() };
        if self.header_digest == Digest::Crc32c {
            input.advance(DIGEST_LEN);
        }
        Ok(Some(Head { bhs, ahs, data_length: length as usize }))
    }

    /// Bytes of data segment, padding and data digest.
    fn tail_length(&self, head: &Head) -> usize {
        match (head.data_length, self.data_digest) {
            (0, _) => 0,
            (length, Digest::None) => length.next_multiple_of(4),
            (length, Digest::Crc32c) => length.next_multiple_of(4) + DIGEST_LEN,
        }
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
