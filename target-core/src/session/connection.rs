//! A connection and the others of its session: the value that a driver feeds and asks.

pub use super::asynchronous::Ending;
pub use super::config::ConnectionConfig;
pub use super::solicitation::Ask;

use super::event::{BindOutcome, CloseReason, Event, Leg, SessionRequest, TaskId};
use super::full_feature::{FullFeature, Received};
use super::link::{Line, Link};
use super::login_phase::LoginPhase;
use crate::login::LoginFailure;
use crate::login::catalog::Catalog;
use crate::login::parameters::Parameters;
use crate::lun::throttle::Throttling;
use crate::pdu::error::{PduError, RejectReason};
use crate::pdu::fields::BHS_LEN;
use crate::pdu::frame::{Frame, FrameError};
use crate::pdu::initiator::InitiatorPdu;
use crate::pdu::transmit::TransmitQueue;
use crate::scsi::command::{Outcome, TaskManagementOutcome};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Sense;
use bytes::{Bytes, BytesMut};
use std::sync::Arc;
use std::time::Instant;

/// Bytes that wait to be sent, beyond which no more is to be received: whoever does not read answers gets no more of them.
const TRANSMIT_HIGH_WATER: usize = 4 << 20;

/// A connection of an initiator to this target, and once it is logged in those that [join](Self::join) it in its session.
///
/// The driver gives it what it receives ([`receive`](Self::receive)) and the time ([`handle_timeout`](Self::handle_timeout) when
/// [`next_timeout`](Self::next_timeout) has come), acts on its [events](Self::poll_event), and writes out what is in
/// [`transmit`](Self::transmit). All work is done within these calls.
pub struct Connection {
    config: Arc<ConnectionConfig>,
    catalog: Arc<dyn Catalog>,
    link: Link,
    phase: Phase,
    /// R2Ts are for the driver to allow.
    pub(super) is_rationed: bool,
}

enum Phase {
    Login(Box<LoginPhase>),
    FullFeature(Box<FullFeature>),
}

impl Connection {
    /// A connection on which nothing has been said.
    pub fn new(config: Arc<ConnectionConfig>, catalog: Arc<dyn Catalog>, now: Instant) -> Self {
        let login = LoginPhase::new(&config, Arc::clone(&catalog), now);
        let phase = Phase::Login(Box::new(login));
        Self { link: Link::default(), phase, config, catalog, is_rationed: false }
    }

    /// Takes whole PDUs off the front of `input` as long as the connection [wants](Self::wants_input) any; the rest stays there for the
    /// next time, when more has come at its end or there is room again for answers. After the end of the connection it is all thrown
    /// away.
    pub fn receive(&mut self, leg: Leg, now: Instant, input: &mut BytesMut) {
        let came = input.len().saturating_sub(self.link.line(leg).map_or(0, |line| line.left));
        if came > 0
            && let Phase::FullFeature(phase) = &mut self.phase
        {
            phase.heard(leg, now);
        }
        // A few bytes can ask for many: so it is looked at for each PDU whether there is room for its answer.
        while self.wants_input(leg) {
            let Some(line) = self.link.line_mut(leg) else { break };
            let before = input.len();
            let decoded = line.decoder.decode(input);
            line.retention.passed(before - input.len());
            match decoded {
                Ok(None) => break,
                Ok(Some(frame)) => self.receive_frame(leg, now, frame),
                Err(error) => self.receive_bad_frame(leg, now, error),
            }
        }
        if self.is_closing(leg) {
            input.clear();
        }
        if let Some(line) = self.link.line_mut(leg) {
            line.left = input.len();
        }
    }

    fn receive_frame(&mut self, leg: Leg, now: Instant, frame: Frame) {
        let header = frame.bhs;
        self.link.turn_to(leg);
        match (InitiatorPdu::parse(frame), &mut self.phase) {
            (Ok(pdu), Phase::Login(login)) => login.receive(&mut self.link, pdu),
            (Ok(pdu), Phase::FullFeature(phase)) => {
                phase.receive(&mut self.link, now, Received { leg, header, pdu });
            }
            (Err(_), Phase::Login(login)) => login.receive_bad(&mut self.link),
            (Err(PduError { reason, bhs }), Phase::FullFeature(phase)) => {
                phase.receive_bad(&mut self.link, now, reason, &bhs);
            }
        }
    }

