//! What the client does in one measurement.

/// Which requests a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Reads at random places.
    RandomRead,
    /// Writes at random places.
    RandomWrite,
    /// Seven reads for three writes, at random places.
    Mixed,
    /// Reads in order.
    Read,
    /// Writes in order.
    Write,
}

impl Pattern {
    /// fio's name of it.
    #[must_use]
    pub const fn fio(self) -> &'static str {
        match self {
            Self::RandomRead => "randread",
            Self::RandomWrite => "randwrite",
            Self::Mixed => "randrw",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A load: what is sent, how large, how many at a time, over how many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Short and unique.
    pub name: &'static str,
    /// Which requests.
    pub pattern: Pattern,
    /// Bytes of a request.
    pub block: u32,
    /// Requests in flight on each connection.
    pub depth: u32,
    /// Connections, each to a volume of its own.
    pub connections: u32,
}

const fn work(name: &'static str, pattern: Pattern, block: u32, depth: u32) -> Work {
    Work { name, pattern, block, depth, connections: 1 }
}

/// 4 KiB reads at random places, one at a time.
pub const READ_QD1: Work = work("4k randread qd1", Pattern::RandomRead, 4 << 10, 1);
/// 4 KiB writes at random places, one at a time.
pub const WRITE_QD1: Work = work("4k randwrite qd1", Pattern::RandomWrite, 4 << 10, 1);
/// 4 KiB reads at random places, 32 at a time.
pub const READ_QD32: Work = work("4k randread qd32", Pattern::RandomRead, 4 << 10, 32);
/// 4 KiB writes at random places, 32 at a time.
pub const WRITE_QD32: Work = work("4k randwrite qd32", Pattern::RandomWrite, 4 << 10, 32);
/// 4 KiB, 70 % reads, 32 at a time.
pub const MIXED_QD32: Work = work("4k 70/30 qd32", Pattern::Mixed, 4 << 10, 32);
/// 256 KiB reads in order, 8 at a time.
pub const READ_256K: Work = work("256k read qd8", Pattern::Read, 256 << 10, 8);
/// 256 KiB writes in order, 8 at a time.
pub const WRITE_256K: Work = work("256k write qd8", Pattern::Write, 256 << 10, 8);

/// Four connections that read 4 KiB at random places, 32 at a time each.
pub const READ_BY_FOUR: Work = READ_QD32.by_four("4k randread x4");
/// Four connections that write 4 KiB at random places, 32 at a time each.
pub const WRITE_BY_FOUR: Work = WRITE_QD32.by_four("4k randwrite x4");

/// Every load.
pub const ALL: [Work; 9] = [
    READ_QD1,
    WRITE_QD1,
    READ_QD32,
    WRITE_QD32,
    MIXED_QD32,
    READ_256K,
    WRITE_256K,
    READ_BY_FOUR,
    WRITE_BY_FOUR,
];

/// Bytes that a load goes over, all connections together: more than the processors' caches hold.
const SIZE: u64 = 256 << 20;

impl Work {
    const fn by_four(self, name: &'static str) -> Self {
        Self { name, connections: 4, ..self }
    }

    /// The same over one connection; its name is not this one's.
    #[must_use]
    pub fn by_one(self) -> Option<Self> {
        let one = |other: &Self| {
            Self { name: self.name, connections: 1, ..self } == Self { name: self.name, ..*other }
        };
        (self.connections > 1).then(|| ALL.into_iter().find(one)).flatten()
    }

    /// Bytes of each connection's volume that it goes over.
    #[must_use]
    pub const fn size(&self) -> u64 {
        SIZE / self.connections as u64
    }

    /// Bytes that each volume needs for these loads, as many as there have to be.
    #[must_use]
    pub fn needs(works: &[Self]) -> Vec<u64> {
        let volumes = works.iter().map(|work| work.connections).max().unwrap_or(1);
        let goes_to = |number: u32| works.iter().filter(move |work| work.connections > number);
        (0..volumes).map(|number| goes_to(number).map(Self::size).max().unwrap_or(SIZE)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_as_large_as_their_loads() {
        assert_eq!(Work::needs(&[READ_QD1]), [256 << 20]);
        assert_eq!(Work::needs(&[READ_BY_FOUR]), [64 << 20; 4]);
        assert_eq!(Work::needs(&ALL), [256 << 20, 64 << 20, 64 << 20, 64 << 20]);
    }

    #[test]
    fn one_connection_does_what_four_do() {
        assert_eq!(READ_BY_FOUR.by_one(), Some(READ_QD32));
        assert_eq!(WRITE_BY_FOUR.by_one(), Some(WRITE_QD32));
        assert_eq!(READ_QD32.by_one(), None);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|work| work.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
