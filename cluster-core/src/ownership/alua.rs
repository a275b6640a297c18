//! The state of each node's target port group, the same from every node's point of view.

use super::machine::{Ownership, View};
use super::record::Holder;
use crate::membership::{Beat, Incarnation, Judgement};
use std::time::Instant;

/// SPC-5 table 58, as far as used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessState {
    /// At the owner.
    ActiveOptimized,
    /// Elsewhere: commands are forwarded.
    ActiveNonOptimized,
    /// Its node is dead, or cannot reach the owner.
    Unavailable,
    /// The volume is on the way there.
    Transitioning,
}

/// A node that has a target port group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its living incarnation, as its record tells.
    pub incarnation: Incarnation,
    /// Its TARGET PORT GROUP.
    pub group: u16,
}

/// The states of the groups of all members.
pub fn access_states(
    ownership: &Ownership,
    now: Instant,
    view: &View<'_>,
    members: &[Member],
) -> Vec<(u16, AccessState)> {
    let me = &ownership.settings.me;
    let holder = ownership.seen().map_or(&Holder::Nobody, |seen| &seen.record.holder);
    let owner =
        members.iter().find(|member| matches!(holder, Holder::Owned(owner) if *owner == member.incarnation));
    let owner = owner.filter(|owner| owner.incarnation == *me || !is_dead(view, &owner.incarnation));
    let state = |member: &Member| {
        let is_me = member.incarnation == *me;
        if (is_me && view.lease.term(now).is_none()) || (!is_me && is_dead(view, &member.incarnation)) {
            return AccessState::Unavailable;
        }
        match (owner, holder) {
            (Some(owner), _) if owner.group == member.group => match is_me && ownership.active().is_none() {
                true => AccessState::Transitioning,
                false => AccessState::ActiveOptimized,
            },
            (Some(owner), _) if is_cut_off(view, me, member, owner) => AccessState::Unavailable,
            (None, Holder::Released(Some(to))) if *to == member.incarnation.node => {
                AccessState::Transitioning
            }
            _ if is_me && ownership.is_moving() => AccessState::Transitioning,
            _ => AccessState::ActiveNonOptimized,
        }
    };
    members.iter().map(|member| (member.group, state(member))).collect()
}

fn is_dead(view: &View<'_>, incarnation: &Incarnation) -> bool {
    view.peers.judgement(incarnation) == Judgement::Dead
}

/// Whether a member cannot reach the owner: as seen here, or as the member's heartbeat tells.
fn is_cut_off(view: &View<'_>, me: &Incarnation, member: &Member, owner: &Member) -> bool {
    if member.incarnation == *me {
        let peer = view.peers.get(&owner.incarnation);
        return peer.is_some_and(|peer| peer.is_out_of_reach(view.peers.timing()));
    }
    let beat = view.peers.get(&member.incarnation).and_then(|peer| peer.watch.seen());
    beat.and_then(|beat| Beat::decode(beat)).is_some_and(|beat| beat.unreachable.contains(&owner.group))
}

#[cfg(test)]
#[path = "alua_tests.rs"]
mod tests;
