//! The task of a session, which is that of the connection it began with: it alone touches the state of the session and of all its
//! connections, and takes turns at all that can happen to them.

use super::clock::Clock;
use super::commands::Commands;
use super::end::End;
use super::joining::Candidate;
use super::line::Line;
use super::report;
use super::session::BoundSession;
use crate::server::gathering::{PAUSE, Part, Verdict};
use crate::server::invitations::{Guest, RECHECK};
use crate::server::limits::Limits;
use crate::server::node::Node;
use crate::server::orders::Orders;
use crate::server::sessions::Refusal;
use crate::server::turnstile;
use glint_target_core::scsi::command::{Command, DeviceServer, Outcome};
use glint_target_core::session::connection::{Connection, Ending};
use glint_target_core::session::event::{BindOutcome, CloseReason, Event, Leg, TaskId};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A connection takes turns for so long before others of the worker have theirs: by about as much a busy one holds up one that is not.
const SLICE: Duration = Duration::from_micros(100);

/// Data that is moved in one turn; a command more may begin.
const MOST_DATA: usize = 1 << 20;

/// A session with its connections and all that it has. Until it is logged in it is one connection.
pub(super) struct Driver<S: DeviceServer, F> {
    pub(super) node: Arc<Node<S>>,
    pub(super) limits: Arc<Limits>,
    pub(super) orders: Arc<Orders>,
    /// The connections that are open. None only while one is to take the place of the last.
    pub(super) lines: Vec<Line>,
    pub(super) connection: Connection,
    pub(super) commands: Commands<S, F>,
    pub(super) clock: Clock,
    /// A command for whose data there is no room yet. Nothing is read and no event taken while it waits.
    pub(super) held_up: Option<(TaskId, Command)>,
    /// The last turn left some of what the connection asks for to the next, which reads nothing before that is done.
    pub(super) is_behind: bool,
    /// Data of commands that are not complete, but for what R2Ts have asked for.
    pub(super) gathered: Part,
    /// Data that R2Ts have asked for.
    pub(super) guest: Guest,
    /// R2Ts are held back, as others have asked for as much as the node bears; when to look again.
    pub(super) recheck_at: Option<Instant>,
    /// Nothing is read before: others are to complete their commands first.
    pub(super) paused_until: Option<Instant>,
    /// The login was refused from here, and counted.
    pub(super) refused: bool,
    /// Connections that are to be closed while others go on.
    pub(super) parting: Vec<(Leg, CloseReason)>,
    /// Connections that wait to join.
    pub(super) joining: Vec<Candidate>,
    pub(super) span: tracing::Span,
}

