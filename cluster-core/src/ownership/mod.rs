//! Who owns a volume: one state machine for each volume and node, without I/O. `docs/ownership.md` tells the whole.

mod alua;
mod claim;
mod machine;
mod reading;
mod record;
mod release;
mod route;
#[cfg(test)]
mod testing;
mod wish;

pub use alua::{AccessState, Member, access_states};
pub use machine::{Action, Input, Ownership, SetOutcome, Settings, Ticket, View};
pub use record::{Epoch, Holder, OwnerRecord, Seen};
pub use route::{Class, Reason, Route};
pub use wish::Wish;
