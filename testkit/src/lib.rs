//! glint-testkit

pub mod gluster;
