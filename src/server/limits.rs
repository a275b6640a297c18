//! Bounds on what peers can make the process spend.

use std::time::Duration;

/// Read when a connection or session begins, so that a change holds for later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// TCP connections at a time; one more is closed at once.
    pub max_connections: usize,
    /// Normal sessions at a time; one more is refused with status 0302h.
    pub max_sessions: usize,
    /// Discovery sessions at a time, likewise: whoever looks for targets keeps nobody from using them.
    pub max_discovery_sessions: usize,
    /// Bytes of commands' data that one connection may hold, or the connections of one session together, from dispatch until its
    /// response is written. A command that exceeds it alone is run when nothing else is in flight.
    pub bytes_per_connection: usize,
    /// How long a peer may take none of what there is to send.
    pub write_stall: Duration,
    /// How long the last words may take to go out once a connection has come to its end.
    pub goodbye: Duration,
    /// How long commands of a connection that is gone may go on before they are given up.
    pub linger: Duration,
    /// How long a login waits for the session that it reinstates to end.
    pub reinstatement: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_sessions: 512,
            max_discovery_sessions: 64,
            bytes_per_connection: 64 << 20,
            write_stall: Duration::from_secs(30),
            goodbye: Duration::from_secs(2),
            linger: Duration::from_secs(60),
            reinstatement: Duration::from_secs(13),
        }
    }
}
