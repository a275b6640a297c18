//! glint serves block files on GlusterFS to iSCSI initiators, from one unprivileged process.
// Where a system call needs it, the one file of that call allows it.
#![deny(unsafe_code)]

pub mod api;
pub mod backend;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod control;
pub mod heap;
pub mod server;
pub mod state;
pub mod store;
pub mod telemetry;
