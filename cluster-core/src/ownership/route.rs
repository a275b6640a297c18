//! Where a command goes at this moment.

use super::machine::{Ownership, Step, View};
use super::record::{Epoch, Holder};
use crate::membership::{Incarnation, Judgement};
use std::time::Instant;

/// What kind of command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It asks whether and how the unit is there (INQUIRY, TEST UNIT READY, REPORT TARGET PORT GROUPS and the like): it never moves ownership.
    Probe,
    /// It touches the medium, or the unit's state.
    Medium,
}

/// Why a command is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// NOT READY, TARGET PORT IN UNAVAILABLE STATE (04h/0Ch): go through another port group.
    Unavailable,
    /// NOT READY, ASYMMETRIC ACCESS STATE TRANSITION (04h/0Ah): come back soon.
    Transitioning,
}

/// Where a command goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the opened file, under this epoch.
    Here(Epoch),
    /// To the owner, under this epoch.
    Owner(Incarnation, Epoch),
    /// It is answered as far as this node can by itself: nobody has the volume, and this node could take it.
    Local,
    /// It waits until ownership has changed. That a medium command waits is told by [`super::Input::Wanted`].
    Wait,
    /// It is refused.
    NotReady(Reason),
}

impl Ownership {
    /// Where a command goes. For the owner's own commands this is two comparisons, but not free of a look at the clock: where the volume fences, the
    /// medium commands of the owner may go by what [`super::Action::Serve`] and [`super::Action::Stop`] have said last.
    pub fn route(&self, now: Instant, view: &View<'_>, class: Class) -> Route {
        let Some(term) = view.lease.term(now) else { return Route::NotReady(Reason::Unavailable) };
        match self.step {
            Step::Active { epoch } if self.term == term && self.has_authority(now) => {
                return Route::Here(epoch);
            }
            Step::Idle => {}
            // What was begun in an earlier term is about to be stopped.
            _ => return Route::Wait,
        }
        let nobody = match class {
            Class::Probe => Route::Local,
            Class::Medium => Route::Wait,
        };
        let Some(seen) = &self.seen else { return Route::Wait };
        match &seen.record.holder {
            Holder::Owned(owner) if owner.node != self.settings.me.node => {
                let Some(peer) = view.peers.get(owner) else { return Route::Wait };
                match peer.watch.judgement() {
                    Judgement::Dead => nobody,
                    _ if peer.cut.is_none() => Route::Owner(owner.clone(), seen.epoch),
                    _ if peer.is_out_of_reach(view.peers.timing()) => Route::NotReady(Reason::Unavailable),
                    _ => Route::Wait,
                }
            }
            Holder::Nobody | Holder::Owned(_) | Holder::Released(_) | Holder::Damaged => nobody,
        }
    }
}
