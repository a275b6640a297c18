//! What is fuzzed, as plain functions of bytes: each takes anything and panics where the target would misbehave.
//!
//! `cargo-fuzz/` drives them with libFuzzer; `tests/replay.rs` runs the corpus and mutations of it in the ordinary tests.
#![forbid(unsafe_code)]
// A panic is how a fuzz target tells what it found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod connection;
mod lab;
mod login;
mod multiple;
pub mod mutation;
mod pdu;
mod program;

pub use commands::{command_names, commands, report};
pub use connection::connection;
pub use login::login;
pub use multiple::{Tally, multiple};
pub use pdu::pdu;
