//! The task of a connection: it alone touches the connection's state, and takes turns at all that can happen to it.

use super::clock::Clock;
use super::commands::Commands;
use super::report;
use super::session::BoundSession;
use super::wire::Wire;
use crate::server::gathering::{PAUSE, Part, Verdict};
use crate::server::limits::Limits;
use crate::server::node::Node;
use crate::server::orders::{Dismissal, Orders};
use crate::server::sessions::Refusal;
use glint_target_core::scsi::command::{Command, DeviceServer, Outcome};
use glint_target_core::session::connection::Connection;
use glint_target_core::session::event::{BindOutcome, CloseReason, Event, TaskId};
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// Turns in a row before other connections of the worker have theirs.
const MOST_TURNS: usize = 16;

/// Why a connection came to its end.
pub(super) enum End {
    /// The protocol says so; there may be last words to send.
    Closed(CloseReason),
    /// We were told to.
    Dismissed(Dismissal),
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
            End::PeerClosed => f.write_str("closed by the initiator"),
            End::Stalled => f.write_str("stalled"),
            End::Hoarding => f.write_str("hoarding"),
            End::TlsClient => f.write_str("TLS"),
            End::Socket(error) => error.fmt(f),
        }
    }
}

/// A connection with all that it has.
pub(super) struct Driver<S: DeviceServer, F> {
    pub(super) node: Arc<Node<S>>,
    pub(super) limits: Arc<Limits>,
    pub(super) orders: Arc<Orders>,
    pub(super) wire: Wire,
    pub(super) connection: Connection,
    pub(super) commands: Commands<S, F>,
    pub(super) clock: Clock,
    /// A command for whose data there is no room yet. Nothing is read and no event taken while it waits.
    pub(super) held_up: Option<(TaskId, Command)>,
    /// Data of commands that are not complete.
    pub(super) gathered: Part,
    /// Nothing is read before: others are to complete their commands first.
    pub(super) paused_until: Option<Instant>,
    /// The connection has stopped in the midst of what was read: it comes before what is yet to be read.
    pub(super) unheard: bool,
    /// The login was refused from here, and counted.
    pub(super) refused: bool,
    pub(super) span: tracing::Span,
}

impl<S: DeviceServer, F: Future<Output = Outcome> + Send> Driver<S, F> {
    /// Takes turns until nothing is left to do now. Ready when the connection has come to its end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.orders.register(cx.waker());
        for _ in 0..MOST_TURNS {
            match self.turn(cx) {
                Ok(true) => {}
                Ok(false) => return Poll::Pending,
                Err(end) => return Poll::Ready(end),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Everything once, in the order in which one thing gives work to the next; tells whether another turn may find more to do.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let now = Instant::now();
        self.obey(now)?;
        let mut more = self.poll_bound(cx, now);
        more |= self.commands.poll_ended(cx, &mut self.connection);
        more |= self.poll_clock(cx, now)?;
        more |= self.read(cx, now)?;
        let closing = self.act(cx, &mut more);
        let wrote = self.wire.poll_write(cx, now, self.connection.transmit()).map_err(End::Socket)?;
        self.commands.ledger.settle(self.connection.transmit().len());
        self.gathered.set(self.connection.gathered());
        match closing {
            Some(reason) => Err(End::Closed(reason)),
            // Room in the queue lets a command in that was held up, and reading go on.
            None => Ok(more || wrote),
        }
    }

    fn obey(&mut self, now: Instant) -> Result<(), End> {
        if let Some(why) = self.orders.dismissal() {
            return Err(End::Dismissed(why));
        }
        if self.orders.take_drain() {
            if self.commands.session().and_then(BoundSession::reach).is_none() {
                return Err(End::Dismissed(Dismissal::Cut));
            }
            let seconds = self.node.connection_config.load().logout_timeout.as_secs();
            self.connection.request_logout(now, u16::try_from(seconds).unwrap_or(u16::MAX));
        }
        Ok(())
    }

    fn poll_bound(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Poll::Ready(bound) = self.commands.poll_bound(cx) else { return false };
        let outcome = match bound {
            Ok(tsih) => {
                self.orders.set_logged_in();
                self.span.in_scope(|| tracing::info!(tsih, "session began"));
                BindOutcome::Bound { tsih }
            }
            Err(refusal) => self.refuse(refusal, now),
        };
        self.connection.bound(now, outcome);
        true
    }

    fn refuse(&mut self, refusal: Refusal, now: Instant) -> BindOutcome {
        self.refused = true;
        self.node.metrics.login_failed(refusal.label());
        if let Some(held_back) = self.node.complaints.admit(now) {
            self.span.in_scope(|| tracing::warn!(reason = refusal.label(), held_back, "login refused"));
        }
        let (class, detail) = refusal.status();
        BindOutcome::Refused { class, detail }
    }

    fn poll_clock(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        let stall = self.wire.stall_deadline(self.limits.write_stall);
        let timeout = self.connection.next_timeout();
        let deadline = [timeout, stall, self.paused_until].into_iter().flatten().min();
        if self.clock.poll(cx, now, deadline).is_pending() {
            return Ok(false);
        }
        let now = Instant::now();
        if stall.is_some_and(|stall| stall <= now) {
            return Err(End::Stalled);
        }
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
        }
        if timeout.is_some_and(|timeout| timeout <= now) {
            self.connection.handle_timeout(now);
        }
        Ok(true)
    }

    fn read(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        if self.held_up.is_some() || self.paused_until.is_some() || !self.connection.wants_input() {
            return Ok(false);
        }
        match self.gathered.verdict() {
            Verdict::Read => {}
            Verdict::Wait => {
                self.paused_until = Some(now + PAUSE);
                return Ok(true);
            }
            Verdict::Close => return Err(End::Hoarding),
        }
        if !self.unheard {
            match self.wire.poll_read(cx) {
                Poll::Ready(Ok(0)) => return Err(End::PeerClosed),
                Poll::Ready(Ok(_)) if self.commands.session().is_none() && self.wire.holds_tls() => {
                    return Err(End::TlsClient);
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(End::Socket(error)),
                Poll::Pending => {
                    self.wire.rest();
                    return Ok(false);
                }
            }
        }
        self.connection.receive(now, &mut self.wire.input);
        self.unheard = !self.connection.wants_input();
        while let Some(reason) = self.connection.take_rejected() {
            report::rejected(&self.node.metrics, reason);
        }
        Ok(true)
    }

    /// Does what the connection asks for; gives the reason when it asks to be closed.
    fn act(&mut self, cx: &mut Context<'_>, more: &mut bool) -> Option<CloseReason> {
        loop {
            let event = match self.held_up.take() {
                Some((id, command)) => Event::Execute(id, command),
                None => self.connection.poll_event()?,
            };
            match event {
                Event::Execute(id, command) => {
                    self.held_up = self.commands.start(cx, id, command, &mut self.connection);
                    if self.held_up.is_some() {
                        return None;
                    }
                }
                Event::Manage(id, function) => self.commands.manage(cx, id, function, &mut self.connection),
                Event::Bind(request) => {
                    self.span.record("initiator", &*request.initiator_name);
                    if let Some(target) = &request.target_name {
                        self.span.record("target", &**target);
                    }
                    let (node, orders) = (Arc::clone(&self.node), Arc::clone(&self.orders));
                    self.commands.bind(BoundSession::begin(node, request, orders));
                }
                Event::Close(reason) => return Some(reason),
            }
            *more = true;
        }
    }
}
