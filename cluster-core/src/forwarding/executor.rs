//! The owner's side: what was begun is not begun again.

use super::messages::{Freshness, Refusal, Request, Stamp};
use crate::membership::Incarnation;
use crate::ownership::Epoch;
use std::collections::BTreeMap;

/// Results that are kept for one origin at most.
const MOST_KEPT: usize = 8192;

/// What to do with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// Execute it, then say [`Executor::done`].
    Begin,
    /// It is being executed; its result goes to the connection on which this came.
    UnderWay,
    /// It was executed; this was its result.
    Again(T),
    /// It is refused.
    Refuse(Refusal),
    /// It was answered long ago: nobody waits for it.
    Ignore,
}

#[derive(Clone, Debug)]
struct Table<T> {
    floor: u64,
    /// None while it is executed.
    results: BTreeMap<u64, Option<T>>,
}

/// The requests of one volume in one epoch.
#[derive(Clone, Debug)]
pub struct Executor<T> {
    freshness: Freshness,
    epoch: Option<Epoch>,
    origins: BTreeMap<Incarnation, Table<T>>,
}

impl<T: Clone> Executor<T> {
    /// It serves nothing yet.
    pub fn new(freshness: Freshness) -> Self {
        Self { freshness, epoch: None, origins: BTreeMap::new() }
    }

    /// The volume is served under this epoch, or no more. What was known of another epoch is forgotten: those who ask will hear that it is over.
    pub fn serve(&mut self, epoch: Option<Epoch>) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.origins.clear();
        }
    }

    /// A request has come, at this reading of this node's clock. Unless `is_open`, the owner begins nothing new at this moment.
    pub fn offer(
        &mut self,
        now: Stamp,
        is_open: bool,
        origin: &Incarnation,
        request: &Request,
    ) -> Verdict<T> {
        if self.epoch != Some(request.epoch) {
            return Verdict::Refuse(Refusal::NotOwner);
        }
        let table = self
            .origins
            .entry(origin.clone())
            .or_insert_with(|| Table { floor: 0, results: BTreeMap::new() });
        if request.floor > table.floor {
            table.floor = request.floor;
            table.results = table.results.split_off(&request.floor);
        }
        if request.sequence < table.floor {
            return Verdict::Ignore;
        }
        match table.results.get(&request.sequence) {
            Some(Some(result)) => return Verdict::Again(result.clone()),
            Some(None) => return Verdict::UnderWay,
            None => {}
        }
        if !is_open {
            return Verdict::Refuse(Refusal::NotOwner);
        }
        if u128::from(now.0.saturating_sub(request.stamp.0)) > self.freshness.age.as_millis() {
            return Verdict::Refuse(Refusal::Old);
        }
        if table.results.len() >= MOST_KEPT {
            return Verdict::Refuse(Refusal::Busy);
        }
        table.results.insert(request.sequence, None);
        Verdict::Begin
    }

    /// It was executed, in that epoch.
    pub fn done(&mut self, epoch: Epoch, origin: &Incarnation, sequence: u64, result: T) {
        if self.epoch != Some(epoch) {
            return;
        }
        let entry = self.origins.get_mut(origin).and_then(|table| table.results.get_mut(&sequence));
        if let Some(entry) = entry {
            *entry = Some(result);
        }
    }

    /// It was begun, but refused before it could have any effect: it may come again.
    pub fn withdrawn(&mut self, epoch: Epoch, origin: &Incarnation, sequence: u64) {
        if self.epoch == Some(epoch)
            && let Some(table) = self.origins.get_mut(origin)
        {
            table.results.remove(&sequence);
        }
    }
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
