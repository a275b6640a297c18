//! The logical unit: identity, unit attentions for each nexus, reservations, ALUA groups, range locks, the task set; and the target
//! device that holds the inventory of units.

pub mod alua;
pub mod attention;
pub mod background;
pub mod buffers;
pub mod claim;
pub mod clock;
pub mod condition;
pub mod copy;
pub mod identifying;
pub mod identity;
pub mod lanes;
pub(crate) mod manage;
pub mod medium;
pub mod memory;
pub mod notice;
pub mod priorities;
pub mod reservations;
pub mod self_tests;
pub mod space;
pub mod statistics;
pub mod target;
pub mod task_set;
pub mod unit;
