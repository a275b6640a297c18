//! One connection from accept to its end.

mod clock;
mod commands;
mod driver;
mod end;
mod handshake;
mod joining;
mod line;
mod obedience;
mod report;
mod session;
mod stream;
mod wire;

use super::catalog::PortalView;
use super::door::Door;
use super::limits::Limits;
use super::node::Node;
use super::orders::{Dismissal, Orders};
use super::roster::Enrolment;
use super::sessions::Refusal;
use clock::Clock;
use commands::Commands;
use driver::Driver;
use end::End;
use futures_util::future::join_all;
use glint_target_core::login::catalog::Catalog;
use glint_target_core::scsi::command::DeviceServer;
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{Leg, SessionRequest};
pub(super) use joining::Candidate;
use line::Line;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
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

/// Serves a connection, and once it is logged in the others that join its session, to their end, and after that the commands to theirs.
/// To be called inside the runtime that is to serve it.
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
    let orders = Arc::clone(&enrolment.orders);
    let line =
        Line { leg: Leg::FIRST, wire: Wire::new(stream), enrolment, unheard: false, span: span.clone() };
    let mut connection = Connection::new(config, catalog, began);
    connection.ration();
    let mut driver = Driver {
        limits: Arc::clone(&limits),
        orders: Arc::clone(&orders),
        lines: vec![line],
        connection,
        commands: Commands::new(
            commands::execute::<S>,
            node.budget.ledger(limits.bytes_per_connection),
            most_data_in,
        ),
        clock: Clock::new(),
        held_up: None,
        is_behind: false,
        gathered: node.gathering.part(),
        guest: node.invitations.guest(began),
        recheck_at: None,
        paused_until: None,
        refused: false,
        parting: Vec::new(),
        joining: Vec::new(),
        span,
        node,
    };
    let end = poll_fn(|cx| driver.poll(cx)).await;
    let Driver { lines, mut connection, commands, joining, node, .. } = match end {
        End::Moves(session, request) => return hand_over(driver, session, request).await,
        ref end => {
            report::ended(&driver, end);
            driver
        }
    };
    let late = orders.shut().into_iter().chain(joining);
    let refused =
        late.map(|candidate| candidate.turn_away(Arc::clone(&node), Refusal::NoSuchSession, limits.goodbye));
    let patience = match end {
        End::Closed(_) | End::Dismissed(Dismissal::Revoked | Dismissal::TargetReset) => Some(limits.goodbye),
        // There is no time to wait until it is read, or no memory: what the system takes at once has to do.
        End::Dismissed(Dismissal::Cut) | End::Hoarding => Some(Duration::ZERO),
        _ => None,
    };
    let leaving = lines.into_iter().map(|line| {
        let last_words = connection.transmit(line.leg).filter(|_| patience.is_some()).map(std::mem::take);
        line.leave(last_words, patience.unwrap_or_default())
    });
    let (leaving, refused) = (join_all(leaving), join_all(refused));
    // In this order: where nothing is left running the session is over before its last words are sent.
    let (_, places, _) = tokio::join!(commands.settle(limits.linger), leaving, refused);
    drop(places);
}

/// Leaves the connection to the task of the session that it asks for.
async fn hand_over<S: DeviceServer, F>(driver: Driver<S, F>, session: Arc<Orders>, request: SessionRequest) {
    let Driver { lines, connection, node, limits, span, .. } = driver;
    let Some(line) = lines.into_iter().next() else { return };
    match Candidate::new(line, connection, request) {
        Ok(candidate) => joining::hand_over(candidate, session, node, limits.goodbye).await,
        Err(error) => span.in_scope(|| tracing::debug!(%error, "the connection broke")),
    }
}
