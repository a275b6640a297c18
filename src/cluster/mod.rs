//! Several nodes that serve the same volumes: what drives the state machines of `glint-cluster-core` with a real store, real clocks and real
//! connections. `docs/ownership.md` tells the protocol.

pub mod admin;
pub mod gate;
pub mod link;
