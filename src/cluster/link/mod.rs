//! The internal connections between nodes: who is at the other end, what is said, and how it travels.
//!
//! One TCP connection for each pair of nodes that have to do with each other, TLS 1.3 around it. Each node makes a certificate of its own when it starts
//! and writes its fingerprint into its record in the store: whoever can write to the store is trusted, nobody else is, and there is no secret to hand out.

mod codec;
mod connection;
mod identity;
mod message;
mod wire;

pub use codec::Frame;
pub use connection::{Connection, End, LinkError, Pace};
pub use identity::{Fingerprint, Identity, IdentityError};
pub use message::{Answer, CommandHead, Message, Verb};
pub use wire::{
    Malformed, command_head, command_of, function_of, managed_code, managed_of, nexus_head, nexus_of,
    outcome_head, outcome_of, verb_of,
};
