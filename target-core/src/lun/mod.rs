//! The logical unit: identity, unit attentions for each nexus, reservations, ALUA groups, range locks, the task set; and the target
//! device that holds the inventory of units.

pub mod alua;
pub mod attention;
pub mod claim;
pub mod copy;
pub mod identity;
mod manage;
pub mod medium;
pub mod memory;
pub mod reservations;
pub mod target;
pub mod task_set;
pub mod unit;
