//! Several nodes, one owner of each volume: the protocol as pure logic, without sockets, clock or executor.
//!
//! [`store`] is plain async code over the [`store::Directory`] trait, free of any executor. Everything else is sans-I/O: inputs and `now` in,
//! actions out. `docs/ownership.md` states the protocol and what it takes for granted.
#![forbid(unsafe_code)]

pub mod forwarding;
pub mod membership;
pub mod ownership;
pub mod store;

#[cfg(test)]
mod simulation;
