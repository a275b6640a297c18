//! Sessions and connections as values: command numbering, data phases, task management, reinstatement, time-outs.
//!
//! A [`Connection`](connection::Connection) is fed bytes and the time, and gives bytes to send and [`Event`](event::Event)s to act on.

pub mod event;
