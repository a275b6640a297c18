//! Sessions and connections as values: command numbering, data phases, task management, time-outs.
//!
//! A [`Connection`](connection::Connection) is fed bytes and the time, and gives bytes to send and [`Event`](event::Event)s to act on.
//!
//! It is a [login](login_phase), then a [full feature phase](full_feature), whose chapters are the other files here. What belongs to
//! the session and not to the connection is apart ([`window`]), so that connections of one session can share it.

pub mod config;
pub mod connection;
pub mod event;

mod asynchronous;
mod command;
mod conditions;
mod data_in;
mod data_out;
mod fence;
mod full_feature;
mod gaps;
mod keepalive;
mod link;
mod login_phase;
mod logout;
mod members;
mod ordering;
mod reject;
mod renegotiation;
mod retention;
mod solicitation;
mod task_management;
mod tasks;
mod timers;
mod window;

#[cfg(test)]
mod tests;
