//! What each connection of a session has of its own, and what becomes of its tasks when it goes.

use super::config::ConnectionConfig;
use super::event::{Event, Leg, SessionRequest, TaskId};
use super::full_feature::{Early, FullFeature};
use super::keepalive::Keepalive;
use super::link::Link;
use super::solicitation::Solicitation;
use super::task_management::WaitingManagement;
use super::tasks::{CommandTask, Stage, Task};
use crate::login::TextPhase;
use crate::login::catalog::Catalog;
use crate::login::parameters::Parameters;
use crate::pdu::fields::Serial;
use crate::scsi::command::{TaskManagement, TaskTag};
use std::sync::Arc;
use std::time::Instant;

/// A connection in its full feature phase.
pub(super) struct Member {
    pub(super) leg: Leg,
    pub(super) cid: u16,
    /// Those of the session, but for the ones that each connection agrees on.
    pub(super) parameters: Parameters,
    pub(super) solicitation: Solicitation,
    /// Until when the initiator is to log out.
    pub(super) logout_due: Option<Instant>,
    pub(super) text: TextPhase,
    pub(super) keepalive: Keepalive,
    /// ExpStatSN, as last heard; noted only while there are other connections, for [fences](super::fence).
    pub(super) acknowledged: Option<Serial>,
}

impl Member {
    pub(super) fn new(
        leg: Leg,
        config: &ConnectionConfig,
        catalog: Arc<dyn Catalog>,
        request: &SessionRequest,
        now: Instant,
    ) -> Self {
        Self {
            leg,
            cid: request.cid,
            parameters: request.parameters.clone(),
            solicitation: Solicitation::new(config.data_out_budget),
            logout_due: None,
            text: TextPhase::new(catalog, request),
            keepalive: Keepalive::new(config, now),
            acknowledged: None,
        }
    }
}

impl FullFeature {
    pub(super) fn member(&self, leg: Leg) -> Option<&Member> {
        self.members.iter().find(|member| member.leg == leg)
    }

    pub(super) fn member_mut(&mut self, leg: Leg) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.leg == leg)
    }

    pub(super) fn legs(&self) -> Vec<Leg> {
        self.members.iter().map(|member| member.leg).collect()
    }

    pub(super) fn leg_of(&self, cid: u16) -> Option<Leg> {
        self.members.iter().find(|member| member.cid == cid).map(|member| member.leg)
    }

    /// One more connection: what is not its own to agree on is as the session has it (RFC 7143 clause 13, "Use: LO").
    pub(super) fn take_in(
        &mut self,
        leg: Leg,
        joined: SessionRequest,
        catalog: Arc<dyn Catalog>,
        now: Instant,
    ) {
        let own = &joined.parameters;
        let parameters = Parameters {
            header_digest: own.header_digest,
            data_digest: own.data_digest,
            initiator_max_recv_data_segment_length: own.initiator_max_recv_data_segment_length,
            target_max_recv_data_segment_length: own.target_max_recv_data_segment_length,
            ..self.session.parameters.clone()
        };
        let joined = SessionRequest { parameters, ..joined };
        self.members.push(Member::new(leg, &self.config, catalog, &joined, now));
    }

    /// One connection less. Its tasks end without a word (RFC 7143 §6.3.4, §11.14): those that the driver has are aborted and stay known
    /// until it has ended them, so that nothing takes their tags or their place too early. What waited for its turn counts as not received,
    /// for the initiator to send it again elsewhere.
    pub(super) fn let_go(&mut self, link: &mut Link, now: Instant, leg: Leg) {
        self.discard_early(leg);
        let tasks = &self.tasks;
        let is_of_leg = |it: &mut WaitingManagement| tasks.get(it.id).is_some_and(|task| task.leg == leg);
        let waiting = self.waiting_management.extract_if(.., is_of_leg);
        let waiting: Vec<_> = waiting.map(|it| it.id).collect();
        waiting.into_iter().for_each(|id| self.forget_command(id));
        let of_leg = |(id, task, command): (TaskId, &Task, &CommandTask)| {
            (task.leg == leg).then_some((id, command.stage, task.lun, TaskTag(task.tag)))
        };
        let commands: Vec<_> = self.tasks.commands().filter_map(of_leg).collect();
        for (id, stage, lun, tag) in commands {
            match stage {
                Stage::Early | Stage::Collecting | Stage::Blocked => self.drop_command(id),
                Stage::Running => {
                    let abort = TaskManagement::AbortTask { lun, tag };
                    link.events.push_back(Event::Manage(TaskId::default(), abort));
                }
            }
        }
        self.members.retain(|member| member.leg != leg);
        self.gaps.connection_went();
        self.lower_fences_of(link, leg);
        self.run_unblocked(link);
        self.solicit(link);
        self.conclude_logout(link);
        self.watch_gaps(now);
    }

    /// What has come on a connection before its turn counts as not received.
    pub(super) fn discard_early(&mut self, leg: Leg) {
        let Self { early, early_data, tasks, window, .. } = self;
        early.retain(|cmd_sn, early| {
            let stays = match early {
                // Aborted before its turn, and taken for received thereby.
                Early::Command(id) => tasks.get(*id).is_none_or(|task| task.leg != leg),
                Early::Other(received) => received.leg != leg,
            };
            if !stays {
                window.forget(*cmd_sn);
                if let Early::Other(received) = early {
                    *early_data -= received.data_len();
                }
            }
            stays
        });
    }

    /// Whether tasks are under way whose connection has gone.
    pub(super) fn has_orphans(&self) -> bool {
        self.tasks.iter().any(|task| self.member(task.leg).is_none())
    }
}
