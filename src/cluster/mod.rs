//! Several nodes that serve the same volumes: who owns which, and how a command gets to the owner.
//!
//! ```text
//! session ─▶ Front ─▶ SharedTarget ─▶ SharedUnit ─ gate open ─▶ TargetDevice (this node owns the volume)
//!                                        └ Outbound ─▶ Link ~~~▶ Guests ─ gate ─▶ TargetDevice of the owner
//! Engine: records, heartbeats, ownership ─▶ gates, routes, access states
//! ```

pub mod admin;
mod clock;
mod engine;
mod figures;
mod front;
mod gate;
mod groups;
mod hub;
mod inbound;
mod link;
mod links;
mod node;
mod outbound;
mod registration;
mod routes;
mod standing;
mod target;
mod unit;

pub use engine::{Make, VolumeParts};
pub use front::Front;
pub use groups::Groups;
pub use node::{Cluster, ClusterError, Hooks, Neighbour};
pub use registration::RegistrationError;
pub use target::SharedTarget;
pub use unit::SharedUnit;
