//! What a unit may do in a second: the keys `max_iops` and the like, each with its burst.

use super::reader::Section;
use super::units::ByteSize;
use glint_target_core::lun::throttle::{Limit, Limits};

/// Less makes initiators run into their timers: one command of 1 MiB takes 16 s of this.
const LEAST_BYTES: u64 = 64 << 10;

/// The part of a second whose worth is let through at once where no burst is given.
const BURST_PART: u64 = 10;

/// The keys of one limit, in the file and after `--volume`.
struct Keys {
    limit: &'static str,
    burst: &'static str,
    least: u64,
    show: fn(u64) -> String,
    draft: fn(&LimitsDraft) -> Rate,
    checked: fn(&mut Limits) -> &mut Option<Limit>,
}

const KEYS: [Keys; 4] = [
    Keys {
        limit: "max_iops",
        burst: "iops_burst",
        least: 1,
        show: |count| count.to_string(),
        draft: |draft| draft.iops,
        checked: |limits| &mut limits.iops,
    },
    Keys {
        limit: "max_bytes_per_second",
        burst: "bytes_burst",
        draft: |draft| draft.bytes,
        checked: |limits| &mut limits.bytes,
        ..Keys::BYTES
    },
    Keys {
        limit: "max_read_bytes_per_second",
        burst: "read_bytes_burst",
        draft: |draft| draft.read_bytes,
        checked: |limits| &mut limits.read_bytes,
        ..Keys::BYTES
    },
    Keys {
        limit: "max_write_bytes_per_second",
        burst: "write_bytes_burst",
        draft: |draft| draft.write_bytes,
        checked: |limits| &mut limits.write_bytes,
        ..Keys::BYTES
    },
];

impl Keys {
    const BYTES: Self = Self {
        limit: "",
        burst: "",
        least: LEAST_BYTES,
        show: |bytes| ByteSize(bytes).to_string(),
        draft: |draft| draft.bytes,
        checked: |limits| &mut limits.bytes,
    };
}

/// One limit as it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) most: Option<u64>,
    pub(super) burst: Option<u64>,
}

/// All of them before they are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LimitsDraft {
    pub(super) iops: Rate,
    pub(super) bytes: Rate,
    pub(super) read_bytes: Rate,
    pub(super) write_bytes: Rate,
}

impl LimitsDraft {
    /// Reads them from `[[target.lun]]`.
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let iops = Rate { most: section.value("max_iops"), burst: section.value("iops_burst") };
        let mut bytes = |limit, burst| {
            let mut size = |key| section.value::<ByteSize>(key).map(|size| size.0);
            Rate { most: size(limit), burst: size(burst) }
        };
        Self {
            iops,
            bytes: bytes("max_bytes_per_second", "bytes_burst"),
            read_bytes: bytes("max_read_bytes_per_second", "read_bytes_burst"),
            write_bytes: bytes("max_write_bytes_per_second", "write_bytes_burst"),
        }
    }

    /// The limits; `fault` is told key and message of each that will not do.
    pub(super) fn finish(self, mut fault: impl FnMut(&str, String)) -> Limits {
        let mut limits = Limits::NONE;
        for keys in KEYS {
            let Keys { limit, burst, least, show, .. } = keys;
            match (keys.draft)(&self) {
                Rate { most: None, burst: None } => {}
                Rate { most: None, burst: Some(_) } => {
                    fault(burst, format!("`{burst}` does nothing without `{limit}`"));
                }
                Rate { most: Some(most), .. } if most < least => fault(
                    limit,
                    format!(
                        "`{limit}` has to be {} at least, not {}; leave it out for no limit",
                        show(least),
                        show(most)
                    ),
                ),
                Rate { burst: Some(0), .. } => fault(
                    burst,
                    format!("`{burst}` has to be more than nothing; leave it out for the default"),
                ),
                Rate { most: Some(rate), burst } => {
                    let burst = burst.unwrap_or(rate / BURST_PART).max(1);
                    *(keys.checked)(&mut limits) = Some(Limit { rate, burst });
                }
            }
        }
        limits
    }
}

/// The limits that there are: the keys, as they are written in a configuration, with their values.
pub fn named(mut limits: Limits) -> impl Iterator<Item = NamedLimit> {
    KEYS.into_iter().filter_map(move |keys| {
        let limit = (*(keys.checked)(&mut limits))?;
        Some(NamedLimit {
            keys: (keys.limit, keys.burst),
            shown: [limit.rate, limit.burst].map(keys.show),
            limit,
        })
    })
}

/// One limit for people and machines.
pub struct NamedLimit {
    /// Of the limit and of its burst.
    pub keys: (&'static str, &'static str),
    /// Both as people write them.
    pub shown: [String; 2],
    /// Both as they are.
    pub limit: Limit,
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
