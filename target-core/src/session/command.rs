//! SCSI commands from arrival to the driver (RFC 7143 §11.3).

use super::event::{Event, Leg, TaskId};
use super::full_feature::{FullFeature, Place};
use super::link::Link;
use super::tasks::{CommandTask, Stage, Task, Work};
use super::{conditions, data_out::DataOutBuffer};
use crate::pdu::error::RejectReason;
use crate::pdu::fields::BHS_LEN;
use crate::pdu::initiator::{DataOut, ScsiCommand};
use crate::scsi::command::{Cdb, Command, Response, TaskTag};
use crate::scsi::sense::{Sense, Status};
use std::time::Instant;

impl FullFeature {
    /// Makes a task of a command, or refuses it.
    pub(super) fn take_command(
        &mut self,
        link: &mut Link,
        header: &[u8; BHS_LEN],
        mut pdu: ScsiCommand,
        place: Place,
    ) -> Option<TaskId> {
        if let Err(reason) = self.admit(pdu.initiator_task_tag, pdu.immediate) {
            self.refuse(link, header, reason.code(), place);
            return None;
        }
        let leg = link.leg();
        let kept = link.keep(std::mem::take(&mut pdu.immediate_data));
        let data_out =
            DataOutBuffer::new(&pdu, kept, &self.session.parameters, self.config.max_command_bytes);
        Some(self.tasks.insert(Task {
            tag: pdu.initiator_task_tag,
            leg,
            lun: pdu.lun,
            immediate: pdu.immediate,
            work: Work::Command(CommandTask {
                stage: Stage::Early,
                turn: 0,
                read: pdu.read,
                write: pdu.write,
                attribute: pdu.attribute,
                priority: pdu.priority,
                cdb: Cdb(pdu.cdb),
                expected_length: pdu.expected_data_transfer_length,
                bidirectional_read_length: pdu.bidirectional_read_length,
                data_out,
                ticket: None,
                lends_place: false,
            }),
        }))
    }

    /// A command whose immediate data did not survive the way: it is rejected, and once its other unsolicited data has come it ends
    /// with the iSCSI condition for that. Without it the initiator would hear nothing more of the command at ErrorRecoveryLevel 0.
    pub(super) fn take_damaged_command(
        &mut self,
        link: &mut Link,
        header: &[u8; BHS_LEN],
        pdu: ScsiCommand,
        place: Place,
    ) -> Option<TaskId> {
        let id = self.take_command(link, header, pdu, place)?;
        link.reject(&self.window, RejectReason::DataDigestError.code(), header);
        if let Some(command) = self.tasks.command_mut(id) {
            command.data_out.fail(conditions::PROTOCOL_SERVICE_CRC_ERROR);
        }
        Some(id)
    }

    /// A command has its turn: it may ask for data and run.
    pub(super) fn start_command(&mut self, link: &mut Link, now: Instant, id: TaskId) {
        let Some(command) = self.tasks.command_mut(id) else { return };
        command.stage = Stage::Collecting;
        command.turn = self.ordering.take_turn(command.attribute);
        if !self.throttle(now, id) {
            self.collect(link, id);
        }
    }

    /// A command whose turn it is need not wait for the limits of its unit, or not any more.
    pub(super) fn collect(&mut self, link: &mut Link, id: TaskId) {
        let Some(Task { leg, work: Work::Command(command), .. }) = self.tasks.get_mut(id) else { return };
        if command.data_out.is_settled() {
            return self.data_settled(link, id);
        }
        if command.data_out.lacks() {
            let leg = *leg;
            if let Some(member) = self.member_mut(leg) {
                member.solicitation.enqueue(id);
            }
            self.solicit(link);
        }
    }

    /// The task of this tag that has come on this connection: its data has to come there too (RFC 7143 §4.2.5.1).
    fn task_of(&self, leg: Leg, tag: u32) -> Option<TaskId> {
        self.tasks.by_tag(tag).filter(|id| self.tasks.get(*id).is_some_and(|task| task.leg == leg))
    }

