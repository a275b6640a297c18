//! From configured limits to those of the server and of its connections.

use crate::config;
use crate::server;
use glint_target_core::login::parameters::Offer;
use glint_target_core::session::connection::ConnectionConfig;
use std::time::Duration;

/// One connection may hold this part of the node's bytes in flight.
const SHARE_OF_NODE: usize = 4;

pub(super) fn server_limits(limits: &config::Limits) -> server::Limits {
    let defaults = server::Limits::default();
    server::Limits {
        max_connections: as_usize(limits.max_connections),
        max_sessions: as_usize(limits.max_sessions),
        bytes_per_connection: bytes_in_flight(limits) / SHARE_OF_NODE,
        // All that a backend may take, twice over: a command may wait for another on the same blocks.
        linger: defaults.linger.max(limits.io_deadline * 2),
        // Before the login that waits for it is given up, by us or by the initiator.
        reinstatement: defaults.reinstatement.min(limits.login_timeout * 7 / 8),
        ..defaults
    }
}

pub(super) fn connection_config(limits: &config::Limits) -> ConnectionConfig {
    ConnectionConfig {
        offer: Offer::default(),
        login_timeout: limits.login_timeout,
        nop_interval: limits.nop_interval,
        nop_timeout: limits.nop_timeout,
        logout_timeout: limits.logout_timeout,
        command_window: limits.command_window,
        max_command_bytes: limits.max_command_bytes,
        data_out_budget: usize::try_from(limits.data_out_budget).unwrap_or(usize::MAX),
        entropy,
    }
}

pub(super) fn bytes_in_flight(limits: &config::Limits) -> usize {
    usize::try_from(limits.bytes_in_flight).unwrap_or(usize::MAX)
}

fn as_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Random bytes for CHAP challenges. Linux gives them always once it has booted; should it ever refuse, it is asked again.
fn entropy(bytes: &mut [u8]) {
    while let Err(error) = getrandom::fill(bytes) {
        tracing::error!(%error, "no random bytes");
        std::thread::sleep(Duration::from_millis(10));
    }
}
