//! Logout, asked for by the initiator or by us (RFC 7143 §11.14, §11.15).

use super::asynchronous::Ending;
use super::event::{CloseReason, Leg};
use super::full_feature::{FullFeature, Place};
use super::link::{Line, Link};
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
    waiting: Option<Leaving>,
    /// Until when the initiator is to log out.
    requested: Option<Instant>,
}

/// A logout that waits for running commands.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    tag: u32,
    /// Where the answer goes: a connection may be logged out on another one.
    answer_on: Leg,
    until: Option<Instant>,
}

impl Farewell {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self.waiting {
            Some(Leaving { until, .. }) => until,
            None => self.requested,
        }
    }
}

impl FullFeature {
    /// Whether the initiator has logged the connection out.
    pub(super) fn is_leaving(&self, leg: Leg) -> bool {
        self.is_ending || self.member(leg).is_none_or(|member| member.farewell.waiting.is_some())
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
        self.conclude(place);
        let answer_on = link.leg();
        let meant = match request.reason {
            CLOSE_SESSION => Some(answer_on),
            CLOSE_CONNECTION | REMOVE_FOR_RECOVERY => self.leg_of(request.cid),
            _ => return link.reject(&self.window, RejectReason::InvalidPduField.code(), header),
        };
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
        if let Some(member) = self.member_mut(meant) {
            member.farewell.waiting = Some(Leaving { tag, answer_on, until });
        }
        self.run_unblocked(link);
        self.solicit(link);
        self.conclude_logout(link);
    }

    /// Answers logouts that have nothing left to wait for.
    pub(super) fn conclude_logout(&mut self, link: &mut Link) {
        for at in 0..self.members.len() {
            let Some(member) = self.members.get(at) else { return };
            let Some(leaving) = member.farewell.waiting else { continue };
            let leg = member.leg;
            if link.line(leg).is_none_or(Line::is_closing) {
                continue;
            }
            let is_running = match self.is_ending {
                true => self.members.iter().any(|member| self.tasks.is_running(member.leg)),
                false => self.tasks.is_running(leg),
            };
            if !is_running {
                self.end_logout(link, leg, leaving, CLOSED);
            }
        }
    }

    fn end_logout(&mut self, link: &mut Link, leg: Leg, leaving: Leaving, response: u8) {
        // Answered where the request came, if that is there still.
        self.send_logout_response(link.turn_to(leaving.answer_on), leaving.tag, response);
        match self.is_ending {
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

    /// What logouts of the connection at hand that do not come to their end lead to.
    pub(super) fn logout_timeout(&mut self, link: &mut Link, now: Instant) {
        let leg = link.leg();
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let Some(Farewell { waiting, requested }) = self.member(leg).map(|member| &member.farewell) else {
            return;
        };
        match (*waiting, *requested) {
            (Some(leaving), _) if is_over(leaving.until) => {
                self.end_logout(link, leg, leaving, CLEANUP_FAILED);
            }
            (None, requested) if is_over(requested) => {
                self.announce_end(link, Ending::Session);
                link.close(CloseReason::LogoutTimeout);
            }
            _ => {}
        }
    }
}
