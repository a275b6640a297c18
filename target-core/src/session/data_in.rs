//! The end of a command: Data-In, status, residual counts (RFC 7143 §11.4, §11.7).

use super::event::TaskId;
use super::full_feature::FullFeature;
use super::link::Link;
use super::members::Member;
use super::tasks::{CommandTask, Work};
use crate::payload::Payload;
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::target::{CollapsedStatus, DataIn, Residual, ScsiResponse, TargetPdu};
use crate::scsi::command::{Outcome, Response};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Status;
use crate::scsi::sense_format::{SenseFormat, render};
use smallvec::SmallVec;

impl FullFeature {
    /// The driver has ended a command.
    pub(super) fn complete(&mut self, link: &mut Link, id: TaskId, outcome: Outcome) {
        match outcome {
            Outcome::Done(response) => self.finish_command(link, id, response),
            Outcome::Aborted => self.forget_command(id),
        }
    }

    /// A command ends without a word.
    pub(super) fn forget_command(&mut self, id: TaskId) {
        if self.tasks.remove(id).is_some_and(|task| !task.immediate) {
            self.window.finish();
        }
    }

    /// Answers a command.
    pub(super) fn finish_command(&mut self, link: &mut Link, id: TaskId, response: Response) {
        let Some(task) = self.tasks.remove(id) else { return };
        let Work::Command(command) = task.work else { return };
        link.turn_to(task.leg);
        if !task.immediate {
            self.window.finish();
        }
        let (residual, bidirectional_read_residual) = residuals(&command, &response);
        let Response { status, sense, sense_value, mut data_in, .. } = response;
        data_in.truncate(command.data_in_room() as usize);
        // The residual count of a bidirectional read has no room in a Data-In.
        let collapses = status == Status::Good && sense.is_empty() && !command.write && !data_in.is_empty();
        let collapsed = collapses.then_some(CollapsedStatus { status: status as u8, residual });
        // R2Ts and Data-In of a bidirectional command are numbered together (§11.7.5).
        let first_data_sn = if command.read { command.data_out.r2ts() } else { 0 };
        let exp_data_sn = self.send_data_in(link, task.tag, first_data_sn, data_in, collapsed);
        if collapses {
            return;
        }
        let sense = match sense_value {
            Some(value) if sense.is_empty() && status == Status::CheckCondition => {
                render(&value, SenseFormat::Fixed)
            }
            _ => sense,
        };
        self.send_status(link, task.tag, status, (residual, bidirectional_read_residual), exp_data_sn, sense);
    }

    fn send_status(
        &self,
        link: &mut Link,
        initiator_task_tag: u32,
        status: Status,
        (residual, bidirectional_read_residual): (Residual, Residual),
        exp_data_sn: u32,
        sense: SmallVec<[u8; 32]>,
    ) {
        let response = ScsiResponse {
            initiator_task_tag,
            response: 0,
            status: status as u8,
            residual,
            bidirectional_read_residual,
            exp_data_sn,
            sense,
        };
        link.send(&self.window, &TargetPdu::ScsiResponse(response));
    }

    /// Sends data in PDUs that the initiator can take, F at the end of each burst, `status` with the last; tells the ExpDataSN, which is 0 when
    /// there is no data (§11.4.8).
    fn send_data_in(
        &self,
        link: &mut Link,
        initiator_task_tag: u32,
        first_data_sn: u32,
        mut data_in: Payload,
        status: Option<CollapsedStatus>,
    ) -> u32 {
        let Some(Member { parameters, .. }) = self.member(link.leg()) else { return 0 };
        let total = data_in.len();
        let most = parameters.initiator_max_recv_data_segment_length.max(1) as usize;
        let burst = parameters.max_burst_length.max(1) as usize;
        let (mut offset, mut data_sn) = (0, first_data_sn);
        while offset < total {
            let burst_end = (offset / burst + 1) * burst;
            let length = most.min(burst_end.min(total) - offset);
            let data = match length == total {
                true => std::mem::take(&mut data_in),
                false => data_in.slice(offset, length),
            };
            let buffer_offset = offset as u32;
            offset += length;
            let pdu = DataIn {
                is_final: offset == total || offset == burst_end,
                status: status.filter(|_| offset == total),
                // Both belong to a DataACK, which ErrorRecoveryLevel 0 does not have.
                lun: LunAddress::default(),
                target_transfer_tag: RESERVED_TAG,
                initiator_task_tag,
                data_sn,
                buffer_offset,
                data,
            };
            link.send(&self.window, &TargetPdu::DataIn(pdu));
            data_sn += 1;
        }
        if total == 0 { 0 } else { data_sn }
    }
}

/// What was moved beside what was expected (RFC 7143 §11.4.5): the residual count, and that of a bidirectional read.
fn residuals(command: &CommandTask, response: &Response) -> (Residual, Residual) {
    let room = u64::from(command.data_in_room());
    let data_in = response.data_in.len() as u64 + response.data_in_beyond;
    let data_out = response.data_out_wanted;
    let expected = u64::from(command.expected_length);
    match (command.read, command.write) {
        (true, true) => (compare(expected, data_out), compare(room, data_in)),
        (_, false) => (one_way(room, data_in, data_out), Residual::None),
        (false, true) => (one_way(expected, data_out, data_in), Residual::None),
    }
}

/// The residual of a transfer in one direction. `against`: what would have gone in the other, for which the initiator has no room.
fn one_way(expected: u64, moved: u64, against: u64) -> Residual {
    if moved == 0 && against > 0 { compare(0, against) } else { compare(expected, moved) }
}

fn compare(expected: u64, moved: u64) -> Residual {
    let count = u32::try_from(expected.abs_diff(moved)).unwrap_or(u32::MAX);
    match moved.cmp(&expected) {
        std::cmp::Ordering::Less => Residual::Underflow(count),
        std::cmp::Ordering::Equal => Residual::None,
        std::cmp::Ordering::Greater => Residual::Overflow(count),
    }
}
