//! Small typed fields that several PDUs share.

use std::fmt;

/// Bytes of a Basic Header Segment (RFC 7143 §11.2.1).
pub const BHS_LEN: usize = 48;

/// The tag value that is reserved to mean "none" (RFC 7143 §11.2.1.8, §11.7.4).
pub const RESERVED_TAG: u32 = 0xffff_ffff;

/// A sequence number compared in serial-number arithmetic (RFC 7143 §4.2.2.1, RFC 1982).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Serial(pub u32);

impl Serial {
    /// The number `n` further on.
    #[must_use]
    pub fn plus(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// Whether `self` comes before `other`; false for equal ones and for those exactly half the circle apart.
    pub fn is_before(self, other: Self) -> bool {
        let distance = other.0.wrapping_sub(self.0);
        distance != 0 && distance < 1 << 31
    }

    /// How far `self` is behind `other`, modulo 2^32.
    pub fn distance_to(self, other: Self) -> u32 {
        other.0.wrapping_sub(self.0)
    }
}

/// Initiator part of the session identifier (RFC 7143 §11.12.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Isid(pub [u8; 6]);

impl fmt::Debug for Isid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
