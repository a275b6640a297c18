//! One connection from accept to its end.

mod clock;
mod commands;
mod driver;
mod handshake;
mod report;
mod session;
mod stream;
mod wire;

use super::catalog::PortalView;
use super::door::Door;
use super::limits::Limits;
use super::node::Node;
use super::orders::Dismissal;
use super::roster::Enrolment;
use clock::Clock;
use commands::Commands;
use driver::{Driver, End};
use glint_target_core::login::catalog::Catalog;
use glint_target_core::scsi::command::DeviceServer;
use glint_target_core::session::connection::Connection;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use wire::Wire;

/// A socket that was accepted, and what goes with it.
pub(super) struct Accepted<S> {
    pub(super) node: Arc<Node<S>>,
    pub(super) socket: std::net::TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
    pub(super) door: Arc<Door>,
    pub(super) enrolment: Enrolment,
    pub(super) limits: Arc<Limits>,
}

/// Serves a connection to its end, and after that its commands to theirs. To be called inside the runtime that is to serve it.
pub(super) async fn run<S: DeviceServer>(accepted: Accepted<S>) {
    let Accepted { node, socket, peer, local, door, enrolment, limits } = accepted;
    let began = Instant::now();
    let span = tracing::info_span!(
        "connection",
        %peer,
        initiator = tracing::field::Empty,
        target = tracing::field::Empty
    );
    let socket = match TcpStream::from_std(socket) {
        Ok(socket) => socket,
        Err(error) => return span.in_scope(|| tracing::error!(%error, "cannot serve a connection")),
    };
    let config = node.connection_config.load_full();
    let deadline = began.checked_add(config.login_timeout);
    let stream = match handshake::open(socket, &door, &enrolment.orders, deadline).await {
        Ok(stream) => stream,
        Err(refused) => return report::refused(&node, &span, &refused),
    };
    let catalog: Arc<dyn Catalog> = Arc::new(PortalView {
        snapshot: Arc::clone(&node.catalog),
        tag: door.tag,
        tls: door.tls.is_some(),
        local,
        peer: peer.ip(),
    });
    let most_data_in = usize::try_from(config.max_command_bytes).unwrap_or(usize::MAX);
    let mut driver = Driver {
        limits: Arc::clone(&limits),
        orders: Arc::clone(&enrolment.orders),
        wire: Wire::new(stream),
        connection: Connection::new(config, catalog, began),
        commands: Commands::new(
            commands::execute::<S>,
            node.budget.ledger(limits.bytes_per_connection),
            most_data_in,
        ),
        clock: Clock::new(),
        held_up: None,
        gathered: node.gathering.part(),
        paused_until: None,
        unheard: false,
        refused: false,
        span,
        node,
    };
    let end = poll_fn(|cx| driver.poll(cx)).await;
    report::ended(&driver, &end);
    let Driver { wire, mut connection, commands, .. } = driver;
    let goodbye = async {
        match end {
            End::Closed(_) | End::Dismissed(Dismissal::Revoked) => {
                wire.goodbye(connection.transmit(), limits.goodbye).await;
            }
            End::Dismissed(_)
            | End::PeerClosed
            | End::Stalled
            | End::Hoarding
            | End::TlsClient
            | End::Socket(_) => drop(wire),
        }
    };
    tokio::join!(goodbye, commands.settle(limits.linger));
    drop(enrolment);
}
