//! What was written, and so what may be read: an acknowledged write is there until a later one is, and nobody sees an older one again.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::block::{Content, Stamp};

/// How much is remembered of a block, for who looks into a fault.
const REMEMBERED: usize = 12;

/// Faults that are kept in full; more only count.
const KEPT: usize = 20;

/// The writes to one block. Sequence 0 is the state before the first.
#[derive(Clone, Debug, Default)]
struct Block {
    /// The last that was acknowledged.
    acknowledged: u64,
    /// The last that was sent at all. Those after the acknowledged one are in doubt.
    sent: u64,
    /// The last that somebody has read.
    seen: u64,
    is_claimed: bool,
    events: Vec<(Instant, String)>,
}

impl Block {
    fn note(&mut self, event: String) {
        if self.events.len() == REMEMBERED {
            self.events.remove(0);
        }
        self.events.push((Instant::now(), event));
    }
}

/// What was found that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// An acknowledged write is not there, but an older one.
    Lost {
        /// What is there.
        found: u64,
        /// What was acknowledged before the read began.
        acknowledged: u64,
    },
    /// Somebody has read a later one before.
    WentBack {
        /// What is there.
        found: u64,
        /// What was read before.
        seen: u64,
    },
    /// One that was never sent.
    Unsent {
        /// What is there.
        found: u64,
        /// The last that was sent.
        sent: u64,
    },
    /// The contents of another block, or of none.
    Foreign(Content),
}

/// A fault with its place and what led to it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The block.
    pub block: u64,
    /// What is wrong.
    pub wrong: Wrong,
    /// Who found it, and what was done to the block before.
    pub story: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}: {:?}\n{}", self.block, self.wrong, self.story)
    }
}

/// The blocks of a working area. Each has one write at a time, by whomever.
#[derive(Debug)]
pub struct Ledger {
    blocks: Vec<Mutex<Block>>,
    faults: Mutex<(usize, Vec<Fault>)>,
    start: Instant,
}

/// Blocks in a row that nobody else writes until it is told how that went.
#[derive(Debug)]
#[must_use]
pub struct Claim {
    first: u64,
    stamps: Vec<Stamp>,
}

impl Claim {
    /// What to write.
    pub fn bytes(&self) -> Vec<u8> {
        self.stamps.iter().flat_map(Stamp::encode).collect()
    }

    /// The first block.
    pub fn first(&self) -> u64 {
        self.first
    }
}

/// What each block of a read must not be older than.
#[derive(Clone, Debug)]
#[must_use]
pub struct Floors {
    first: u64,
    /// Acknowledged, and seen.
    floors: Vec<(u64, u64)>,
}

impl Ledger {
    /// Of so many blocks that are blank.
    pub fn new(blocks: usize) -> Self {
        let blocks = (0..blocks).map(|_| Mutex::default()).collect();
        Self { blocks, faults: Mutex::default(), start: Instant::now() }
    }

    /// How many blocks.
    pub fn len(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn block(&self, number: u64) -> MutexGuard<'_, Block> {
        let block = self.blocks.get(number as usize).expect("a block of the area");
        block.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a write of these blocks, unless one of them is being written.
    pub fn claim(&self, blocks: Range<u64>, writer: u32) -> Option<Claim> {
        let mut claim = Claim { first: blocks.start, stamps: Vec::new() };
        for number in blocks.clone() {
            let mut block = self.block(number);
            if block.is_claimed {
                drop(block);
                for taken in blocks.start..number {
                    let mut block = self.block(taken);
                    block.is_claimed = false;
                    // Nothing was sent.
                    block.sent -= 1;
                }
                return None;
            }
            block.is_claimed = true;
            block.sent += 1;
            claim.stamps.push(Stamp { block: number, sequence: block.sent, writer });
        }
        Some(claim)
    }

    /// The write was acknowledged.
    pub fn acknowledge(&self, claim: Claim, how: &str) {
        self.end(&claim, true, how);
    }

    /// Nobody knows whether it was done, or will be, until a later one is acknowledged.
    pub fn doubt(&self, claim: Claim, how: &str) {
        self.end(&claim, false, how);
    }

    fn end(&self, claim: &Claim, is_acknowledged: bool, how: &str) {
        for stamp in &claim.stamps {
            let mut block = self.block(stamp.block);
            block.is_claimed = false;
            if is_acknowledged {
                block.acknowledged = stamp.sequence;
            }
            let what = if is_acknowledged { "acknowledged" } else { "in doubt" };
            block.note(format!("write {} of {} {what} {how}", stamp.sequence, stamp.writer));
        }
    }

    /// Before a read is sent.
    pub fn before_read(&self, blocks: Range<u64>) -> Floors {
        let floors = blocks.clone().map(|number| {
            let block = self.block(number);
            (block.acknowledged, block.seen)
        });
        Floors { first: blocks.start, floors: floors.collect() }
    }

    /// What was read by a read that is over; `how` says through what.
    pub fn after_read(&self, floors: &Floors, contents: &[Content], how: &str) {
        assert_eq!(floors.floors.len(), contents.len(), "a read gives as many blocks as it asks for");
        for ((number, (acknowledged, seen)), content) in (floors.first..).zip(&floors.floors).zip(contents) {
            let mut block = self.block(number);
            let found = match *content {
                Content::Blank => 0,
                Content::Written(stamp) if stamp.block == number => stamp.sequence,
                other => {
                    self.fault(&block, number, Wrong::Foreign(other), how);
                    continue;
                }
            };
            let wrong = if found < *acknowledged {
                Some(Wrong::Lost { found, acknowledged: *acknowledged })
            } else if found < *seen {
                Some(Wrong::WentBack { found, seen: *seen })
            } else if found > block.sent {
                Some(Wrong::Unsent { found, sent: block.sent })
            } else {
                None
            };
            if let Some(wrong) = wrong {
                self.fault(&block, number, wrong, how);
            } else if found > block.seen {
                block.seen = found;
                block.note(format!("write {found} seen {how}"));
            }
        }
    }

    fn fault(&self, block: &Block, number: u64, wrong: Wrong, how: &str) {
        let since = |at: Instant| at.saturating_duration_since(self.start).as_secs_f64();
        let mut story = format!("  {:9.3} s  found {how}\n", since(Instant::now()));
        for (at, event) in &block.events {
            story += &format!("  {:9.3} s  {event}\n", since(*at));
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.0 += 1;
        if faults.1.len() < KEPT {
            faults.1.push(Fault { block: number, wrong, story });
        }
    }

    /// How many faults there were since the last time, and the first of them.
    pub fn take_faults(&self) -> (usize, Vec<Fault>) {
        std::mem::take(&mut self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
