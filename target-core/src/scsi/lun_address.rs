//! Logical unit numbers as they travel: eight bytes (SAM-5 4.7).

use std::fmt;

/// An eight-byte LUN as received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LunAddress(pub [u8; 8]);

/// What a [`LunAddress`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LunKind {
    /// A logical unit of this target by number (single-level peripheral or flat addressing).
    Unit(u16),
    /// The REPORT LUNS well-known logical unit (C101h).
    ReportLuns,
    /// Anything else: no such logical unit here.
    Unknown,
}

impl LunAddress {
    /// The REPORT LUNS well-known logical unit (SAM-5 4.7.11, SPC-5 8.2).
    pub const REPORT_LUNS: Self = Self([0xc1, 0x01, 0, 0, 0, 0, 0, 0]);

    /// The address as this target reports it: peripheral addressing below 256, flat space above (SAM-5 4.7.7.2, 4.7.7.3).
    pub fn from_number(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        let method = if number < 256 { 0x00 } else { 0x40 };
        Self([method | (high & 0x3f), low, 0, 0, 0, 0, 0, 0])
    }

    /// Whether both name the same unit, be it one of ours or not.
    pub fn names_same(self, other: Self) -> bool {
        self == other || (self.kind() == other.kind() && self.kind() != LunKind::Unknown)
    }

    /// Tells what it names. Both peripheral and flat addressing are taken for any number below 256.
    pub fn kind(self) -> LunKind {
        let [b0, b1, rest @ ..] = self.0;
        if rest != [0; 6] {
            return LunKind::Unknown;
        }
        match (b0 >> 6, b0 & 0x3f) {
            (0b00, 0) => LunKind::Unit(u16::from(b1)),
            (0b01, high) => LunKind::Unit(u16::from_be_bytes([high, b1])),
            (0b11, 0x01) if b1 == 0x01 => LunKind::ReportLuns,
            _ => LunKind::Unknown,
        }
    }
}

impl fmt::Debug for LunAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            LunKind::Unit(number) => write!(f, "LUN {number}"),
            _ => write!(f, "LUN {:016x}", u64::from_be_bytes(self.0)),
        }
    }
}
