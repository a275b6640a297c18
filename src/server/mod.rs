//! Sockets, threads and sessions: what surrounds the target core.
//!
//! Listeners hand accepted sockets to worker threads, each with a runtime of its own. One task owns a session with its connections:
//! it reads, feeds the [`Connection`](glint_target_core::session::connection::Connection), runs the commands that this asks for and
//! writes out what it has to say. Nothing that two sessions share is locked on the way of a command; the session registry is
//! locked at login and logout, the catalog is a snapshot that is swapped as a whole.

mod budget;
pub mod catalog;
mod connection;
pub mod door;
mod gathering;
mod invitations;
mod limits;
mod listener;
mod node;
mod orders;
mod proofs;
mod readiness;
mod roster;
mod sessions;
mod tasks;
mod turnstile;
mod workers;

pub use limits::Limits;
pub use listener::{Binding, ListenError, Listeners};
pub use node::Node;
pub use readiness::Readiness;
pub use workers::Workers;

#[cfg(test)]
mod tests;