    fn receive_bad_frame(&mut self, leg: Leg, now: Instant, error: FrameError) {
        self.link.turn_to(leg);
        match (error, &mut self.phase) {
            // RFC 7143 §7.7: at ErrorRecoveryLevel 0 the connection is lost.
            (FrameError::HeaderDigest, _) => self.link.close(CloseReason::HeaderDigestError),
            (_, Phase::Login(login)) => login.receive_bad(&mut self.link),
            (FrameError::DataDigest { bhs }, Phase::FullFeature(phase)) => {
                phase.receive_damaged(&mut self.link, now, &bhs, headless(&bhs));
            }
            (FrameError::DataSegmentTooLong { bhs, .. }, Phase::FullFeature(phase)) => {
                phase.receive_bad(&mut self.link, now, RejectReason::ProtocolError, &bhs);
                self.link.turn_to(leg).close(CloseReason::ProtocolError);
            }
        }
    }

    /// A receive buffer of so many bytes was given up for another, though not all of it has been [received](Self::receive): parts of it
    /// may be held, and keep the rest alive.
    pub fn gave_up(&mut self, leg: Leg, bytes: usize) {
        if let Some(line) = self.link.line_mut(leg) {
            line.retention.passed(bytes);
        }
    }

    /// Whether more is to be received now. When it is not, what is in [`transmit`](Self::transmit) has to be written first.
    pub fn wants_input(&self, leg: Leg) -> bool {
        self.link
            .line(leg)
            .is_some_and(|line| !line.is_closing() && line.transmit.len() < TRANSMIT_HIGH_WATER)
    }

    /// Bytes of memory that are held for data of requests which are not complete, or have to wait for others: what the initiator makes us keep
    /// before there is anything to do.
    pub fn gathered(&self) -> usize {
        self.established().map_or(0, FullFeature::gathered)
    }

    /// Whether commands wait for the limits of their unit.
    pub fn is_throttled(&self) -> bool {
        self.established().is_some_and(|phase| phase.throttled.due().is_some())
    }

