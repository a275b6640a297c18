//! One PERSISTENT RESERVE OUT after the other: each decides by the state that the one before has left.

use super::actions::{Action, Effects, Refusal};
use super::document::{self, Notebook};
use super::registrant::Registrant;
use super::state::State;
use super::{Inner, Reservations};
use crate::lun::attention::Attentions;
use crate::lun::memory::{self, Document, MemoryError, UnitMemory};
use crate::scsi::command::NexusId;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

impl Reservations {
    /// Waits until no other PERSISTENT RESERVE OUT is under way. None when the unit was reserved by RESERVE meanwhile.
    pub async fn turn(&self) -> Option<Turn<'_>> {
        poll_fn(|context| {
            let mut inner = self.lock();
            if inner.busy {
                if !inner.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    inner.waiting.push(context.waker().clone());
                }
                return Poll::Pending;
            }
            if inner.reserved_by.is_some() {
                return Poll::Ready(None);
            }
            inner.busy = true;
            Poll::Ready(Some(Turn { reservations: self }))
        })
        .await
    }
}

/// The right to change the state, until it is dropped.
pub struct Turn<'a> {
    reservations: &'a Reservations,
}

/// A change that was decided upon and is not in force yet.
pub struct Change {
    state: State,
    effects: Effects,
}

impl Turn<'_> {
    /// Decides upon a service action of a nexus.
    pub fn decide(&self, from: &Registrant, action: &Action) -> Result<Change, Refusal> {
        let current = Arc::clone(&self.reservations.lock().state);
        let (state, effects) = current.after(from, action)?;
        Ok(Change { state, effects })
    }

    /// Makes a change durable, as far as it has to outlive the process.
    pub async fn keep(
        &self,
        change: &Change,
        memory: Option<&Arc<dyn UnitMemory>>,
    ) -> Result<(), MemoryError> {
        let Some(memory) = memory else { return Ok(()) };
        let (current, Notebook { in_doubt, unknown }) = {
            let inner = self.reservations.lock();
            (Arc::clone(&inner.state), inner.notebook.clone())
        };
        let lasting = change.state.after_power_loss();
        if !in_doubt && lasting == current.after_power_loss() {
            return Ok(());
        }
        self.reservations.lock().notebook.in_doubt = true;
        let new = document::encode(&lasting, &unknown);
        let old = || document::encode(&current.after_power_loss(), &unknown);
        let kept = memory::replace(&**memory, Document::Reservations, new, old).await;
        self.reservations.lock().notebook.in_doubt = kept.as_ref().is_err_and(|failure| failure.in_doubt);
        kept.map_err(|failure| failure.error)
    }

    /// Puts a change in force. Those whom it concerns are told first: no command may run past a reservation that is gone without having
    /// been told why. Gives the nexuses that were preempted.
    pub fn commit(&self, change: Change, attentions: &Attentions) -> Vec<NexusId> {
        let Change { state, effects } = change;
        let (told, preempted) = {
            let inner = self.reservations.lock();
            let told: Vec<_> = effects
                .attentions
                .iter()
                .flat_map(|(registrant, condition)| inner.ids(registrant).map(move |id| (id, *condition)))
                .collect();
            let preempted = effects.preempted.iter().flat_map(|registrant| inner.ids(registrant)).collect();
            (told, preempted)
        };
        told.into_iter().for_each(|(nexus, condition)| attentions.raise_for(nexus, condition));
        let mut inner = self.reservations.lock();
        inner.state = Arc::new(state);
        self.reservations.publish(&inner);
        preempted
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut inner = self.reservations.lock();
            inner.busy = false;
            std::mem::take(&mut inner.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Inner {
    /// The nexuses that are logged in under these names.
    fn ids(&self, registrant: &Registrant) -> impl Iterator<Item = NexusId> {
        self.nexuses.iter().filter(move |(_, own)| *own == registrant).map(|(id, _)| *id)
    }
}
