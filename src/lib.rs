//! glint serves block files on GlusterFS to iSCSI initiators, from one unprivileged process.
#![forbid(unsafe_code)]

pub mod backend;
pub mod cli;
pub mod config;
