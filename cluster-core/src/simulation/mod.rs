//! Whole clusters in virtual time: nodes with bad clocks that crash and freeze, a store and bricks that are slow and out of reach, initiators that give
//! up and go through another node. A checker looks at what the bricks accepted and at what the initiators were told.

mod brick;
mod checker;
mod client;
mod execution;
mod faults;
mod links;
mod node;
mod store;
mod tests;
mod world;

use crate::ownership::Epoch;

/// Blocks of the volume, each of which holds a number.
pub const BLOCKS: usize = 4;

/// A command. Every written number is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Probe,
    Read { block: usize },
    Write { block: usize, value: u64 },
    CompareAndWrite { block: usize, expected: u64, value: u64 },
}

/// What an initiator hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Good(u64),
    Miscompare(u64),
    InDoubt,
    Unavailable,
    Transitioning,
}

/// What a brick says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Value(u64),
    /// Another has the lock, or nobody.
    Busy,
    /// Nobody knows.
    Nothing,
}

/// I/O of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    Read { block: usize },
    Write { block: usize, value: u64, expected: Option<u64> },
}

/// Which process opened the file, and under which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub node: usize,
    pub boot: u64,
    pub epoch: Epoch,
}
