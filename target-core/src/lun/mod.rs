//! The logical unit: identity, unit attentions for each nexus, reservations, ALUA groups, range locks, the task set; and the target
//! device that holds the inventory of units.
