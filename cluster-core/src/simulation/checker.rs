//! What must hold, whatever happens.

use super::{BLOCKS, Handle};
use crate::ownership::Epoch;
use std::collections::BTreeMap;

struct Write {
    block: usize,
    issued: u64,
    /// When the initiator had an answer, or gave up.
    ended: Option<u64>,
    acknowledged: bool,
    applied: Vec<u64>,
}

#[derive(Default)]
pub struct Checker {
    writes: BTreeMap<u64, Write>,
    /// For each block what it held since when.
    history: [Vec<(u64, u64)>; BLOCKS],
    /// Whose an epoch is, and the last one that has written.
    owners: BTreeMap<Epoch, (usize, u64)>,
    newest: Epoch,
    pub faults: Vec<String>,
    pub acknowledged: u64,
    pub reads: u64,
    pub in_doubt: u64,
}

impl Checker {
    fn check(&mut self, good: bool, what: impl FnOnce() -> String) {
        if !good {
            self.faults.push(what());
        }
    }

    pub fn issued(&mut self, now: u64, block: usize, value: u64) {
        let write = Write { block, issued: now, ended: None, acknowledged: false, applied: Vec::new() };
        let old = self.writes.insert(value, write);
        self.check(old.is_none(), || format!("{value} is written twice by the test itself"));
    }

    pub fn applied(
        &mut self,
        now: u64,
        handle: Handle,
        block: usize,
        before: u64,
        value: u64,
        expected: Option<u64>,
    ) {
        self.check(expected.is_none_or(|expected| expected == before), || {
            format!("{now}: {value} was to replace {expected:?} but replaces {before}")
        });
        let owner = *self.owners.entry(handle.epoch).or_insert((handle.node, handle.boot));
        self.check(owner == (handle.node, handle.boot), || {
            format!("{now}: {owner:?} and {handle:?} write in the same epoch")
        });
        let newest = self.newest;
        self.check(handle.epoch >= newest, || format!("{now}: {handle:?} writes after {newest:?}"));
        self.newest = newest.max(handle.epoch);
        // A write that its initiator took for finished must not come after one that was issued later.
        if let Some(ended) = self.writes.get(&value).and_then(|write| write.ended) {
            let later = |other: &u64| self.writes.get(other).is_some_and(|other| ended < other.issued);
            let overtaken: Vec<_> =
                self.history[block].iter().map(|(_, other)| *other).filter(|other| later(other)).collect();
            self.check(overtaken.is_empty(), || {
                format!(
                    "{now}: {value} had ended at {ended} and comes after {overtaken:?}, through {handle:?}"
                )
            });
        }
        let write = self.writes.get_mut(&value).expect("it was issued");
        write.applied.push(now);
        let count = write.applied.len();
        self.check(count == 1, || format!("{now}: {value} is executed {count} times"));
        self.history[block].push((now, value));
    }

    /// The initiator has got GOOD.
    pub fn good(&mut self, now: u64, value: u64) {
        self.acknowledged += 1;
        self.ended(now, value);
        let write = self.writes.get_mut(&value).expect("it was issued");
        write.acknowledged = true;
        let good = write.applied.first().is_some_and(|applied| *applied >= write.issued && *applied <= now);
        self.check(good, || format!("{now}: {value} is acknowledged and was not written"));
    }

    /// The initiator has got another answer, or has given up.
    pub fn ended(&mut self, now: u64, value: u64) {
        let write = self.writes.get_mut(&value).expect("it was issued");
        let is_first = write.ended.replace(now).is_none();
        self.check(is_first, || format!("{now}: {value} ends twice"));
    }

    /// It has got an answer that says that it was not executed.
    pub fn refused(&mut self, now: u64, value: u64) {
        self.ended(now, value);
        let applied = !self.writes[&value].applied.is_empty();
        self.check(!applied, || format!("{now}: {value} is refused and was written"));
    }

    /// An initiator has read this.
    pub fn read(&mut self, issued: u64, now: u64, block: usize, value: u64) {
        self.reads += 1;
        let since = match self.history[block].iter().rposition(|(_, other)| *other == value) {
            None if value == 0 => Some(0),
            None => None,
            Some(at) => Some(at + 1),
        };
        // It was there until what came next, which must not be before the read was issued.
        let until = since.map(|at| self.history[block].get(at).map_or(u64::MAX, |(until, _)| *until));
        self.check(until.is_some_and(|until| until >= issued), || {
            format!("{now}: {value} was read of block {block}, gone at {until:?}, by a read of {issued}")
        });
    }

    /// At the end each acknowledged write is there, or another came after it.
    pub fn finish(&mut self, blocks: &[u64; BLOCKS]) {
        for (block, value) in blocks.iter().enumerate() {
            let last = self.history[block].last().map_or(0, |(_, value)| *value);
            self.check(last == *value, || format!("block {block} holds {value}, not {last}"));
        }
        let lost: Vec<_> = self
            .writes
            .iter()
            .filter(|(value, write)| {
                write.acknowledged && !self.history[write.block].iter().any(|(_, it)| it == *value)
            })
            .map(|(value, _)| *value)
            .collect();
        self.check(lost.is_empty(), || format!("lost: {lost:?}"));
    }
}
