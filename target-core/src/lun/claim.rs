//! What a task needs of its unit for itself while it runs: a range of blocks, shared or not.

use std::ops::Range;

/// Logical blocks that a task works on. It is a range lock that is asked for when the task enters the set and kept until it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No block.
    None,
    /// Blocks that it reads or writes in one go, alongside others.
    Shared(Range<u64>),
    /// Blocks that nobody else may touch meanwhile: read-compare-write, or writes in several steps that must look like one.
    Exclusive(Range<u64>),
}

impl Claim {
    /// All of the medium, for itself.
    pub const EVERYTHING: Self = Self::Exclusive(0..u64::MAX);

    /// Whether it shuts out others.
    pub fn is_exclusive(&self) -> bool {
        matches!(self, Self::Exclusive(_))
    }

    /// Whether both cannot hold at a time.
    pub fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, _) | (_, Self::None) | (Self::Shared(_), Self::Shared(_)) => false,
            (Self::Shared(a) | Self::Exclusive(a), Self::Shared(b) | Self::Exclusive(b)) => {
                !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
            }
        }
    }
}
