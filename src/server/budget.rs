//! Bytes of commands' data that connections may hold: a share of the node's for each, and the node's for all together.
//!
//! A connection draws on the node in steps of [`STEP`] and keeps what it has drawn while it is busy, so that the node's count is not
//! touched for every command. Those that wait are served in the order in which they came.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes drawn from the node at a time.
const STEP: usize = 64 << 10;

/// Steps beyond its need that a busy connection keeps.
const SLACK: usize = 8;

/// A busy connection draws more only while this many times what it then has is left for others. Peers that are slow to read what they asked
/// for hold it for as long as they like; so the first to come must not have all there is.
const LEFT_FOR_OTHERS: usize = 8;

/// The node's bytes.
#[derive(Clone)]
pub(super) struct NodeBudget {
    steps: Arc<Semaphore>,
    total: usize,
}

impl NodeBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let total = (bytes / STEP).clamp(1, u32::MAX as usize);
        Self { steps: Arc::new(Semaphore::new(total)), total }
    }

    pub(super) fn ledger(&self, limit: usize) -> Ledger {
        Ledger { node: self.clone(), limit, in_flight: 0, held: None, waiting: None }
    }

    /// Bytes that connections hold.
    pub(super) fn held(&self) -> usize {
        self.total.saturating_sub(self.steps.available_permits()) * STEP
    }

    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.steps.available_permits() * STEP
    }
}

type Draw = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// The account of a session, with all its connections.
pub(super) struct Ledger {
    node: NodeBudget,
    limit: usize,
    /// Cost of the commands that run.
    in_flight: usize,
    held: Option<OwnedSemaphorePermit>,
    waiting: Option<Draw>,
}

impl Ledger {
    fn held_steps(&self) -> usize {
        self.held.as_ref().map_or(0, |permit| permit.num_permits())
    }

    fn leaves_too_little(&self, steps: usize) -> bool {
        let left = self.node.steps.available_permits().saturating_sub(steps);
        LEFT_FOR_OTHERS * (self.held_steps() + steps) > left
    }

    /// Takes on a command of this cost beside `queued` bytes that wait to be sent. Pending: the caller keeps the command and asks again
    /// when woken, or when something of its own has ended.
    pub(super) fn poll_admit(&mut self, cx: &mut Context<'_>, cost: usize, queued: usize) -> Poll<()> {
        let busy = self.in_flight + queued;
        if busy > 0 && busy + cost > self.limit {
            return Poll::Pending;
        }
        // A command that is larger than the node may run when it has the node for itself.
        let need = (busy + cost).div_ceil(STEP).min(self.node.total);
        if need > self.held_steps() {
            // Whoever waits holds no more than its running commands need, and those end: so all waits end.
            let steps = cost.div_ceil(STEP).min(self.node.total);
            // Something of this connection's own ends before it asks again.
            if busy > 0 && self.waiting.is_none() && self.leaves_too_little(steps) {
                return Poll::Pending;
            }
            if let Some(permit) = std::task::ready!(self.poll_draw(cx, steps)) {
                self.keep(permit);
            }
        }
        self.waiting = None;
        self.in_flight += cost;
        Poll::Ready(())
    }

    fn poll_draw(&mut self, cx: &mut Context<'_>, steps: usize) -> Poll<Option<OwnedSemaphorePermit>> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        if self.waiting.is_none() {
            match Arc::clone(&self.node.steps).try_acquire_many_owned(steps) {
                Ok(permit) => return Poll::Ready(Some(permit)),
                Err(_) => {
                    let draw = Arc::clone(&self.node.steps).acquire_many_owned(steps);
                    self.waiting = Some(Box::pin(async { draw.await.ok() }));
                }
            }
        }
        let Some(draw) = &mut self.waiting else { return Poll::Ready(None) };
        let permit = std::task::ready!(draw.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(permit)
    }

    fn keep(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(permit),
            None => self.held = Some(permit),
        }
    }

    /// A command of this cost has ended; its response is among the bytes to be sent.
    pub(super) fn ended(&mut self, cost: usize) {
        self.in_flight = self.in_flight.saturating_sub(cost);
    }

    /// Gives back what is not needed with `queued` bytes still to be sent.
    pub(super) fn settle(&mut self, queued: usize) {
        let busy = self.in_flight + queued;
        if busy == 0 {
            self.held = None;
            return;
        }
        let need = busy.div_ceil(STEP);
        if let Some(held) = &mut self.held
            && held.num_permits() > need + SLACK
        {
            drop(held.split(held.num_permits() - need));
        }
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
