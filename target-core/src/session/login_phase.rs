//! The login of a connection: what it has to keep in all its PDUs, its numbers, its time (RFC 7143 §6.3, §11.12).

use super::config::ConnectionConfig;
use super::event::{BindOutcome, CloseReason, Event, Leg, SessionRequest};
use super::link::Link;
use super::window::CommandWindow;
use crate::login::catalog::Catalog;
use crate::login::{Login, LoginFailure, Step};
use crate::pdu::fields::Serial;
use crate::pdu::initiator::{InitiatorPdu, LoginRequest};
use crate::pdu::target::{LoginResponse, TargetPdu};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Instant;

/// Status of a login that breaks the rules: initiator error (RFC 7143 §11.13.5).
const INITIATOR_ERROR: LoginFailure = LoginFailure::Refused(2, 0);

/// A connection that is not logged in yet.
pub(super) struct LoginPhase {
    login: Login,
    /// The first request, without its text.
    first: Option<LoginRequest>,
    window: CommandWindow,
    command_window: u32,
    deadline: Option<Instant>,
    /// What the driver was asked to make known.
    binding: Option<SessionRequest>,
}

impl LoginPhase {
    pub(super) fn new(config: &ConnectionConfig, catalog: Arc<dyn Catalog>, now: Instant) -> Self {
        Self {
            login: Login::new(catalog, config.offer.clone(), config.entropy),
            first: None,
            window: CommandWindow::new(Serial(0), 1),
            command_window: config.command_window,
            deadline: now.checked_add(config.login_timeout),
            binding: None,
        }
    }

    /// Takes a PDU.
    pub(super) fn receive(&mut self, link: &mut Link, pdu: InitiatorPdu) {
        match (pdu, &self.first) {
            (InitiatorPdu::Login(request), _) if self.binding.is_none() => self.login(link, request),
            (_, Some(first)) if self.binding.is_none() => {
                let answer = LoginFailure::InvalidDuringLogin.answer(first);
                self.fail(link, answer);
            }
            // Whoever cannot wait, or does not begin with a login, does not speak this protocol.
            _ => link.close(CloseReason::ProtocolError),
        }
    }

    /// A request that cannot be read.
    pub(super) fn receive_bad(&mut self, link: &mut Link) {
        match &self.first {
            Some(first) if self.binding.is_none() => {
                let answer = INITIATOR_ERROR.answer(first);
                self.fail(link, answer);
            }
            _ => link.close(CloseReason::ProtocolError),
        }
    }

    fn login(&mut self, link: &mut Link, request: LoginRequest) {
        match &self.first {
            None => {
                // The command that follows the login will have the CmdSN of the login, which is immediate (§11.12.8).
                self.window = match request.tsih {
                    0 => CommandWindow::new(request.cmd_sn, self.command_window),
                    _ => CommandWindow::outdated(request.cmd_sn),
                };
                if let Some(line) = link.line_mut(Leg::FIRST) {
                    line.stat_sn = request.exp_stat_sn;
                }
                self.first = Some(LoginRequest { data: Bytes::new(), ..request });
            }
            Some(first) => {
                let constant = (first.initiator_task_tag, first.cmd_sn);
                if (request.initiator_task_tag, request.cmd_sn) != constant {
                    return self.fail(link, INITIATOR_ERROR.answer(&request));
                }
            }
        }
        let step = self.login.handle(request);
        self.take(link, step);
    }

    fn take(&mut self, link: &mut Link, step: Step) {
        match step {
            Step::Reply(response) => link.send(&self.window, &TargetPdu::Login(response)),
            Step::Fail(response) => self.fail(link, response),
            Step::Bind(session) => {
                self.binding = Some(session.clone());
                link.events.push_back(Event::Bind(session));
            }
        }
    }

    fn fail(&self, link: &mut Link, response: LoginResponse) {
        link.send(&self.window, &TargetPdu::Login(response));
        link.close(CloseReason::LoginFailed);
    }

    /// Takes the driver's answer; gives the session and the CmdSN with which it begins when login has come to a good end.
    pub(super) fn bound(
        &mut self,
        link: &mut Link,
        outcome: BindOutcome,
    ) -> Option<(SessionRequest, Serial)> {
        let cmd_sn = self.first.as_ref()?.cmd_sn;
        let tsih = match outcome {
            BindOutcome::Bound { tsih } => Some(tsih),
            BindOutcome::Refused { .. } => None,
        };
        let step = self.login.bound(outcome)?;
        self.take(link, step);
        let session = self.binding.take()?;
        tsih.map(|tsih| (SessionRequest { tsih, ..session }, cmd_sn))
    }

    /// Answers the login with the numbers of the session that it joins, if that is what it waits for. Gives what was agreed. `alone`: the
    /// session has no other connection.
    pub(super) fn joins(
        &mut self,
        link: &mut Link,
        window: &mut CommandWindow,
        tsih: u16,
        alone: bool,
    ) -> Option<SessionRequest> {
        let first = self.first.as_ref()?;
        if self.binding.as_ref()?.tsih != tsih || first.tsih != tsih {
            return None;
        }
        if alone {
            window.skip_to(first.cmd_sn);
        }
        self.window = window.likeness();
        let (session, _) = self.bound(link, BindOutcome::Bound { tsih })?;
        Some(session)
    }

    pub(super) fn failure(&self) -> Option<LoginFailure> {
        self.login.failure()
    }

    pub(super) fn initiator_name(&self) -> Option<&Arc<str>> {
        self.login.initiator_name()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn handle_timeout(&self, link: &mut Link, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            link.close(CloseReason::LoginTimeout);
        }
    }
}
