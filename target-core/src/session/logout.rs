//! Logout, asked for by the initiator or by us (RFC 7143 §11.14, §11.15).

use super::asynchronous::Ending;
use super::event::{CloseReason, Leg};
use super::full_feature::{FullFeature, Place};
use super::link::Link;
use super::tasks::{Stage, Task};
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

/// Logouts that wait, beyond which more are refused.
const MOST_WAITING: usize = 32;

/// A logout that waits for commands to end.
#[derive(Debug)]
pub(super) struct Leaving {
    tag: u32,
    whom: Whom,
    /// Where the answer goes: a connection may be logged out on another one, and be gone before the answer is due.
    answer_on: Leg,
    /// What the answer is when all has ended.
    response: u8,
    until: Option<Instant>,
}

/// Whose commands a logout waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Session,
    Connection(Leg),
    /// Connections that have gone: one of a CID that is not there may have been among them.
    Gone,
}

impl FullFeature {
    /// Whether the initiator has logged the connection out.
    pub(super) fn is_leaving(&self, leg: Leg) -> bool {
        let leaves = |leaving: &Leaving| leaving.whom == Whom::Connection(leg);
        self.is_ending || self.member(leg).is_none() || self.leaving.iter().any(leaves)
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
        if self.tasks.by_tag(tag).is_some() || self.leaving.iter().any(|leaving| leaving.tag == tag) {
            return self.refuse(link, header, RejectReason::TaskInProgress.code(), place);
        }
        if self.leaving.len() >= MOST_WAITING {
            return self.refuse(link, header, RejectReason::ImmediateCommandReject.code(), place);
        }
        self.conclude(place);
        let (whom, response) = match request.reason {
            CLOSE_SESSION => (Whom::Session, CLOSED),
            CLOSE_CONNECTION | REMOVE_FOR_RECOVERY => match self.leg_of(request.cid) {
                None => (Whom::Gone, CID_NOT_FOUND),
                Some(_) if request.reason == REMOVE_FOR_RECOVERY => {
                    return self.send_logout_response(link, tag, RECOVERY_NOT_SUPPORTED);
                }
                Some(leg) => (Whom::Connection(leg), CLOSED),
            },
            _ => return link.reject(&self.window, RejectReason::InvalidPduField.code(), header),
        };
        match whom {
            Whom::Session => self.is_ending = true,
            Whom::Connection(leg) => self.discard_early(leg),
            Whom::Gone => {}
        }
        let ends = |task: &Task| match whom {
            Whom::Session => true,
            Whom::Connection(leg) => task.leg == leg,
            Whom::Gone => false,
        };
        let not_running: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, task, command)| command.stage != Stage::Running && ends(task))
            .map(|(id, ..)| id)
            .collect();
        not_running.into_iter().for_each(|id| self.drop_command(id));
        let until = now.checked_add(self.config.logout_timeout);
        self.leaving.push(Leaving { tag, whom, answer_on: link.leg(), response, until });
        self.run_unblocked(link);
        self.solicit(link);
        self.conclude_logout(link);
    }

    /// Answers logouts that have nothing left to wait for.
    pub(super) fn conclude_logout(&mut self, link: &mut Link) {
        let mut at = 0;
        while let Some(leaving) = self.leaving.get(at) {
            let waits = match leaving.whom {
                Whom::Session => self.tasks.is_any_running(),
                Whom::Connection(leg) => self.tasks.is_running(leg),
                Whom::Gone => self.has_orphans(),
            };
            if waits {
                at += 1;
            } else {
                let leaving = self.leaving.remove(at);
                let response = leaving.response;
                self.end_logout(link, &leaving, response);
            }
        }
    }

    fn end_logout(&self, link: &mut Link, leaving: &Leaving, response: u8) {
        // Answered where the request came, if that is there still.
        self.send_logout_response(link.turn_to(leaving.answer_on), leaving.tag, response);
        match leaving.whom {
            Whom::Session => link.close_all(CloseReason::LogoutRequested),
            Whom::Connection(leg) => link.turn_to(leg).close(CloseReason::LogoutRequested),
            Whom::Gone => {}
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
        if member.logout_due.is_some() {
            return;
        }
        member.logout_due = now.checked_add(Duration::from_secs(seconds.into()));
        self.ask_for_logout(link, seconds);
    }

    /// Asks the initiator to log all connections out: the session is to end, and takes no other in.
    pub(super) fn request_end(&mut self, link: &mut Link, now: Instant, seconds: u16) {
        self.is_asked_to_end = true;
        for leg in self.legs() {
            self.request_logout(link.turn_to(leg), now, seconds);
        }
    }

    /// When a logout has taken too long, or was asked for in vain.
    pub(super) fn next_logout_timeout(&self, link: &Link) -> Option<Instant> {
        let is_open = |leg: Leg| link.line(leg).is_some_and(|line| !line.is_closing());
        let asked = self.members.iter().filter(|member| is_open(member.leg) && !self.is_leaving(member.leg));
        let due = asked.filter_map(|member| member.logout_due);
        self.leaving.iter().filter_map(|leaving| leaving.until).chain(due).min()
    }

    /// What logouts that do not come to their end lead to.
    pub(super) fn logout_timeouts(&mut self, link: &mut Link, now: Instant) {
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let over: Vec<_> = self.leaving.extract_if(.., |leaving| is_over(leaving.until)).collect();
        over.iter().for_each(|leaving| self.end_logout(link, leaving, CLEANUP_FAILED));
        for leg in self.legs() {
            let is_due = self.member(leg).is_some_and(|member| is_over(member.logout_due));
            if is_due && !self.is_leaving(leg) && link.line(leg).is_some_and(|line| !line.is_closing()) {
                self.announce_end(link.turn_to(leg), Ending::Session);
                link.close(CloseReason::LogoutTimeout);
            }
        }
    }
}
