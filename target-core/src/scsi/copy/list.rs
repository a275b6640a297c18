//! The parameter lists of EXTENDED COPY, with list identifiers of one byte and of four (SPC-5 6.4.2, 6.5.2).

use super::cscd::{self, Cscd};
use super::limits;
use super::segment::Segment;
use crate::lun::copy::operations::Usage;
use crate::scsi::asc;
use crate::scsi::fields::Fields;
use crate::scsi::sense::Sense;

/// Which of both lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// EXTENDED COPY(LID1).
    Lid1,
    /// EXTENDED COPY(LID4).
    Lid4,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// LIST IDENTIFIER.
    pub list_id: u32,
    /// LIST ID USAGE.
    pub usage: Usage,
    /// IMMED.
    pub immed: bool,
    /// Between whom to copy.
    pub cscds: Vec<Cscd>,
    /// What to copy.
    pub segments: Vec<Segment>,
}

/// The head of a list.
struct Header {
    length: usize,
    list_id: u32,
    immed: bool,
    cscds: u64,
    segments: u64,
    inline: u64,
}

impl Form {
    /// Reads a list.
    pub fn parse(self, list: &[u8]) -> Result<Plan, Sense> {
        let header = self.header(list)?;
        let fields = Fields(list);
        let usage = match fields.u8(1) >> 3 & 0b11 {
            0b00 => Usage::Hold,
            0b10 => Usage::Discard,
            0b11 if header.list_id == 0 => Usage::Anonymous,
            0b11 => return Err(Sense::invalid_field_in_parameters(self.list_id_byte())),
            _ => return Err(Sense::invalid_field_in_parameters(1)),
        };
        // Who can't be asked for must not be lost sight of (SPC-5 6.4.2).
        if header.immed && usage == Usage::Anonymous {
            return Err(Sense::illegal(asc::INVALID_FIELD_IN_CDB));
        }
        let descriptors = header.cscds + header.segments;
        let whole = header.length as u64 + descriptors + header.inline;
        if descriptors > u64::from(limits::DESCRIPTOR_LIST) || whole > list.len() as u64 {
            return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
        }
        if header.inline > 0 {
            return Err(Sense::illegal(asc::INLINE_DATA_LENGTH_EXCEEDED));
        }
        let (cscds, segments) = (header.cscds as usize, header.segments as usize);
        let rest = list.get(header.length..).unwrap_or(&[]);
        let (cscds, rest) = rest.split_at_checked(cscds).unwrap_or((rest, &[]));
        let segments_at = header.length + cscds.len();
        let segments = rest.get(..segments).unwrap_or(rest);
        Ok(Plan {
            list_id: header.list_id,
            usage,
            immed: header.immed,
            cscds: parse_cscds(cscds, header.length)?,
            segments: parse_segments(segments, segments_at)?,
        })
    }

    fn list_id_byte(self) -> u16 {
        match self {
            Self::Lid1 => 0,
            Self::Lid4 => 20,
        }
    }

    fn header(self, list: &[u8]) -> Result<Header, Sense> {
        let length = match self {
            Self::Lid1 => 16,
            Self::Lid4 => 48,
        };
        if list.len() < length {
            return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
        }
        let fields = Fields(list);
        if self == Self::Lid1 {
            return Ok(Header {
                length,
                list_id: u32::from(fields.u8(0)),
                immed: false,
                cscds: u64::from(fields.u16(2)),
                segments: u64::from(fields.u32(8)),
                inline: u64::from(fields.u32(12)),
            });
        }
        // PARAMETER LIST FORMAT, HEADER CSCD DESCRIPTOR LIST LENGTH, HEADER CSCD DESCRIPTOR TYPE CODE: as they have to be.
        let constants = [(0, fields.u8(0) == 0x01), (2, fields.u16(2) == 0x20), (16, fields.u8(16) == 0xff)];
        if let Some((byte, _)) = constants.into_iter().find(|(_, holds)| !holds) {
            return Err(Sense::invalid_field_in_parameters(byte));
        }
        // G_SENSE: there is no sense data with status GOOD.
        if fields.bit(15, 1) {
            return Err(Sense::invalid_field_in_parameters(15));
        }
        Ok(Header {
            length,
            list_id: fields.u32(20),
            immed: fields.bit(15, 0),
            cscds: u64::from(fields.u16(42)),
            segments: u64::from(fields.u16(44)),
            inline: u64::from(fields.u16(46)),
        })
    }
}

fn parse_cscds(bytes: &[u8], start: usize) -> Result<Vec<Cscd>, Sense> {
    let descriptors = bytes.chunks_exact(cscd::LENGTH);
    if !descriptors.remainder().is_empty() {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
    }
    if descriptors.len() > usize::from(limits::CSCDS) {
        return Err(Sense::illegal(asc::TOO_MANY_TARGET_DESCRIPTORS));
    }
    descriptors.enumerate().map(|(at, bytes)| Cscd::parse(bytes, start + at * cscd::LENGTH)).collect()
}

fn parse_segments(mut bytes: &[u8], mut at: usize) -> Result<Vec<Segment>, Sense> {
    let mut segments = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(Fields(bytes).u16(2)) + 4;
        let (segment, rest) =
            bytes.split_at_checked(length).ok_or(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
        if segments.len() == usize::from(limits::SEGMENTS) {
            return Err(Sense::illegal(asc::TOO_MANY_SEGMENT_DESCRIPTORS));
        }
        segments.push(Segment::parse(segment, at)?);
        at += length;
        bytes = rest;
    }
    Ok(segments)
}
