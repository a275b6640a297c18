//! Several nodes that serve the same volumes, hosts that fail over between them, and everything that can go wrong meanwhile; what was
//! acknowledged has to be there afterwards. `make torture` is the long form, `tests/torture.rs` the short one.
//!
//! The hosts here go by [`timers`] and do what Linux would, and count it. Real ones, fio over libiscsi and Linux in the virtual machine, are
//! further kinds of load beside [`load`].

pub mod block;
pub mod cdb;
pub mod cluster;
pub mod counter;
pub mod faults;
pub mod ledger;
pub mod load;
pub mod multipath;
pub mod namespace;
pub mod node;
pub mod nodes;
pub mod options;
pub mod path;
pub mod proxy;
pub mod report;
pub mod reservations;
pub mod run;
pub mod site;
pub mod tally;
pub mod timers;
pub mod verdict;
pub mod watcher;
