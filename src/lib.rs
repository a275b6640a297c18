//! glint serves block files on GlusterFS to iSCSI initiators, from one unprivileged process.
#![forbid(unsafe_code)]

pub mod api;
pub mod backend;
pub mod cli;
pub mod config;
pub mod control;
pub mod server;
pub mod state;
pub mod telemetry;
