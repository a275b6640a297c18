//! The logical unit: identity, unit attentions for each nexus, reservations, ALUA groups, range locks, the task set; and the target
//! device that holds the inventory of units.

pub mod alua;
pub mod attention;
pub mod background;
pub mod claim;
pub mod condition;
pub mod identity;
mod manage;
pub mod medium;
pub mod memory;
pub mod reservation;
pub mod target;
pub mod task_set;
pub mod unit;
