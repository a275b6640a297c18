//! Writes whole PDUs: header, additional header segments, data, padding and digests, into whatever takes bytes.

use super::digest;
use super::header::Bhs;
use crate::login::parameters::Digest;
use bytes::{BufMut, Bytes, BytesMut};

/// The longest data segment that the 24-bit DataSegmentLength can tell.
const MAX_DATA_SEGMENT: usize = 0xff_ffff;

/// Takes the bytes of PDUs in order.
pub(super) trait Output {
    /// Takes a copy.
    fn copy(&mut self, bytes: &[u8]);
    /// Takes a reference, or a copy where that is cheaper.
    fn share(&mut self, piece: &Bytes);
}

impl Output for BytesMut {
    fn copy(&mut self, bytes: &[u8]) {
        self.put_slice(bytes);
    }

    fn share(&mut self, piece: &Bytes) {
        self.put_slice(piece);
    }
}

/// The data segment of a PDU to be sent.
pub(super) enum DataSegment<'a> {
    Empty,
    /// Pieces that may be sent by reference. At most [`MAX_DATA_SEGMENT`] bytes.
    Shared(&'a [Bytes]),
    /// A few bytes.
    Copied(&'a [u8]),
    /// Sense data, with the SenseLength that goes before it (RFC 7143 §11.4.7).
    Sense(&'a [u8]),
}

impl<'a> From<&'a Bytes> for DataSegment<'a> {
    fn from(data: &'a Bytes) -> Self {
        Self::Shared(std::slice::from_ref(data))
    }
}

/// Digests in use on a connection.
#[derive(Clone, Copy)]
pub(super) struct Digests {
    pub header: Digest,
    pub data: Digest,
}

/// Writes one PDU. `ahs` is a whole number of words, as the encoders of [`super::ahs`] leave it.
pub(super) fn write(out: &mut impl Output, bhs: Bhs, ahs: &[u8], data: DataSegment<'_>, digests: Digests) {
    let sense_length;
    let (prefix, copied, shared): (&[u8], &[u8], &[Bytes]) = match data {
        DataSegment::Empty => (&[], &[], &[]),
        DataSegment::Shared(pieces) => (&[], &[], pieces),
        DataSegment::Copied(bytes) => (&[], bytes, &[]),
        DataSegment::Sense([]) => (&[], &[], &[]),
        DataSegment::Sense(sense) => {
            let sense = &sense[..sense.len().min(usize::from(u16::MAX))];
            sense_length = (sense.len() as u16).to_be_bytes();
            (&sense_length, sense, &[])
        }
    };
    let length = prefix.len() + copied.len() + shared.iter().map(Bytes::len).sum::<usize>();
    debug_assert!(length <= MAX_DATA_SEGMENT && ahs.len().is_multiple_of(4) && ahs.len() / 4 <= 0xff);

    let bhs = bhs.finish((ahs.len() / 4) as u8, length as u32);
    out.copy(&bhs);
    out.copy(ahs);
    if digests.header == Digest::Crc32c {
        out.copy(&digest::crc32c([&bhs, ahs]));
    }
    if length == 0 {
        return;
    }
    out.copy(prefix);
    out.copy(copied);
    shared.iter().for_each(|piece| out.share(piece));
    let padding = &[0; 3][..length.next_multiple_of(4) - length];
    out.copy(padding);
    if digests.data == Digest::Crc32c {
        let pieces = [prefix, copied].into_iter().chain(shared.iter().map(Bytes::as_ref)).chain([padding]);
        out.copy(&digest::crc32c(pieces));
    }
}
