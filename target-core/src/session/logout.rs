//! Logout, asked for by the initiator or by us (RFC 7143 §11.14, §11.15).

use super::asynchronous::Ending;
use super::event::CloseReason;
use super::full_feature::{FullFeature, Place};
use super::link::Link;
use super::tasks::Stage;
use crate::pdu::error::RejectReason;
use crate::pdu::fields::BHS_LEN;
use crate::pdu::initiator::LogoutRequest;
use crate::pdu::target::{LogoutResponse, TargetPdu};
use std::time::{Duration, Instant};

/// Logout reasons (RFC 7143 §11.14.1).
const CLOSE_SESSION: u8 = 0;
const CLOSE_CONNECTION: u8 = 1;
const REMOVE_FOR_RECOVERY: u8 = 2;

/// Logout responses (RFC 7143 §11.15.1).
const CLOSED: u8 = 0;
const CID_NOT_FOUND: u8 = 1;
const RECOVERY_NOT_SUPPORTED: u8 = 2;
const CLEANUP_FAILED: u8 = 3;

/// The way to the end of a connection.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    /// A logout that waits for running commands: its tag, and until when.
    waiting: Option<(u32, Option<Instant>)>,
    /// Until when the initiator is to log out.
    requested: Option<Instant>,
}

impl Farewell {
    /// Whether the initiator has logged out.
    pub(super) fn is_under_way(&self) -> bool {
        self.waiting.is_some()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self.waiting {
            Some((_, until)) => until,
            None => self.requested,
        }
    }
}

impl FullFeature {
    /// Takes a request. All commands of the connection end with it; those that run are waited for, so that nothing is written after the
    /// response.
    pub(super) fn logout(
        &mut self,
        link: &mut Link,
        now: Instant,
        header: &[u8; BHS_LEN],
        request: &LogoutRequest,
        place: Place,
    ) {
        let tag = request.initiator_task_tag;
        if self.tasks.by_tag(tag).is_some() {
            return self.refuse(link, header, RejectReason::TaskInProgress.code(), place);
        }
        self.conclude(place);
        let known = request.cid == self.session.cid;
        match request.reason {
            CLOSE_SESSION => {}
            CLOSE_CONNECTION if known => {}
            REMOVE_FOR_RECOVERY if known => {
                return self.send_logout_response(link, tag, RECOVERY_NOT_SUPPORTED);
            }
            CLOSE_CONNECTION | REMOVE_FOR_RECOVERY => {
                return self.send_logout_response(link, tag, CID_NOT_FOUND);
            }
            _ => return link.reject(&self.window, RejectReason::InvalidPduField.code(), header),
        }
        let not_running: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, _, command)| command.stage != Stage::Running)
            .map(|(id, ..)| id)
            .collect();
        not_running.into_iter().for_each(|id| self.drop_command(id));
        self.farewell.waiting = Some((tag, now.checked_add(self.config.logout_timeout)));
        self.conclude_logout(link);
    }

    /// Answers a logout that has nothing left to wait for.
    pub(super) fn conclude_logout(&mut self, link: &mut Link) {
        if let Some((tag, _)) = self.farewell.waiting
            && self.tasks.running() == 0
        {
            self.end_logout(link, tag, CLOSED);
        }
    }

    fn end_logout(&mut self, link: &mut Link, tag: u32, response: u8) {
        self.send_logout_response(link, tag, response);
        link.close(CloseReason::LogoutRequested);
    }

    fn send_logout_response(&self, link: &mut Link, initiator_task_tag: u32, response: u8) {
        let parameters = &self.session.parameters;
        let response = LogoutResponse {
            initiator_task_tag,
            response,
            time2wait: parameters.default_time2wait,
            time2retain: parameters.default_time2retain,
        };
        link.send(&self.window, &TargetPdu::Logout(response));
    }

    /// Asks the initiator to log out, unless it is doing so or was asked before.
    pub(super) fn request_logout(&mut self, link: &mut Link, now: Instant, seconds: u16) {
        if self.farewell.is_under_way() || self.farewell.requested.is_some() {
            return;
        }
        self.farewell.requested = now.checked_add(Duration::from_secs(seconds.into()));
        self.ask_for_logout(link, seconds);
    }

    /// What logouts that do not come to their end lead to.
    pub(super) fn logout_timeout(&mut self, link: &mut Link, now: Instant) {
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        match self.farewell.waiting {
            Some((tag, until)) if is_over(until) => self.end_logout(link, tag, CLEANUP_FAILED),
            Some(_) => {}
            None if is_over(self.farewell.requested) => {
                self.announce_end(link, Ending::Session);
                link.close(CloseReason::LogoutTimeout);
            }
            None => {}
        }
    }
}
