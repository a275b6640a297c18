//! The Basic Header Segment: what all PDUs share of it, parsers for its fields, and a builder that puts fields at the byte
//! numbers of the standard's figures.

use super::fields::{BHS_LEN, Isid, Serial};
use super::opcode;
use super::target::Numbering;
use crate::scsi::lun_address::LunAddress;
use nom::bytes::complete::take;
use nom::combinator::map;
use nom::number::complete::{be_u8, be_u16, be_u32};
use nom::{IResult, Parser};

/// F, and T of a login, in byte 1.
pub(super) const FINAL: u8 = 0x80;
/// C in byte 1 of login and text PDUs.
pub(super) const CONTINUES: u8 = 0x40;

/// What a field parser gives.
pub(super) type Parsed<'a, T> = IResult<&'a [u8], T>;

pub(super) fn byte(input: &[u8]) -> Parsed<'_, u8> {
    be_u8(input)
}

pub(super) fn half(input: &[u8]) -> Parsed<'_, u16> {
    be_u16(input)
}

pub(super) fn word(input: &[u8]) -> Parsed<'_, u32> {
    be_u32(input)
}

pub(super) fn serial(input: &[u8]) -> Parsed<'_, Serial> {
    map(word, Serial).parse(input)
}

/// `N` bytes as they are.
pub(super) fn array<const N: usize>(input: &[u8]) -> Parsed<'_, [u8; N]> {
    nom::combinator::map_opt(take(N), |bytes: &[u8]| bytes.first_chunk().copied()).parse(input)
}

/// Passes over `n` bytes.
pub(super) fn skip<'a>(n: usize) -> impl Fn(&'a [u8]) -> Parsed<'a, ()> {
    move |input| map(take(n), |_: &[u8]| ()).parse(input)
}

/// Fields that have one place in every PDU.
pub(super) struct Header<'a> {
    pub opcode: u8,
    pub immediate: bool,
    /// Byte 1.
    pub flags: u8,
    /// Bytes 2 and 3.
    pub specific: [u8; 2],
    /// Bytes 8 to 15: the LUN, or ISID and TSIH.
    pub bytes_8: [u8; 8],
    /// Bytes 16 to 19.
    pub initiator_task_tag: u32,
    /// Bytes 20 to 47.
    pub rest: &'a [u8],
}

impl<'a> Header<'a> {
    pub(super) fn parse(bhs: &'a [u8; BHS_LEN]) -> Result<Self, nom::Err<nom::error::Error<&'a [u8]>>> {
        let (rest, (first, flags, specific, (), bytes_8, initiator_task_tag)) =
            (byte, byte, array, skip(4), array, word).parse(bhs)?;
        let (opcode, immediate) = (first & opcode::MASK, first & opcode::IMMEDIATE != 0);
        Ok(Self { opcode, immediate, flags, specific, bytes_8, initiator_task_tag, rest })
    }

    pub(super) fn lun(&self) -> LunAddress {
        LunAddress(self.bytes_8)
    }

    /// ISID and TSIH of a login PDU.
    pub(super) fn session(&self) -> (Isid, u16) {
        let [isid @ .., high, low] = self.bytes_8;
        (Isid(isid), u16::from_be_bytes([high, low]))
    }

    /// Whether a bit of byte 1 is set.
    pub(super) fn flag(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }
}

/// `mask` where `condition` holds, for bits that are put together.
pub(super) fn bit(condition: bool, mask: u8) -> u8 {
    if condition { mask } else { 0 }
}

/// A header in the making. Lengths are written when it is sent.
pub(super) struct Bhs([u8; BHS_LEN]);

impl Bhs {
    pub(super) fn new(opcode: u8) -> Self {
        let mut bytes = [0; BHS_LEN];
        bytes[0] = opcode;
        Self(bytes)
    }

    /// A PDU that is always the only one of its sequence, with more bits of byte 1.
    pub(super) fn only(opcode: u8, flags: u8) -> Self {
        Self::new(opcode).byte(1, FINAL | flags)
    }

    pub(super) fn immediate(self, immediate: bool) -> Self {
        let first = self.0[0] | bit(immediate, opcode::IMMEDIATE);
        self.byte(0, first)
    }

    /// Puts bytes at the byte number `at`.
    #[inline]
    pub(super) fn put<const N: usize>(mut self, at: usize, bytes: [u8; N]) -> Self {
        if let Some(place) = self.0.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
            *place = bytes;
        }
        self
    }

    pub(super) fn byte(self, at: usize, value: u8) -> Self {
        self.put(at, [value])
    }

    pub(super) fn half(self, at: usize, value: u16) -> Self {
        self.put(at, value.to_be_bytes())
    }

    pub(super) fn word(self, at: usize, value: u32) -> Self {
        self.put(at, value.to_be_bytes())
    }

    pub(super) fn serial(self, at: usize, value: Serial) -> Self {
        self.word(at, value.0)
    }

    pub(super) fn lun(self, lun: LunAddress) -> Self {
        self.put(8, lun.0)
    }

    pub(super) fn session(self, isid: Isid, tsih: u16) -> Self {
        self.put(8, isid.0).half(14, tsih)
    }

    pub(super) fn initiator_task_tag(self, tag: u32) -> Self {
        self.word(16, tag)
    }

    /// StatSN, ExpCmdSN and MaxCmdSN where every target PDU has them.
    pub(super) fn numbering(self, numbering: Numbering) -> Self {
        self.serial(24, numbering.stat_sn).serial(28, numbering.exp_cmd_sn).serial(32, numbering.max_cmd_sn)
    }

    /// The finished header, with TotalAHSLength in words and DataSegmentLength in bytes.
    pub(super) fn finish(self, ahs_words: u8, data_length: u32) -> [u8; BHS_LEN] {
        let [_, lengths @ ..] = data_length.to_be_bytes();
        self.byte(4, ahs_words).put(5, lengths).0
    }
}
