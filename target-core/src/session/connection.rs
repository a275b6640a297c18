//! One connection: the value that a driver feeds and asks.

pub use super::asynchronous::Ending;
pub use super::config::ConnectionConfig;

use super::event::{BindOutcome, CloseReason, Event, SessionRequest, TaskId};
use super::full_feature::{FullFeature, Received};
use super::link::Link;
use super::login_phase::LoginPhase;
use crate::login::LoginFailure;
use crate::login::catalog::Catalog;
use crate::login::parameters::Parameters;
use crate::pdu::error::{PduError, RejectReason};
use crate::pdu::fields::BHS_LEN;
use crate::pdu::frame::{Frame, FrameDecoder, FrameError};
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

/// A connection of an initiator to this target.
///
/// The driver gives it what it receives ([`receive`](Self::receive)) and the time ([`handle_timeout`](Self::handle_timeout) when
/// [`next_timeout`](Self::next_timeout) has come), acts on its [events](Self::poll_event), and writes out what is in
/// [`transmit`](Self::transmit). All work is done within these calls.
pub struct Connection {
    config: Arc<ConnectionConfig>,
    catalog: Arc<dyn Catalog>,
    decoder: FrameDecoder,
    link: Link,
    phase: Phase,
    /// Bytes that the last [`receive`](Self::receive) left.
    left: usize,
}

enum Phase {
    Login(Box<LoginPhase>),
    FullFeature(Box<FullFeature>),
}

impl Connection {
    /// A connection on which nothing has been said.
    pub fn new(config: Arc<ConnectionConfig>, catalog: Arc<dyn Catalog>, now: Instant) -> Self {
        let login = LoginPhase::new(&config, Arc::clone(&catalog), now);
        Self {
            decoder: FrameDecoder::new(Parameters::default().target_max_recv_data_segment_length),
            link: Link::default(),
            phase: Phase::Login(Box::new(login)),
            left: 0,
            config,
            catalog,
        }
    }

    /// Takes whole PDUs off the front of `input` as long as it [wants](Self::wants_input) any; the rest stays there for the next time,
    /// when more has come at its end or there is room again for answers. After the end of the connection it is all thrown away.
    pub fn receive(&mut self, now: Instant, input: &mut BytesMut) {
        let came = input.len().saturating_sub(self.left);
        if came > 0
            && let Phase::FullFeature(phase) = &mut self.phase
        {
            phase.heard(now, came);
        }
        // A few bytes can ask for many: so it is looked at for each PDU whether there is room for its answer.
        while self.wants_input() {
            match self.decoder.decode(input) {
                Ok(None) => break,
                Ok(Some(frame)) => self.receive_frame(now, frame),
                Err(error) => self.receive_bad_frame(now, error),
            }
        }
        if self.link.is_closing() {
            input.clear();
        }
        self.left = input.len();
    }

    fn receive_frame(&mut self, now: Instant, frame: Frame) {
        let header = frame.bhs;
        match (InitiatorPdu::parse(frame), &mut self.phase) {
            (Ok(pdu), Phase::Login(login)) => login.receive(&mut self.link, pdu),
            (Ok(pdu), Phase::FullFeature(phase)) => {
                phase.receive(&mut self.link, now, Received { header, pdu });
            }
            (Err(_), Phase::Login(login)) => login.receive_bad(&mut self.link),
            (Err(PduError { reason, bhs }), Phase::FullFeature(phase)) => {
                phase.receive_bad(&mut self.link, now, reason, &bhs);
            }
        }
    }

    fn receive_bad_frame(&mut self, now: Instant, error: FrameError) {
        match (error, &mut self.phase) {
            // RFC 7143 §7.7: at ErrorRecoveryLevel 0 the connection is lost.
            (FrameError::HeaderDigest, _) => self.link.close(CloseReason::HeaderDigestError),
            (_, Phase::Login(login)) => login.receive_bad(&mut self.link),
            (FrameError::DataDigest { bhs }, Phase::FullFeature(phase)) => {
                phase.receive_damaged(&mut self.link, now, &bhs, headless(&bhs));
            }
            (FrameError::DataSegmentTooLong { bhs, .. }, Phase::FullFeature(phase)) => {
                phase.receive_bad(&mut self.link, now, RejectReason::ProtocolError, &bhs);
                self.link.close(CloseReason::ProtocolError);
            }
        }
    }

    /// Whether more is to be received now. When it is not, what is in [`transmit`](Self::transmit) has to be written first.
    pub fn wants_input(&self) -> bool {
        !self.link.is_closing() && self.link.transmit.len() < TRANSMIT_HIGH_WATER
    }

    /// Bytes of data that are held for requests which are not complete, or have to wait for others: what the initiator makes us keep
    /// before there is anything to do.
    pub fn gathered(&self) -> usize {
        match &self.phase {
            Phase::Login(_) => 0,
            Phase::FullFeature(phase) => phase.gathered(),
        }
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
        // The last Login Response has gone without digests; all that comes after it has them (RFC 7143 §13.1).
        let parameters = &session.parameters;
        self.link.header_digest = parameters.header_digest;
        self.link.data_digest = parameters.data_digest;
        self.decoder.set_digests(parameters.header_digest, parameters.data_digest);
        self.decoder.set_max_data_segment_length(parameters.target_max_recv_data_segment_length);
        let (config, catalog) = (Arc::clone(&self.config), Arc::clone(&self.catalog));
        self.phase = Phase::FullFeature(Box::new(FullFeature::new(config, catalog, session, cmd_sn, now)));
    }

    /// Answers [`Event::Execute`]. A task that is over already, by task management or logout, is passed over.
    pub fn complete(&mut self, _now: Instant, id: TaskId, outcome: Outcome) {
        if let Some((phase, link)) = self.full_feature() {
            phase.complete(link, id, outcome);
            phase.conclude_logout(link);
        }
    }

    /// Answers [`Event::Manage`]. Every command that the function aborted counts as ended from then on.
    pub fn managed(&mut self, _now: Instant, id: TaskId, outcome: TaskManagementOutcome) {
        if let Some((phase, link)) = self.full_feature() {
            phase.managed(link, id, outcome);
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

    /// Tells the initiator that we end the connection, or the session, and ends. One that is not logged in ends without a word.
    pub fn drop_out(&mut self, ending: Ending) {
        if let Some((phase, link)) = self.full_feature() {
            phase.announce_end(link, ending);
        }
        self.link.close(CloseReason::Driver);
    }

    /// What is to be sent.
    pub fn transmit(&mut self) -> &mut TransmitQueue {
        &mut self.link.transmit
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, unless this changes before.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.link.is_closing() {
            return None;
        }
        match &self.phase {
            Phase::Login(login) => login.next_timeout(),
            Phase::FullFeature(phase) => phase.next_timeout(),
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

    /// Asks the initiator to log out within `seconds`; after that the connection ends. One that is not logged in ends at once.
    pub fn request_logout(&mut self, now: Instant, seconds: u16) {
        match self.full_feature() {
            Some((phase, link)) => phase.request_logout(link, now, seconds),
            None => self.link.close(CloseReason::Driver),
        }
    }

    /// The session, with its TSIH and what is negotiated; none before it is bound.
    pub fn session(&self) -> Option<&SessionRequest> {
        match &self.phase {
            Phase::Login(_) => None,
            Phase::FullFeature(phase) => Some(&phase.session),
        }
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

    /// Whether [`Event::Close`] has been given or is among the events to come.
    pub fn is_closing(&self) -> bool {
        self.link.is_closing()
    }

    fn full_feature(&mut self) -> Option<(&mut FullFeature, &mut Link)> {
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