    /// The next thing to act on.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.link.events.pop_front()
    }

    /// Answers [`Event::Bind`].
    pub fn bound(&mut self, now: Instant, outcome: BindOutcome) {
        let Phase::Login(login) = &mut self.phase else { return };
        if self.link.is_closing() {
            return;
        }
        let Some((session, cmd_sn)) = login.bound(&mut self.link, outcome) else { return };
        if let Some(line) = self.link.line_mut(Leg::FIRST) {
            line.set_parameters(&session.parameters);
        }
        let (config, catalog) = (Arc::clone(&self.config), Arc::clone(&self.catalog));
        let mut phase = FullFeature::new(config, catalog, session, cmd_sn, now);
        phase.asking.when_told = self.is_rationed;
        self.phase = Phase::FullFeature(Box::new(phase));
    }

    /// The limits of the target's units, which commands of the session keep from now on.
    pub fn set_throttling(&mut self, throttling: Arc<Throttling>) {
        if let Phase::FullFeature(phase) = &mut self.phase {
            phase.throttled.set(throttling);
        }
    }

    /// Answers the [`Event::Bind`] of another connection, which asks to be added to this session, by taking it in. None: it did not ask for
    /// that, or does no longer.
    pub fn join(&mut self, now: Instant, newcomer: Self) -> Option<Leg> {
        let Phase::FullFeature(phase) = &mut self.phase else { return None };
        let Phase::Login(mut login) = newcomer.phase else { return None };
        let mut link = newcomer.link;
        if link.is_closing() {
            return None;
        }
        let joined =
            login.joins(&mut link, &mut phase.window, phase.session.tsih, phase.members.is_empty())?;
        let mut line = link.into_line()?;
        line.set_parameters(&joined.parameters);
        let leg = self.link.add(line);
        phase.take_in(leg, joined, Arc::clone(&self.catalog), now);
        Some(leg)
    }

    /// A connection of the session has gone, while others go on or another is to take its place: at ErrorRecoveryLevel 0 its tasks end
    /// with it. Gives what it had to say still.
    pub fn part(&mut self, leg: Leg, now: Instant) -> Option<TransmitQueue> {
        let queue = self.link.remove(leg)?;
        if let Phase::FullFeature(phase) = &mut self.phase {
            phase.let_go(&mut self.link, now, leg);
        }
        Some(queue)
    }

    /// Whether a connection that has gone left commands which the driver has not ended yet.
    pub fn has_orphans(&self) -> bool {
        self.established().is_some_and(FullFeature::has_orphans)
    }

    /// Whether the session comes to its end and takes no connection in any more.
    pub fn is_ending(&self) -> bool {
        let is_over = self.established().is_some_and(|phase| phase.is_ending || phase.is_asked_to_end);
        is_over || self.link.is_closing()
    }

    /// The connection that the initiator knows by this CID.
    pub fn leg_of(&self, cid: u16) -> Option<Leg> {
        self.established()?.leg_of(cid)
    }

    /// Answers [`Event::Execute`]. A task that is over already, by task management or logout, is passed over.
    pub fn complete(&mut self, _now: Instant, id: TaskId, outcome: Outcome) {
        if let Some((phase, link)) = self.full_feature() {
            phase.complete(link, id, outcome);
            phase.conclude_logout(link);
        }
    }

    /// Answers [`Event::Manage`]. Every command that the function aborted counts as ended from then on.
    pub fn managed(&mut self, now: Instant, id: TaskId, outcome: TaskManagementOutcome) {
        if let Some((phase, link)) = self.full_feature() {
            phase.managed(link, now, id, outcome);
            phase.conclude_logout(link);
        }
    }

    /// Ends commands that have not been run, as `outcome` says: those in the task set of a logical unit that `concerns` names, whose data
    /// is on its way or whose [`Event::Execute`] has not been taken. Another nexus has aborted them. Tells how many they were.
    pub fn abort_held(
        &mut self,
        concerns: impl Fn(LunAddress) -> bool,
        outcome: impl Fn() -> Outcome,
    ) -> usize {
        let Some((phase, link)) = self.full_feature() else { return 0 };
        let aborted = phase.abort_held(link, concerns, outcome);
        phase.conclude_logout(link);
        aborted
    }

    /// Reports a condition of a logical unit by an Asynchronous Message; the unit attention that tells the same stays pending.
    pub fn report_event(&mut self, lun: LunAddress, sense: &Sense) {
        if let Some((phase, link)) = self.full_feature() {
            phase.report_event(link, lun, sense);
        }
    }

    /// Tells the initiator that we end its connections, or the session as a whole, and ends. One that is not logged in ends without a word.
    pub fn drop_out(&mut self, ending: Ending) {
        if let Some((phase, link)) = self.full_feature() {
            phase.announce_end_everywhere(link, ending);
        }
        self.link.close_all(CloseReason::Driver);
    }

    /// Tells the initiator that we end one of its connections, on that one, and ends it.
    pub fn drop_leg(&mut self, leg: Leg) {
        self.link.turn_to(leg);
        if let Some((phase, link)) = self.full_feature() {
            phase.announce_end(link, Ending::Connection);
        }
        self.link.close(CloseReason::Driver);
    }

    /// Tells on another connection of the session, if there is one, that this one is to [part](Self::part) from it.
    pub fn announce_loss(&mut self, leg: Leg) {
        if let Some((phase, link)) = self.full_feature() {
            phase.announce_loss(link, leg);
        }
    }

    /// What is to be sent; none when the connection has gone.
    pub fn transmit(&mut self, leg: Leg) -> Option<&mut TransmitQueue> {
        self.link.line_mut(leg).map(|line| &mut line.transmit)
    }

    /// Bytes that are to be sent on all connections.
    pub fn queued(&self) -> usize {
        self.link.queued()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, unless this changes before.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.link.is_closing() {
            return None;
        }
        match &self.phase {
            Phase::Login(login) => login.next_timeout(),
            Phase::FullFeature(phase) => phase.next_timeout(&self.link),
        }
    }

    /// Does what is due by now.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.link.is_closing() {
            return;
        }
        match &mut self.phase {
            Phase::Login(login) => login.handle_timeout(&mut self.link, now),
            Phase::FullFeature(phase) => phase.handle_timeout(&mut self.link, now),
        }
    }

    /// Nothing was read for a while, so that silence is not the initiator's.
    pub fn excuse(&mut self, now: Instant) {
        if let Phase::FullFeature(phase) = &mut self.phase {
            phase.excuse(now);
        }
    }

    /// Asks the initiator to log out within `seconds`; after that the connection ends. One that is not logged in ends at once.
    pub fn request_logout(&mut self, leg: Leg, now: Instant, seconds: u16) {
        self.link.turn_to(leg);
        match self.full_feature() {
            Some((phase, link)) => phase.request_logout(link, now, seconds),
            None => self.link.close(CloseReason::Driver),
        }
    }

    /// Asks the initiator to log out of the session, on each of its connections, within `seconds`; after that they end. One that is not
    /// logged in ends at once.
    pub fn request_end(&mut self, now: Instant, seconds: u16) {
        match self.full_feature() {
            Some((phase, link)) => phase.request_end(link, now, seconds),
            None => self.link.close_all(CloseReason::Driver),
        }
    }

    /// This MaxRecvDataSegmentLength is to be declared on a connection: asks the initiator to begin a negotiation within `seconds`, whose
    /// silence has no consequence.
    pub fn request_negotiation(&mut self, leg: Leg, max_recv_data_segment_length: u32, seconds: u16) {
        self.link.turn_to(leg);
        if let Some((phase, link)) = self.full_feature() {
            phase.request_negotiation(link, max_recv_data_segment_length, seconds);
        }
    }

    /// The session, with its TSIH and what is negotiated; none before it is bound.
    pub fn session(&self) -> Option<&SessionRequest> {
        self.established().map(|phase| &phase.session)
    }

    /// What holds for one connection of the session; what it has renegotiated since its login included.
    pub fn parameters(&self, leg: Leg) -> Option<&Parameters> {
        self.established()?.member(leg).map(|member| &member.parameters)
    }

    /// Why the login failed, if it did.
    pub fn login_failure(&self) -> Option<LoginFailure> {
        match &self.phase {
            Phase::Login(login) => login.failure(),
            Phase::FullFeature(_) => None,
        }
    }

    /// The name that the initiator has given, true or not; for logs.
    pub fn initiator_name(&self) -> Option<&Arc<str>> {
        match &self.phase {
            Phase::Login(login) => login.initiator_name(),
            Phase::FullFeature(phase) => Some(&phase.session.initiator_name),
        }
    }

    /// The reason code of a PDU that was rejected since this was asked last, one at a time; for metrics.
    pub fn take_rejected(&mut self) -> Option<u8> {
        self.link.rejected.pop()
    }

    /// Whether [`Event::Close`] has been given for the connection or is among the events to come, or the connection has gone.
    pub fn is_closing(&self, leg: Leg) -> bool {
        self.link.line(leg).is_none_or(Line::is_closing)
    }

    /// The session once it is logged in, closing or not.
    pub(super) fn established(&self) -> Option<&FullFeature> {
        match &self.phase {
            Phase::Login(_) => None,
            Phase::FullFeature(phase) => Some(phase),
        }
    }

    pub(super) fn full_feature(&mut self) -> Option<(&mut FullFeature, &mut Link)> {
        match &mut self.phase {
            Phase::FullFeature(phase) if !self.link.is_closing() => Some((phase, &mut self.link)),
            _ => None,
        }
    }
}

/// What a header alone tells, of a PDU whose data is lost.
fn headless(bhs: &[u8; BHS_LEN]) -> Option<InitiatorPdu> {
    InitiatorPdu::parse(Frame { bhs: *bhs, ahs: Bytes::new(), data: Bytes::new() }).ok()
}
