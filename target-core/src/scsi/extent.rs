//! Logical block ranges as CDBs carry them, and their bounds.

use super::fields::Fields;
use super::sense::Sense;
use std::ops::Range;

/// A run of logical blocks as a command asks for it, not yet checked against the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
}

/// Where a CDB has its LOGICAL BLOCK ADDRESS and length (SPC-5 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The command has no block range.
    None,
    /// READ(6), WRITE(6): 21 bits and 8, where a length of 0 means 256 (SBC-4 5.16).
    Six,
    /// 32 bits and 16.
    Ten,
    /// 32 bits and 32.
    Twelve,
    /// 64 bits and 32.
    Sixteen,
    /// WRITE ATOMIC(16): 64 bits, and 16 in byte 12 (SBC-4 5.48).
    Atomic,
    /// COMPARE AND WRITE: 64 bits, and 8 in byte 13 (SBC-4 5.3).
    CompareAndWrite,
}

impl Layout {
    /// Reads the range.
    pub fn extent(self, cdb: Fields<'_>) -> Extent {
        let (lba, blocks) = match self {
            Self::None => (0, 0),
            Self::Six => match (cdb.u24(1) & 0x1f_ffff, cdb.u8(4)) {
                (lba, 0) => (u64::from(lba), 256),
                (lba, blocks) => (u64::from(lba), u64::from(blocks)),
            },
            Self::Ten => (u64::from(cdb.u32(2)), u64::from(cdb.u16(7))),
            Self::Twelve => (u64::from(cdb.u32(2)), u64::from(cdb.u32(6))),
            Self::Sixteen => (cdb.u64(2), u64::from(cdb.u32(10))),
            Self::Atomic => (cdb.u64(2), u64::from(cdb.u16(12))),
            Self::CompareAndWrite => (cdb.u64(2), u64::from(cdb.u8(13))),
        };
        Extent { lba, blocks }
    }

    /// The byte of the CDB in which the length begins, for field pointers.
    pub fn length_byte(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Six => 4,
            Self::Ten => 7,
            Self::Twelve => 6,
            Self::Sixteen => 10,
            Self::Atomic => 12,
            Self::CompareAndWrite => 13,
        }
    }
}

impl Extent {
    /// The range, or LOGICAL BLOCK ADDRESS OUT OF RANGE with the first block that does not exist. A range of no blocks may begin right
    /// after the last one.
    pub fn within(self, capacity: u64) -> Result<Range<u64>, Sense> {
        match self.lba.checked_add(self.blocks) {
            Some(end) if end <= capacity => Ok(self.lba..end),
            _ => Err(Sense::out_of_range(self.lba.max(capacity))),
        }
    }

    /// The range without any check, cut at the end of the number space.
    pub fn saturating(self) -> Range<u64> {
        self.lba..self.lba.saturating_add(self.blocks)
    }
}

#[cfg(test)]
#[path = "extent_tests.rs"]
mod tests;
