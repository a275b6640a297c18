//! From configured limits to those of the server and of its connections.

use crate::config;
use crate::server;
use glint_target_core::login::parameters::Offer;
use glint_target_core::session::connection::ConnectionConfig;
use std::time::Duration;

/// One session may hold this part of the node's bytes in flight.
const SHARE_OF_NODE: usize = 4;

/// Descriptors that are not connections: listeners, volumes, the API, libgfapi's own.
const OTHER_FILES: u64 = 256;

/// Lets the process have as many descriptors as it may, and tells how many: many systems start it with 1024 for no other reason
/// than select(2).
fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let limit = if raised.is_ok() { limit.maximum } else { limit.current };
    limit.unwrap_or(u64::MAX)
}

/// The connections that may be open where there may be `files` descriptors: the last of these are not for peers to take, or no volume
/// could be opened and no metrics read any more. Half is theirs where there are few.
fn connections(configured: u32, files: u64) -> usize {
    // A few more may be on their way out.
    let left = files.saturating_sub(OTHER_FILES).max(files / 2) / 5 * 4;
    as_usize(configured).min(usize::try_from(left).unwrap_or(usize::MAX))
}

pub(super) fn server_limits(limits: &config::Limits) -> server::Limits {
    let defaults = server::Limits::default();
    let max_connections = connections(limits.max_connections, raise_file_limit());
    if max_connections < as_usize(limits.max_connections) {
        tracing::warn!(
            configured = limits.max_connections,
            allowed = max_connections,
            "the limit of open files (ulimit -n) allows fewer connections"
        );
    }
    server::Limits {
        max_connections,
        max_sessions: as_usize(limits.max_sessions),
        max_discovery_sessions: as_usize(limits.max_discovery_sessions),
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
        offer: Offer {
            max_connections: limits.connections_per_session,
            max_recv_data_segment_length: limits.max_recv_data_segment,
            ..Offer::default()
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        assert_eq!(connections(1024, 1024), 612);
        assert_eq!(connections(1024, 64), 24);
        assert_eq!(connections(1024, u64::MAX), 1024);
        assert_eq!(connections(10, 1024), 10);
    }

    #[test]
    fn the_process_may_open_all_that_it_is_allowed() {
        let allowed = raise_file_limit();
        let now = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(now.current.unwrap_or(u64::MAX), allowed);
        assert_eq!(now.current, now.maximum);
    }
}
