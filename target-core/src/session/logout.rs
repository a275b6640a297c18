//! Logout, asked for by the initiator or by us (RFC 7143 §11.14, §11.15).

use super::asynchronous::Ending;
use super::event::{CloseReason, Leg};
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

/// The way of a connection to its end.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    is_leaving: bool,
    /// Until when the initiator is to log out.
    requested: Option<Instant>,
}

/// A logout that waits for running commands: those of a connection, which may be lost meanwhile, or of the session when that ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    leg: Leg,
    tag: u32,
    /// Where the answer goes: a connection may be logged out on another one.
    answer_on: Leg,
    until: Option<Instant>,
}

impl Farewell {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.requested.filter(|_| !self.is_leaving)
    }
}

impl FullFeature {
    /// Whether the initiator has logged the connection out.
    pub(super) fn is_leaving(&self, leg: Leg) -> bool {
        self.is_ending || self.member(leg).is_none_or(|member| member.farewell.is_leaving)
    }

    /// Takes a request. All commands of the connection end with it, or all of the session; those that run are waited for, so that nothing
    /// is written after the response.
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
        let answer_on = link.leg();
        let meant = match request.reason {
            CLOSE_SESSION => Some(answer_on),
            CLOSE_CONNECTION | REMOVE_FOR_RECOVERY => self.leg_of(request.cid),
            _ => return self.refuse(link, header, RejectReason::InvalidPduField.code(), place),
        };
        if self.leaving.iter().any(|it| Some(it.leg) == meant && it.answer_on == answer_on) {
            return self.refuse(link, header, RejectReason::TaskInProgress.code(), place);
        }
        self.conclude(place);
        let Some(meant) = meant else {
            return self.send_logout_response(link, tag, CID_NOT_FOUND);
        };
        if request.reason == REMOVE_FOR_RECOVERY {
            return self.send_logout_response(link, tag, RECOVERY_NOT_SUPPORTED);
        }
        self.is_ending |= request.reason == CLOSE_SESSION;
        let is_ending = self.is_ending;
        if !is_ending {
            self.discard_early(meant);
        }
        let not_running: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, task, command)| command.stage != Stage::Running && (is_ending || task.leg == meant))
            .map(|(id, ..)| id)
            .collect();
        not_running.into_iter().for_each(|id| self.drop_command(id));
        let until = now.checked_add(self.config.logout_timeout);
        for member in self.members.iter_mut().filter(|member| is_ending || member.leg == meant) {
            member.farewell.is_leaving = true;
        }
        self.leaving.push(Leaving { leg: meant, tag, answer_on, until });
        self.run_unblocked(link);
        self.solicit(link);
        self.conclude_logout(link);
    }

    /// Answers logouts that have nothing left to wait for.
    pub(super) fn conclude_logout(&mut self, link: &mut Link) {
        let has_ended = |it: &FullFeature, leg| match it.is_ending {
            true => !it.tasks.is_anything_running(),
            false => !it.tasks.is_running(leg),
        };
        while let Some(Leaving { leg, .. }) = self.leaving.iter().find(|it| has_ended(self, it.leg)) {
            self.end_logout(link, *leg, CLOSED);
        }
    }

    /// Answers all who wait for the end of a connection, or of the session, each where its request came if that is there still; and ends it.
    fn end_logout(&mut self, link: &mut Link, leg: Leg, response: u8) {
        let is_ending = self.is_ending;
        let ended: Vec<_> = self.leaving.extract_if(.., |it| is_ending || it.leg == leg).collect();
        for Leaving { tag, answer_on, .. } in ended {
            if link.line(answer_on).is_some_and(|line| !line.is_closing()) {
                self.send_logout_response(link.turn_to(answer_on), tag, response);
            }
        }
        match is_ending {
            true => link.close_all(CloseReason::LogoutRequested),
            false => link.turn_to(leg).close(CloseReason::LogoutRequested),
        }
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

    /// Asks the initiator to log the connection at hand out, unless it is doing so or was asked before.
    pub(super) fn request_logout(&mut self, link: &mut Link, now: Instant, seconds: u16) {
        let leg = link.leg();
        if self.is_leaving(leg) {
            return;
        }
        let Some(member) = self.member_mut(leg) else { return };
        if member.farewell.requested.is_some() {
            return;
        }
        member.farewell.requested = now.checked_add(Duration::from_secs(seconds.into()));
        self.ask_for_logout(link, seconds);
    }

    /// What logouts that do not come to their end lead to.
    pub(super) fn logout_timeout(&mut self, link: &mut Link, now: Instant) {
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        while let Some(Leaving { leg, .. }) = self.leaving.iter().find(|it| is_over(it.until)) {
            self.end_logout(link, *leg, CLEANUP_FAILED);
        }
    }

    /// Ends the connection at hand if its initiator was asked to log out and does not.
    pub(super) fn requested_logout_timeout(&self, link: &mut Link, now: Instant) {
        let due = self.member(link.leg()).and_then(|member| member.farewell.next_timeout());
        if due.is_some_and(|due| due <= now) {
            self.announce_end(link, Ending::Session);
            link.close(CloseReason::LogoutTimeout);
        }
    }

    pub(super) fn next_logout_timeout(&self) -> Option<Instant> {
        self.leaving.iter().filter_map(|it| it.until).min()
    }
}
