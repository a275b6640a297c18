//! The contents of a heartbeat: a small file of each incarnation, written in place again and again.
//!
//! That it lives is told by the file's changing at all, so a reader that sees a mixture of two writes is not misled. What else is in it is a hint.

use super::node::BootId;

/// Most bytes of it.
pub const MOST_BEAT_BYTES: usize = 512;
const MAGIC: &str = "glint-beat";
/// Most groups that it names.
const MOST_GROUPS: usize = 64;

/// A heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Whose.
    pub boot: BootId,
    /// Never the same twice.
    pub count: u64,
    /// The target port groups of the nodes that it cannot reach over the internal network, so that all nodes report the same states.
    pub unreachable: Vec<u16>,
}

impl Beat {
    /// The bytes of the file, all of the same length.
    pub fn encode(&self) -> Vec<u8> {
        let groups: Vec<_> = self.unreachable.iter().take(MOST_GROUPS).map(u16::to_string).collect();
        let text = format!("{MAGIC} {} {} {}", self.boot, self.count, groups.join(","));
        let mut line = format!("{text} {:08x}", crc32c::crc32c(text.as_bytes())).into_bytes();
        line.resize(MOST_BEAT_BYTES - 1, b' ');
        line.push(b'\n');
        line
    }

    /// What they say; none of a mixture.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (text, checksum) = std::str::from_utf8(bytes).ok()?.trim_ascii_end().rsplit_once(' ')?;
        if format!("{:08x}", crc32c::crc32c(text.as_bytes())) != checksum {
            return None;
        }
        let mut words = text.split(' ');
        if words.next()? != MAGIC {
            return None;
        }
        let boot = BootId::parse(words.next()?)?;
        let count = words.next()?.parse().ok()?;
        let groups = words.next()?.split(',').filter(|group| !group.is_empty());
        Some(Self {
            boot,
            count,
            unreachable: groups.map(|group| group.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_read_as_it_was_written_but_not_a_mixture() {
        let beat = |count, unreachable| Beat { boot: BootId(7), count, unreachable };
        for one in [beat(1, vec![]), beat(u64::MAX, vec![1]), beat(3, (60_000..60_064).collect())] {
            let bytes = one.encode();
            assert_eq!((bytes.len(), Beat::decode(&bytes)), (MOST_BEAT_BYTES, Some(one)));
        }
        let mut mixture = beat(10, vec![1]).encode();
        mixture[29..].copy_from_slice(&beat(99, vec![2]).encode()[29..]);
        assert_eq!(Beat::decode(&mixture), None);
        assert_eq!(Beat::decode(b""), None);
    }
}
