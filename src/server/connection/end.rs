//! How a connection comes to its end.

use crate::server::orders::{Dismissal, Orders};
use glint_target_core::session::event::{CloseReason, SessionRequest};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a connection came to its end.
pub(super) enum End {
    /// The protocol says so; there may be last words to send.
    Closed(CloseReason),
    /// We were told to.
    Dismissed(Dismissal),
    /// It is to join the session of another connection, whose orders these are.
    Moves(Arc<Orders>, SessionRequest),
    /// Another connection has taken its place in the session.
    Reinstated,
    /// The peer closed.
    PeerClosed,
    /// The peer took nothing for too long.
    Stalled,
    /// It holds more data of incomplete commands than others while the node has too much of it.
    Hoarding,
    /// A TLS client came to a portal without TLS.
    TlsClient,
    /// The socket failed.
    Socket(io::Error),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Closed(reason) => write!(f, "{reason:?}"),
            End::Dismissed(why) => write!(f, "{why:?}"),
            End::Moves(..) => f.write_str("moves to its session"),
            End::Reinstated => f.write_str("reinstated"),
            End::PeerClosed => f.write_str("closed by the initiator"),
            End::Stalled => f.write_str("stalled"),
            End::Hoarding => f.write_str("hoarding"),
            End::TlsClient => f.write_str("TLS"),
            End::Socket(error) => error.fmt(f),
        }
    }
}