impl<S: DeviceServer, F: Future<Output = Outcome> + Send> Driver<S, F> {
    /// Takes turns until nothing is left to do now. Ready when the connection has come to its end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.orders.register(cx.waker());
        let others = self.lines.iter().filter_map(Line::orders);
        others
            .chain(self.joining.iter().map(Candidate::orders))
            .for_each(|orders| orders.register(cx.waker()));
        let mut now = Instant::now();
        let until = now + SLICE;
        while now < until {
            match self.turn(cx, now) {
                Ok(true) => now = Instant::now(),
                Ok(false) => return Poll::Pending,
                Err(end) => return Poll::Ready(end),
            }
        }
        turnstile::queue(cx);
        Poll::Pending
    }

    /// Everything once, in the order in which one thing gives work to the next; tells whether another turn may find more to do.
    fn turn(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        self.obey(now)?;
        let mut more = !self.joining.is_empty() && self.admit(now);
        more |= self.poll_bound(cx, now);
        more |= self.commands.poll_ended(cx, &mut self.connection);
        more |= self.poll_clock(cx, now)?;
        more |= self.read(cx, now)?;
        if let Some(end) = self.act(cx, &mut more) {
            // The last words wait for the end of the session: who reads the answer to a logout may count on it.
            return Err(end);
        }
        more |= self.solicit(cx, now);
        let wrote = self.write(cx, now)?;
        self.commands.ledger.settle(self.connection.queued());
        self.gathered.set(self.connection.gathered().saturating_sub(self.guest.counted()));
        for (leg, reason) in std::mem::take(&mut self.parting) {
            if let Some(at) = self.lines.iter().position(|line| line.leg == leg) {
                self.part(at, &End::Closed(reason), now);
                more = true;
            }
        }
        if self.lines.is_empty() && self.joining.is_empty() {
            return Err(End::Reinstated);
        }
        // Room in the queue lets a command in that was held up, and reading go on.
        Ok(more || wrote)
    }

    /// A connection has come to its end. The session goes on with the others, if there are any.
    pub(super) fn lose(&mut self, at: usize, end: End, now: Instant) -> Result<(), End> {
        if self.lines.len() <= 1 && self.joining.is_empty() {
            return Err(end);
        }
        self.part(at, &end, now);
        Ok(())
    }

    /// Closes one connection of the session.
    pub(super) fn part(&mut self, at: usize, end: &End, now: Instant) {
        if at >= self.lines.len() {
            return;
        }
        let line = self.lines.remove(at);
        self.orders.closed(line.leg);
        // Those that the initiator has ended itself it need not be told of.
        if !matches!(end, End::Closed(CloseReason::LogoutRequested) | End::Reinstated) {
            self.connection.announce_loss(line.leg);
        }
        report::parted(self, &line, end);
        let queue = self.connection.part(line.leg, now);
        let last_words = queue.filter(|_| matches!(end, End::Closed(_)));
        tokio::spawn(line.leave(last_words, self.limits.goodbye));
    }

    /// Asks for data as far as what all have asked for leaves room; tells whether it has to look again at once.
    fn solicit(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Self { connection, guest, .. } = self;
        guest.set(now, connection.solicited(), connection.gathered());
        let mut is_idle = false;
        if connection.is_solicitation_due() {
            connection.solicit(&mut |ask| {
                let is_allowed = match ask.is_idle {
                    false => guest.invite(ask.bytes),
                    true => guest.invite_in_turn(now, ask.bytes),
                };
                is_idle |= ask.is_idle && !is_allowed;
                is_allowed
            });
        }
        if connection.is_solicitation_due() {
            self.recheck_at = Some(now + RECHECK);
            return guest.wait(cx.waker(), is_idle);
        }
        self.recheck_at = None;
        guest.leave();
        false
    }

    fn write(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        let (mut wrote, mut at) = (false, 0);
        while let Some(line) = self.lines.get_mut(at) {
            let Some(queue) = self.connection.transmit(line.leg) else {
                at += 1;
                continue;
            };
            match line.wire.poll_write(cx, now, queue) {
                Ok(progress) => {
                    wrote |= progress;
                    at += 1;
                }
                Err(error) => self.lose(at, End::Socket(error), now)?,
            }
        }
        Ok(wrote)
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
        if let Some(throttling) = self.commands.session().and_then(BoundSession::throttling) {
            self.connection.set_throttling(Arc::clone(throttling));
        }
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
        let patience = self.limits.write_stall;
        let stall = self.lines.iter().filter_map(|line| line.wire.stall_deadline(patience)).min();
        let timeout = self.connection.next_timeout();
        let invited = [self.recheck_at, self.guest.deadline()];
        let deadlines =
            [timeout, stall, self.paused_until, self.joining_deadline()].into_iter().chain(invited);
        if self.clock.poll(cx, now, deadlines.flatten().min()).is_pending() {
            return Ok(false);
        }
        let now = Instant::now();
        let has_stalled = |line: &Line| line.wire.stall_deadline(patience).is_some_and(|stall| stall <= now);
        while let Some(at) = self.lines.iter().position(has_stalled) {
            self.lose(at, End::Stalled, now)?;
        }
        if self.held_up.is_some() || self.paused_until.is_some() {
            self.connection.excuse(now);
            self.guest.excuse(now);
        }
        self.guest.write_off(now);
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
        }
        if timeout.is_some_and(|timeout| timeout <= now) {
            self.connection.handle_timeout(now);
        }
        Ok(true)
    }

    fn read(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        let wants_input = |line: &Line| self.connection.wants_input(line.leg);
        let has_other_work = self.held_up.is_some() || self.is_behind || self.paused_until.is_some();
        if has_other_work || !self.lines.iter().any(wants_input) {
            return Ok(false);
        }
        // Who has the turn is to complete a command, and others wait for that.
        let is_waited_for = self.guest.has_turn(now);
        let cannot_help = self.connection.is_throttled() || self.guest.is_kept_waiting();
        match self.gathered.verdict(cannot_help) {
            _ if is_waited_for => {}
            Verdict::Read => {}
            Verdict::Wait => {
                self.paused_until = Some(now + PAUSE);
                return Ok(true);
            }
            Verdict::Close => {
                self.connection.drop_out(Ending::Connection);
                return Err(End::Hoarding);
            }
        }
        let (mut more, mut at) = (false, 0);
        while at < self.lines.len() {
            match self.read_line(cx, now, at) {
                Ok(heard) => {
                    more |= heard;
                    at += 1;
                }
                Err(end) => {
                    self.lose(at, end, now)?;
                    more = true;
                }
            }
        }
        Ok(more)
    }

    fn read_line(&mut self, cx: &mut Context<'_>, now: Instant, at: usize) -> Result<bool, End> {
        let Some(line) = self.lines.get_mut(at) else { return Ok(false) };
        if !self.connection.wants_input(line.leg) {
            return Ok(false);
        }
        if !line.unheard {
            match line.wire.poll_read(cx) {
                Poll::Ready(Ok(0)) => return Err(End::PeerClosed),
                Poll::Ready(Ok(_)) if self.commands.session().is_none() && line.wire.holds_tls() => {
                    return Err(End::TlsClient);
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(End::Socket(error)),
                Poll::Pending => {
                    line.wire.rest();
                    return Ok(false);
                }
            }
        }
        self.connection.gave_up(line.leg, std::mem::take(&mut line.wire.given_up));
        self.connection.receive(line.leg, now, &mut line.wire.input);
        line.unheard = !self.connection.wants_input(line.leg);
        while let Some(reason) = self.connection.take_rejected() {
            report::rejected(&self.node.metrics, reason);
        }
        Ok(true)
    }

    /// Does what the connection asks for; gives the end when that has come.
    fn act(&mut self, cx: &mut Context<'_>, more: &mut bool) -> Option<End> {
        let mut moved = 0;
        // Nothing was read in this turn: even if nothing was left to do, another has to.
        *more |= std::mem::take(&mut self.is_behind);
        loop {
            if moved >= MOST_DATA {
                self.is_behind = true;
                return None;
            }
            let event = match self.held_up.take() {
                Some((id, command)) => Event::Execute(id, command),
                None => self.connection.poll_event()?,
            };
            match event {
                Event::Execute(id, command) => {
                    moved += command.data_out.len() + command.data_in_room as usize;
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
                    if request.tsih != 0 {
                        match self.node.sessions.find(&request) {
                            Ok(session) => return Some(End::Moves(session, request)),
                            Err(refusal) => {
                                let now = Instant::now();
                                let outcome = self.refuse(refusal, now);
                                self.connection.bound(now, outcome);
                            }
                        }
                    } else {
                        let (node, orders) = (Arc::clone(&self.node), Arc::clone(&self.orders));
                        self.commands.bind(BoundSession::begin(node, request, orders));
                    }
                }
                Event::Close(leg, reason) => {
                    if reason == CloseReason::TargetReset {
                        self.reset_others();
                    }
                    if self.parting.len() + 1 >= self.lines.len() {
                        return Some(End::Closed(reason));
                    }
                    self.parting.push((leg, reason));
                }
            }
            *more = true;
        }
    }

    /// RFC 7143 §11.5.1: a cold reset ends all sessions of the target.
    fn reset_others(&self) {
        if let Some(target) = self.connection.session().and_then(|session| session.target_name.as_ref()) {
            self.node.sessions.reset(target);
        }
    }
}
