//! Task management functions (RFC 7143 §11.5, §11.6, RFC 7144).
//!
//! Commands that the device server has not seen are ended here, those that it has by the driver. Affected commands are not waited for
//! until their outstanding R2Ts are answered, as §4.2.3.3 has it: initiators that answer no R2T after the request (FastAbort, the default
//! of Linux, negotiated or not) would wait for ever. Data-Out that comes for them later is thrown away.

use super::event::{CloseReason, Event, TaskId};
use super::full_feature::{FullFeature, Place};
use super::link::Link;
use super::tasks::{CommandTask, ManagementTask, Stage, Task, Work};
use crate::pdu::fields::{BHS_LEN, Serial};
use crate::pdu::initiator::TaskManagementRequest;
use crate::pdu::target::{TargetPdu, TaskManagementResponse};
use crate::scsi::command::{Outcome, TaskManagement, TaskManagementOutcome, TaskTag};
use crate::scsi::lun_address::LunAddress;
use std::time::Instant;

/// Responses (RFC 7143 §11.6.1, RFC 7144 §4.2).
const FUNCTION_COMPLETE: u8 = 0;
const TASK_DOES_NOT_EXIST: u8 = 1;
const LUN_DOES_NOT_EXIST: u8 = 2;
const REASSIGNMENT_NOT_SUPPORTED: u8 = 4;
const FUNCTION_NOT_SUPPORTED: u8 = 5;
const FUNCTION_SUCCEEDED: u8 = 7;
const FUNCTION_REJECTED: u8 = 255;

/// iSCSIProtocolLevel that has the functions of RFC 7144.
const LEVEL_OF_RFC_7144: u16 = 2;
const TASK_REASSIGN: u8 = 8;

/// An immediate request that came before commands which it affects (RFC 7143 §4.2.3.3 b).
#[derive(Debug)]
pub(super) struct WaitingManagement {
    pub(super) id: TaskId,
    cmd_sn: Serial,
}

/// The function of a request.
fn function(request: &TaskManagementRequest, protocol_level: u16) -> Option<TaskManagement> {
    let lun = request.lun;
    let tag = TaskTag(request.referenced_task_tag);
    let function = match request.function {
        1 => TaskManagement::AbortTask { lun, tag },
        2 => TaskManagement::AbortTaskSet { lun },
        3 => TaskManagement::ClearAca { lun },
        4 => TaskManagement::ClearTaskSet { lun },
        5 => TaskManagement::LogicalUnitReset { lun },
        6 => TaskManagement::TargetWarmReset,
        7 => TaskManagement::TargetColdReset,
        9 => TaskManagement::QueryTask { lun, tag },
        10 => TaskManagement::QueryTaskSet { lun },
        11 => TaskManagement::ITNexusReset,
        12 => TaskManagement::QueryAsyncEvent { lun },
        _ => return None,
    };
    (request.function < TASK_REASSIGN || protocol_level >= LEVEL_OF_RFC_7144).then_some(function)
}

/// Which commands of a nexus a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Nothing,
    Task(u32),
    Unit(LunAddress),
    Everything,
}

impl Scope {
    fn of(function: TaskManagement) -> Self {
        match function {
            TaskManagement::AbortTask { tag, .. } => Self::Task(tag.0),
            TaskManagement::AbortTaskSet { lun }
            | TaskManagement::ClearTaskSet { lun }
            | TaskManagement::LogicalUnitReset { lun } => Self::Unit(lun),
            TaskManagement::TargetWarmReset
            | TaskManagement::TargetColdReset
            | TaskManagement::ITNexusReset => Self::Everything,
            TaskManagement::ClearAca { .. }
            | TaskManagement::QueryTask { .. }
            | TaskManagement::QueryTaskSet { .. }
            | TaskManagement::QueryAsyncEvent { .. } => Self::Nothing,
        }
    }

    fn has(self, task: &Task) -> bool {
        match self {
            Self::Nothing => false,
            Self::Task(tag) => task.tag == tag,
            Self::Unit(lun) => task.lun.names_same(lun),
            Self::Everything => true,
        }
    }
}

/// Whether a command is in the task set, and the driver has not got it.
fn is_here(stage: Stage) -> bool {
    matches!(stage, Stage::Collecting | Stage::Blocked)
}

