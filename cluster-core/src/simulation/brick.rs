//! The bricks, as one: a mandatory lock that the last one to ask for gets, and blocks.

use super::checker::Checker;
use super::{BLOCKS, Handle, Io, Told};

pub struct Brick {
    /// Who may do I/O; nobody when there is no lock.
    pub lock: Option<Handle>,
    /// The volume has mandatory locks.
    pub enforces: bool,
    pub blocks: [u64; BLOCKS],
}

impl Brick {
    pub fn new(enforces: bool) -> Self {
        Self { lock: None, enforces, blocks: [0; BLOCKS] }
    }

    pub fn io(&mut self, now: u64, handle: Handle, io: Io, checker: &mut Checker) -> Told {
        if self.enforces && self.lock != Some(handle) {
            return Told::Busy;
        }
        match io {
            Io::Read { block } => Told::Value(self.blocks[block]),
            Io::Write { block, value, expected } => {
                checker.applied(now, handle, block, self.blocks[block], value, expected);
                self.blocks[block] = value;
                Told::Value(value)
            }
        }
    }

    /// A file is closed, or the process has gone.
    pub fn close(&mut self, gone: impl Fn(&Handle) -> bool) {
        self.lock = self.lock.filter(|handle| !gone(handle));
    }
}
