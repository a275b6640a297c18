//! Connections that ask to join a session (RFC 7143 §6.3.1, §6.3.4). They log in on a task of their own; at the end of that the socket
//! moves to the task of the session, so that nothing of a session is ever shared between threads.

use super::driver::Driver;
use super::end::End;
use super::line::Line;
use super::stream::Moving;
use super::wire::Wire;
use crate::server::node::Node;
use crate::server::orders::Orders;
use crate::server::roster::Enrolment;
use crate::server::sessions::Refusal;
use bytes::BytesMut;
use glint_target_core::scsi::command::{DeviceServer, Outcome};
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{BindOutcome, Leg, SessionRequest};
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection that has proved who it is and waits to be let into a session.
pub(in crate::server) struct Candidate {
    socket: Moving,
    input: BytesMut,
    connection: Connection,
    request: SessionRequest,
    enrolment: Enrolment,
    span: tracing::Span,
    since: Instant,
}

/// What is to be done with a candidate.
enum Judgement {
    Admit,
    /// Commands of the connection that it replaces have to end before.
    Wait,
    Refuse(Refusal),
}

impl Candidate {
    /// Takes a connection away from its own task; none when its socket is broken.
    pub(super) fn new(mut line: Line, connection: Connection, request: SessionRequest) -> io::Result<Self> {
        let input = std::mem::take(&mut line.wire.input);
        let Line { wire, enrolment, span, .. } = line;
        let socket = wire.into_socket()?;
        Ok(Self { socket, input, connection, request, enrolment, span, since: Instant::now() })
    }

    pub(super) fn orders(&self) -> &Arc<Orders> {
        &self.enrolment.orders
    }

    /// Refuses the login.
    pub(super) async fn turn_away<S>(self, node: Arc<Node<S>>, refusal: Refusal, patience: Duration) {
        let Self { socket, mut connection, enrolment, span, .. } = self;
        let now = Instant::now();
        node.metrics.login_failed(refusal.label());
        if let Some(held_back) = node.complaints.admit(now) {
            span.in_scope(|| tracing::warn!(reason = refusal.label(), held_back, "login refused"));
        }
        let (class, detail) = refusal.status();
        connection.bound(now, BindOutcome::Refused { class, detail });
        if let (Ok(wire), Some(queue)) =
            (Wire::adopt(socket, BytesMut::new()), connection.transmit(Leg::FIRST))
        {
            wire.goodbye(queue, patience).await;
        }
        drop(enrolment);
    }
}

/// Hands a connection over to the session that it asks for, or refuses it if that has come to its end meanwhile.
pub(super) async fn hand_over<S>(
    candidate: Candidate,
    session: Arc<Orders>,
    node: Arc<Node<S>>,
    patience: Duration,
) {
    if let Err(candidate) = session.knock(Box::new(candidate)) {
        candidate.turn_away(node, Refusal::NoSuchSession, patience).await;
    }
}

impl<S: DeviceServer, F: Future<Output = Outcome> + Send> Driver<S, F> {
    /// Lets in those who may join now; tells whether anything has changed.
    pub(super) fn admit(&mut self, now: Instant) -> bool {
        let mut any = false;
        for candidate in std::mem::take(&mut self.joining) {
            match self.judge(&candidate, now) {
                Judgement::Wait => {
                    self.joining.push(candidate);
                    continue;
                }
                Judgement::Admit => self.let_in(candidate, now),
                Judgement::Refuse(refusal) => {
                    let node = Arc::clone(&self.node);
                    tokio::spawn(candidate.turn_away(node, refusal, self.limits.goodbye));
                }
            }
            any = true;
        }
        any
    }

    fn judge(&mut self, candidate: &Candidate, now: Instant) -> Judgement {
        if self.connection.is_ending() {
            return Judgement::Refuse(Refusal::NoSuchSession);
        }
        if candidate.orders().dismissal().is_some() {
            return Judgement::Refuse(Refusal::StillEnding);
        }
        let Some(session) = self.connection.session() else { return Judgement::Wait };
        let most = usize::from(session.parameters.max_connections);
        // RFC 7143 §6.3.4: a login with the CID of a connection logs that one out, whatever state it is in.
        if let Some(leg) = self.connection.leg_of(candidate.request.cid)
            && let Some(at) = self.lines.iter().position(|line| line.leg == leg)
        {
            self.part(at, &End::Reinstated, now);
        }
        if self.lines.len() >= most {
            return Judgement::Refuse(Refusal::TooManyConnections);
        }
        if !self.connection.has_orphans() {
            return Judgement::Admit;
        }
        if now.saturating_duration_since(candidate.since) >= self.limits.reinstatement {
            return Judgement::Refuse(Refusal::StillEnding);
        }
        Judgement::Wait
    }

    /// When one who waits has waited too long.
    pub(super) fn joining_deadline(&self) -> Option<Instant> {
        self.joining.iter().map(|candidate| candidate.since + self.limits.reinstatement).min()
    }

    fn let_in(&mut self, candidate: Candidate, now: Instant) {
        let Candidate { socket, input, connection, request, enrolment, span, .. } = candidate;
        let wire = match Wire::adopt(socket, input) {
            Ok(wire) => wire,
            Err(error) => return span.in_scope(|| tracing::error!(%error, "cannot serve a connection")),
        };
        // None: its time for logging in is over.
        let Some(leg) = self.connection.join(now, connection) else { return };
        enrolment.orders.set_logged_in();
        span.in_scope(|| {
            tracing::info!(tsih = request.tsih, cid = request.cid, "connection joined its session")
        });
        let peer = enrolment.orders.peer();
        self.lines.push(Line { leg, wire, enrolment, unheard: true, span });
        self.orders.opened(leg, peer);
        // Looked up when the registry knows the connection: who may not be here after this is found there.
        if !self.admits(peer) {
            self.orders.withdraw([leg]);
        }
    }

    /// Whether connections from this address may be in the session.
    fn admits(&self, peer: IpAddr) -> bool {
        let Some(session) = self.connection.session() else { return false };
        let catalog = self.node.catalog.load();
        // Who has no target any more is asked to log out.
        session
            .target_name
            .as_ref()
            .and_then(|name| catalog.target(name))
            .is_none_or(|target| target.admits(&session.initiator_name, peer, session.portal_group_tag))
    }
}
