//! Who takes part: the nodes' records, their numbers, and who is alive.

mod heartbeat;
mod lease;
mod node;
mod numbers;
mod observer;
mod peers;
mod timing;

pub use heartbeat::{Beat, MOST_BEAT_BYTES};
pub use lease::{Lease, Term};
pub use node::{BootId, Incarnation, NodeId, NodeRecord, Portal, RecordError};
pub use numbers::{Numbers, NumbersError, assign};
pub use observer::{Judgement, Watch};
pub use peers::{Peer, Peers};
pub use timing::{Timing, TimingError};
