//! Additional header segments (RFC 7143 §11.2.2): those that a SCSI Command may have.
//!
//! Each is AHSLength (2 bytes), AHSType (1 byte), AHSLength bytes more, and padding to a whole word.

use super::error::RejectReason;
use super::header::{Parsed, byte, half, word};
use nom::Parser;
use nom::bytes::complete::take;
use smallvec::SmallVec;

const EXTENDED_CDB: u8 = 1;
const BIDIRECTIONAL_READ_LENGTH: u8 = 2;
/// The bits of AHSType that tell the kind.
const KIND_MASK: u8 = 0x3f;
/// AHSLength of a bidirectional read length: a reserved byte and the length.
const BIDIRECTIONAL_AHS_LENGTH: u16 = 5;

/// Bytes of a CDB that the basic header holds.
pub(super) const BASIC_CDB: usize = 16;
/// The longest CDB there is (SPC-5 4.2.4: variable length, ADDITIONAL CDB LENGTH FCh).
pub(super) const LONGEST_CDB: usize = 260;

/// What the segments of a SCSI Command say.
#[derive(Default)]
pub(super) struct Segments<'a> {
    /// What follows the first 16 bytes of the CDB.
    pub extended_cdb: &'a [u8],
    pub bidirectional_read_length: Option<u32>,
}

/// One segment: kind and content, its padding passed over.
fn segment(input: &[u8]) -> Parsed<'_, (u8, &[u8])> {
    let (input, (length, kind)) = (half, byte).parse(input)?;
    let (input, content) = take(length)(input)?;
    let padding = (3 + usize::from(length)).next_multiple_of(4) - 3 - usize::from(length);
    let (input, _) = take(padding)(input)?;
    Ok((input, (kind & KIND_MASK, content)))
}

/// Reads all segments; those of unknown kinds are passed over.
pub(super) fn parse(mut input: &[u8]) -> Result<Segments<'_>, RejectReason> {
    let mut found = Segments::default();
    while !input.is_empty() {
        let (rest, (kind, content)) = segment(input)?;
        input = rest;
        match (kind, content) {
            // The first byte of either is reserved.
            (EXTENDED_CDB, [_, cdb @ ..])
                if found.extended_cdb.is_empty()
                    && !cdb.is_empty()
                    && cdb.len() <= LONGEST_CDB - BASIC_CDB =>
            {
                found.extended_cdb = cdb;
            }
            (BIDIRECTIONAL_READ_LENGTH, [_, length @ ..])
                if found.bidirectional_read_length.is_none() && length.len() == 4 =>
            {
                found.bidirectional_read_length = Some(word(length)?.1);
            }
            (EXTENDED_CDB | BIDIRECTIONAL_READ_LENGTH, _) => return Err(RejectReason::InvalidPduField),
            _ => {}
        }
    }
    Ok(found)
}

impl Segments<'_> {
    /// The bytes of the segments, a whole number of words.
    pub(super) fn encode(&self) -> SmallVec<[u8; 8]> {
        let mut out = SmallVec::new();
        if !self.extended_cdb.is_empty() {
            let cdb = &self.extended_cdb[..self.extended_cdb.len().min(LONGEST_CDB - BASIC_CDB)];
            out.extend_from_slice(&(cdb.len() as u16 + 1).to_be_bytes());
            out.extend_from_slice(&[EXTENDED_CDB, 0]);
            out.extend_from_slice(cdb);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        if let Some(length) = self.bidirectional_read_length {
            out.extend_from_slice(&BIDIRECTIONAL_AHS_LENGTH.to_be_bytes());
            out.extend_from_slice(&[BIDIRECTIONAL_READ_LENGTH, 0]);
            out.extend_from_slice(&length.to_be_bytes());
        }
        out
    }
}

#[cfg(test)]
#[path = "ahs_tests.rs"]
mod tests;
