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

/// Every load that all pairs are measured with.
pub const ALL: [Work; 7] = [READ_QD1, WRITE_QD1, READ_QD32, WRITE_QD32, MIXED_QD32, READ_256K, WRITE_256K];

impl Work {
    /// The same over four connections.
    #[must_use]
    pub const fn by_four(self, name: &'static str) -> Self {
        Self { name, connections: 4, ..self }
    }

    /// Whether it is measured in bytes rather than in operations.
    #[must_use]
    pub const fn is_large(&self) -> bool {
        self.block > 64 << 10
    }
}
