//! A command that reaches a node other than the owner is executed by the owner: once, or else its initiator hears that nobody knows.
//!
//! [`Origin`] is the side where commands come in, [`Executor`] the side of the owner. Between them is a connection that may be lost at any time, with
//! what was on its way lost, or still in the receiver's hands.

mod executor;
mod messages;
mod origin;

pub use executor::{Executor, Verdict};
pub use messages::{Freshness, Refusal, Reply, Request, Stamp};
pub use origin::{CommandId, Order, Origin, Patience};
