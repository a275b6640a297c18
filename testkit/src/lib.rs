//! The real peers of glint's tests: the released binary itself, GlusterFS, libiscsi's tools, fio, QEMU, and Linux's own
//! initiator in a virtual machine. Beside them, [`initiator`] does what no real client can be told to.
//!
//! Nothing here hides a failure: what cannot be started, does not answer in time or ends badly panics with all that is known
//! about it, and so fails the test. What was started ends with the value that holds it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod bench;
pub mod conformance;
pub mod data;
pub mod fio;
pub mod glint;
pub mod gluster;
pub mod http;
pub mod initiator;
pub mod paths;
pub mod pki;
pub mod ports;
pub mod process;
pub mod scale;
pub mod tools;
pub mod torture;
pub mod tunnel;
pub mod vm;
pub mod wait;