impl FullFeature {
    /// Takes a request.
    pub(super) fn task_management(
        &mut self,
        link: &mut Link,
        header: &[u8; BHS_LEN],
        request: &TaskManagementRequest,
        place: Place,
    ) {
        if let Err(reason) = self.admit(request.initiator_task_tag, request.immediate) {
            return self.refuse(link, header, reason.code(), place);
        }
        let answer = match function(request, self.session.parameters.protocol_level) {
            // Allegiance cannot be reassigned below ErrorRecoveryLevel 2.
            None if request.function == TASK_REASSIGN => Err(REASSIGNMENT_NOT_SUPPORTED),
            None => Err(FUNCTION_NOT_SUPPORTED),
            Some(function @ TaskManagement::AbortTask { .. }) => {
                self.abort_here(link, request).map_or(Ok(function), Err)
            }
            Some(function @ TaskManagement::QueryTask { .. }) => {
                self.query_here(request).map_or(Ok(function), Err)
            }
            Some(function) => Ok(function),
        };
        match answer {
            Ok(function) => self.take_function(link, request, function),
            Err(response) => {
                self.conclude(place);
                self.send_management_response(link, request.initiator_task_tag, response);
            }
        }
    }

    /// Makes a task of a function that cannot be answered at once.
    fn take_function(&mut self, link: &mut Link, request: &TaskManagementRequest, function: TaskManagement) {
        let &TaskManagementRequest { immediate, lun, cmd_sn, .. } = request;
        let work = Work::Management(ManagementTask { function, last_turn: 0 });
        let leg = link.leg();
        let id = self.tasks.insert(Task { tag: request.initiator_task_tag, leg, lun, immediate, work });
        let affects_many = matches!(Scope::of(function), Scope::Unit(_) | Scope::Everything);
        if immediate && affects_many && self.window.has_gap_before(cmd_sn) {
            self.waiting_management.push(WaitingManagement { id, cmd_sn });
        } else {
            self.manage(link, id);
        }
    }

    /// ABORT TASK as far as it can be answered here (RFC 7143 §11.6.1).
    fn abort_here(&mut self, link: &mut Link, request: &TaskManagementRequest) -> Option<u8> {
        let referenced = self.tasks.by_tag(request.referenced_task_tag);
        let Some(id) = referenced else { return Some(self.abort_unknown(request)) };
        let stage = self.stage_of(id, request.lun);
        match stage {
            None => Some(TASK_DOES_NOT_EXIST),
            Some(Stage::Running) => None,
            Some(Stage::Early | Stage::Collecting | Stage::Blocked) => {
                self.drop_command(id);
                self.run_unblocked(link);
                self.solicit(link);
                Some(FUNCTION_COMPLETE)
            }
        }
    }

    /// ABORT TASK of a command that is not here: if it has yet to come, it is taken for received.
    fn abort_unknown(&mut self, request: &TaskManagementRequest) -> u8 {
        let ref_cmd_sn = request.ref_cmd_sn;
        let may_come = self.window.holds(ref_cmd_sn) && ref_cmd_sn.is_before(request.cmd_sn);
        if !may_come {
            return TASK_DOES_NOT_EXIST;
        }
        self.skip_command(ref_cmd_sn);
        FUNCTION_COMPLETE
    }

    /// Where a command of a logical unit is; none when the task is another's or no command.
    fn stage_of(&self, id: TaskId, lun: LunAddress) -> Option<Stage> {
        match self.tasks.get(id) {
            Some(Task { lun: own, work: Work::Command(CommandTask { stage, .. }), .. })
                if own.names_same(lun) =>
            {
                Some(*stage)
            }
            _ => None,
        }
    }

    /// QUERY TASK as far as it can be answered here.
    fn query_here(&self, request: &TaskManagementRequest) -> Option<u8> {
        let id = self.tasks.by_tag(request.referenced_task_tag);
        match id.and_then(|id| self.stage_of(id, request.lun)) {
            Some(Stage::Running) => None,
            Some(Stage::Early | Stage::Collecting | Stage::Blocked) => Some(FUNCTION_SUCCEEDED),
            None => Some(FUNCTION_COMPLETE),
        }
    }

    /// Runs the requests that have waited long enough.
    pub(super) fn manage_due(&mut self, link: &mut Link) {
        while let Some(at) =
            self.waiting_management.iter().position(|it| !self.window.has_gap_before(it.cmd_sn))
        {
            let WaitingManagement { id, .. } = self.waiting_management.remove(at);
            self.manage(link, id);
        }
    }

