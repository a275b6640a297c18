//! What `size` means for a device that exists and for one that does not: the same for every backend that keeps data.

use super::open::{OpenError, OpenOptions};

/// What has to be done to the device before it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizePlan {
    /// Nothing: it has this size.
    Keep(u64),
    /// Give it this size; it is empty or missing.
    Create(u64),
    /// Make it longer.
    Grow {
        /// The size it has.
        from: u64,
        /// The size it gets.
        to: u64,
    },
    /// Cut it to this size.
    Shrink(u64),
}

impl SizePlan {
    /// The size when all is done.
    pub(super) fn size(self) -> u64 {
        match self {
            SizePlan::Keep(size)
            | SizePlan::Create(size)
            | SizePlan::Grow { to: size, .. }
            | SizePlan::Shrink(size) => size,
        }
    }

    /// Decides by the size that the device has; `None` when it is missing. An empty file counts as missing: it holds nothing, and may
    /// be left over from a creation that was interrupted.
    pub(super) fn decide(device: &str, found: Option<u64>, how: &OpenOptions) -> Result<Self, OpenError> {
        let device = || device.to_owned();
        match (found.filter(|size| *size > 0), how.size) {
            (None, Some(_)) if how.read_only => Err(OpenError::MissingReadOnly { device: device() }),
            (None, Some(size)) => Ok(SizePlan::Create(size)),
            (None, None) if found.is_some() => Err(OpenError::Empty { device: device() }),
            (None, None) => Err(OpenError::Missing { device: device() }),
            (Some(found), None) if found % u64::from(how.block_size) != 0 => {
                Err(OpenError::OddSize { device: device(), found, block_size: how.block_size })
            }
            (Some(found), None) => Ok(SizePlan::Keep(found)),
            (Some(found), Some(wanted)) if found == wanted => Ok(SizePlan::Keep(found)),
            (Some(found), Some(wanted)) if wanted < found && how.shrink => Ok(SizePlan::Shrink(wanted)),
            (Some(found), Some(wanted)) if wanted < found => {
                Err(OpenError::WouldShrink { device: device(), found, wanted })
            }
            (Some(found), Some(wanted)) if how.grow => Ok(SizePlan::Grow { from: found, to: wanted }),
            (Some(found), Some(wanted)) => Err(OpenError::WouldGrow { device: device(), found, wanted }),
        }
    }
}

#[cfg(test)]
#[path = "sizing_tests.rs"]
mod tests;