    /// Takes a Data-Out.
    pub(super) fn data_out(&mut self, link: &mut Link, header: &[u8; BHS_LEN], pdu: DataOut) {
        let ends_sequence = pdu.is_final;
        let tag = pdu.initiator_task_tag;
        let Some(id) = self.task_of(link.leg(), tag) else {
            // It may have been sent before the initiator knew that the command is over.
            if !self.has_departed(tag) {
                link.reject(&self.window, RejectReason::InvalidPduField.code(), header);
            }
            return;
        };
        let taken = match self.tasks.gather(id, |data_out| data_out.receive(pdu, |data| link.keep(data))) {
            Some(taken) => taken,
            None if self.tasks.command_mut(id).is_some() => Err(RejectReason::ProtocolError),
            None => Err(RejectReason::InvalidPduField),
        };
        if let Err(reason) = taken {
            link.reject(&self.window, reason.code(), header);
        }
        self.data_progress(link, id, ends_sequence);
    }

    /// What is left of a Data-Out whose data did not survive the way (RFC 7143 §7.8).
    pub(super) fn damaged_data_out(&mut self, link: &mut Link, header: &[u8; BHS_LEN], pdu: DataOut) {
        link.reject(&self.window, RejectReason::DataDigestError.code(), header);
        let Some(id) = self.task_of(link.leg(), pdu.initiator_task_tag) else { return };
        // Rejected it is already.
        if self.tasks.gather(id, |data_out| data_out.lose(pdu)).is_some() {
            self.data_progress(link, id, true);
        }
    }

    fn data_progress(&mut self, link: &mut Link, id: TaskId, sequence_ended: bool) {
        let Some(command) = self.tasks.command_mut(id) else { return };
        if command.stage != Stage::Collecting {
            return;
        }
        if command.data_out.is_settled() && command.ticket.is_none() {
            self.data_settled(link, id);
        } else if sequence_ended {
            self.solicit(link);
        }
    }

    /// All the data is there, or all that will come.
    fn data_settled(&mut self, link: &mut Link, id: TaskId) {
        let Some(command) = self.tasks.command_mut(id) else { return };
        match command.data_out.failure() {
            Some(condition) => self.end_command(link, id, failed(condition)),
            None if self.is_blocked(id) => self.block(id),
            None => self.run(link, id),
        }
        self.run_unblocked(link);
        self.solicit(link);
    }

    /// Gives a command to the driver.
    pub(super) fn run(&mut self, link: &mut Link, id: TaskId) {
        self.release(id);
        self.tasks.set_running(id);
        let Some(task) = self.tasks.get_mut(id) else { return };
        let (lun, tag) = (task.lun, TaskTag(task.tag));
        let Work::Command(command) = &mut task.work else { return };
        let data_in_room = command.data_in_room();
        let (data_out, data_out_beyond) = command.data_out.take();
        let command = Command {
            lun,
            tag,
            attribute: command.attribute,
            priority: command.priority,
            cdb: Cdb(std::mem::take(&mut command.cdb.0)),
            data_out,
            data_out_beyond,
            data_in_room,
        };
        link.events.push_back(Event::Execute(id, command));
    }

    /// Takes a command that has had its turn out of what only commands before the driver are part of.
    fn release(&mut self, id: TaskId) {
        let Some(Task { leg, work: Work::Command(command), .. }) = self.tasks.get(id) else { return };
        if command.turn != 0 {
            self.ordering.pass(command);
        }
        let charged = command.data_out.charged();
        if let Some(member) = self.members.iter_mut().find(|member| member.leg == *leg) {
            member.solicitation.release(id, charged);
        }
    }

    /// Answers a command that the driver has not got.
    pub(super) fn end_command(&mut self, link: &mut Link, id: TaskId, response: Response) {
        self.release(id);
        if let Some(task) = self.tasks.get(id) {
            // What it sends beyond is not worth more words.
            self.depart(task.tag);
        }
        self.finish_command(link, id, response);
    }

    /// Ends a command that the driver has not got, without a word.
    pub(super) fn drop_command(&mut self, id: TaskId) {
        self.release(id);
        let Some(task) = self.tasks.remove(id) else { return };
        self.depart(task.tag);
        // An early one has no place in the window yet.
        let early = matches!(&task.work, Work::Command(command) if command.stage == Stage::Early);
        if task.holds_place() && !early {
            self.window.finish();
        }
    }
}

/// The answer to a command that did not come to run.
fn failed(condition: Sense) -> Response {
    Response { sense_value: Some(condition), ..Response::of(Status::CheckCondition) }
}