    /// Ends the commands that are here, and passes the function on to those who have the others.
    fn manage(&mut self, link: &mut Link, id: TaskId) {
        let last_turn = self.ordering.last_turn();
        let Some(Task { work: Work::Management(management), .. }) = self.tasks.get_mut(id) else { return };
        management.last_turn = last_turn;
        let function = management.function;
        let scope = Scope::of(function);
        if let TaskManagement::QueryTaskSet { lun } = function
            && self
                .tasks
                .commands()
                .any(|(_, task, command)| task.lun.names_same(lun) && is_here(command.stage))
        {
            return self.finish_management(link, id, FUNCTION_SUCCEEDED);
        }
        let here: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, task, command)| is_here(command.stage) && scope.has(task))
            .map(|(id, ..)| id)
            .collect();
        if !here.is_empty() {
            here.into_iter().for_each(|id| self.drop_command(id));
            self.run_unblocked(link);
            self.solicit(link);
        }
        link.events.push_back(Event::Manage(id, function));
    }

    /// The driver has carried a function out.
    pub(super) fn managed(
        &mut self,
        link: &mut Link,
        now: Instant,
        id: TaskId,
        outcome: TaskManagementOutcome,
    ) {
        let Some(Task { work: Work::Management(management), .. }) = self.tasks.get(id) else { return };
        let &ManagementTask { function, last_turn } = management;
        let response = match outcome {
            TaskManagementOutcome::Complete => FUNCTION_COMPLETE,
            TaskManagementOutcome::Succeeded => FUNCTION_SUCCEEDED,
            TaskManagementOutcome::TaskDoesNotExist => TASK_DOES_NOT_EXIST,
            TaskManagementOutcome::LunDoesNotExist => LUN_DOES_NOT_EXIST,
            TaskManagementOutcome::NotSupported => FUNCTION_NOT_SUPPORTED,
            TaskManagementOutcome::Rejected => FUNCTION_REJECTED,
        };
        if outcome == TaskManagementOutcome::Complete {
            self.forget_aborted(Scope::of(function), last_turn);
        }
        let affects_many = matches!(Scope::of(function), Scope::Unit(_) | Scope::Everything);
        if !(affects_many && self.raise_fence(link, now, id, response)) {
            self.answer_management(link, id, response);
        }
    }

    /// Answers a function that was carried out.
    pub(super) fn answer_management(&mut self, link: &mut Link, id: TaskId, response: u8) {
        let Some(Task { work: Work::Management(management), .. }) = self.tasks.get(id) else { return };
        let function = management.function;
        self.finish_management(link, id, response);
        // RFC 7143 §11.5.1: after a cold reset all connections end.
        if (function, response) == (TaskManagement::TargetColdReset, FUNCTION_COMPLETE) {
            link.close_all(CloseReason::TargetReset);
        }
    }

    /// Commands that were aborted, and whose end the driver has not told yet: after the response their tags are free.
    fn forget_aborted(&mut self, scope: Scope, last_turn: u64) {
        if scope == Scope::Nothing {
            return;
        }
        let aborted: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, task, command)| {
                command.stage == Stage::Running && command.turn <= last_turn && scope.has(task)
            })
            .map(|(id, ..)| id)
            .collect();
        aborted.into_iter().for_each(|id| self.forget_command(id));
    }

    /// Another nexus has aborted the commands that `concerns` names: those end that the driver has not run yet, each as `outcome` says.
    /// Tells how many they were. Commands whose CmdSN is not due are in no task set yet (RFC 7143 §4.2.3.3 b).
    pub(super) fn abort_held(
        &mut self,
        link: &mut Link,
        concerns: impl Fn(LunAddress) -> bool,
        outcome: impl Fn() -> Outcome,
    ) -> usize {
        let here: Vec<_> = self
            .tasks
            .commands()
            .filter(|(_, task, command)| is_here(command.stage) && concerns(task.lun))
            .map(|(id, ..)| id)
            .collect();
        for &id in &here {
            match outcome() {
                Outcome::Aborted => self.drop_command(id),
                Outcome::Done(response) => self.end_command(link, id, response),
            }
        }
        let mut aborted = here.len();
        if aborted > 0 {
            self.run_unblocked(link);
            self.solicit(link);
        }
        let mut waiting = Vec::new();
        link.events.retain(|event| match event {
            Event::Execute(id, command) if concerns(command.lun) => {
                waiting.push(*id);
                false
            }
            _ => true,
        });
        aborted += waiting.len();
        waiting.into_iter().for_each(|id| self.complete(link, id, outcome()));
        aborted
    }

    fn finish_management(&mut self, link: &mut Link, id: TaskId, response: u8) {
        let Some(task) = self.tasks.remove(id) else { return };
        if !task.immediate {
            self.window.finish();
        }
        self.send_management_response(link.turn_to(task.leg), task.tag, response);
    }

    fn send_management_response(&self, link: &mut Link, initiator_task_tag: u32, response: u8) {
        let response = TaskManagementResponse { initiator_task_tag, response };
        link.send(&self.window, &TargetPdu::TaskManagement(response));
    }
}
