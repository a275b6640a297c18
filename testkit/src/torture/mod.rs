//! Several nodes that serve the same volumes, initiators that fail over between them, and everything that can go wrong meanwhile; what
//! was acknowledged has to be there afterwards. `make torture` is the long form, `tests/torture.rs` the short one.

pub mod block;
pub mod cdb;
pub mod counter;
pub mod ledger;
pub mod load;
pub mod multipath;
pub mod namespace;
pub mod path;
pub mod proxy;
pub mod reservations;
pub mod site;
pub mod tally;
pub mod timers;
pub mod verdict;
