//! Login: stages, the table of text keys, CHAP; and the text keys of the full feature phase.
//!
//! [`stages::Login`] takes Login Requests and says what to answer; [`text_phase::TextPhase`] does so for Text Requests.
//! What a key is, who may say it, when, and how its value comes about stands in one table, `keys::KEYS`.

pub mod catalog;
mod chap;
mod draft;
pub mod failure;
mod keys;
mod negotiation;
pub mod parameters;
mod security;
pub mod stages;
pub mod text;
pub mod text_phase;
mod value;

pub use failure::LoginFailure;
pub use stages::{Login, Step};
pub use text_phase::{TextPhase, TextReject};

#[cfg(test)]
mod tests;
