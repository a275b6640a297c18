//! The target port groups of a shared unit: one for each node, told alike by all of them.

use super::hub::{Hub, Tidings};
use arc_swap::ArcSwap;
use glint_cluster_core::membership::NodeId;
use glint_target_core::lun::alua::{AccessState, Change, PortGroup, PortGroups};
use glint_target_core::scsi::asc;
use glint_target_core::scsi::sense::Sense;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The states at one moment.
#[derive(Clone, Debug)]
struct States {
    groups: Arc<[PortGroup]>,
    /// Whose they are, in the same order.
    nodes: Vec<NodeId>,
    change: Change,
}

/// See the module.
pub struct Groups {
    volume: Arc<str>,
    own: u16,
    hub: Weak<Hub>,
    states: ArcSwap<States>,
    /// The next change is what an initiator has asked for.
    is_asked: AtomicBool,
}

impl Groups {
    /// None are known yet but this node's own.
    pub fn new(volume: Arc<str>, own: u16, hub: &Arc<Hub>) -> Arc<Self> {
        let group = PortGroup {
            number: own,
            state: AccessState::Transitioning,
            is_preferred: false,
            ports: Vec::new(),
        };
        let states =
            States { groups: Arc::new([group]), nodes: vec![hub.me().node.clone()], change: Change::None };
        Arc::new(Self {
            volume,
            own,
            hub: Arc::downgrade(hub),
            states: ArcSwap::from_pointee(states),
            is_asked: AtomicBool::new(false),
        })
    }

    /// From now on these are the groups, each with its node. Whether the states are others than before.
    pub fn set(&self, groups: Vec<(PortGroup, NodeId)>) -> bool {
        let old = self.states.load();
        let (groups, nodes): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        if *old.groups == *groups && old.nodes == nodes {
            return false;
        }
        let of =
            |groups: &[PortGroup]| groups.iter().map(|group| (group.number, group.state)).collect::<Vec<_>>();
        let has_changed = of(&old.groups) != of(&groups);
        let change = match has_changed {
            false => old.change,
            true if self.is_asked.swap(false, Ordering::Relaxed) => Change::Explicit,
            true => Change::Implicit,
        };
        self.states.store(Arc::new(States { groups: groups.into(), nodes, change }));
        has_changed
    }
}

impl PortGroups for Groups {
    fn groups(&self) -> Arc<[PortGroup]> {
        Arc::clone(&self.states.load().groups)
    }

    fn own(&self) -> u16 {
        self.own
    }

    fn change(&self) -> Change {
        self.states.load().change
    }

    fn optimize(&self, group: u16) -> Result<(), Sense> {
        let states = self.states.load();
        let at = states.groups.iter().position(|known| known.number == group);
        let (known, node) = at
            .and_then(|at| states.groups.get(at).zip(states.nodes.get(at)))
            .ok_or(Sense::illegal(asc::INVALID_FIELD_IN_PARAMETER_LIST))?;
        match known.state {
            AccessState::ActiveOptimized => Ok(()),
            // SPC-5 6.45: a transition that can't be made.
            AccessState::Unavailable => Err(Sense::illegal(asc::INVALID_FIELD_IN_PARAMETER_LIST)),
            _ => {
                self.is_asked.store(true, Ordering::Relaxed);
                if let Some(hub) = self.hub.upgrade() {
                    hub.tell(Tidings::Move(Arc::clone(&self.volume), node.clone()));
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").field("volume", &self.volume).field("states", &**self.states.load()).finish()
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
