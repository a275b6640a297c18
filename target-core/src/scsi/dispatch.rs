//! A command's way through a logical unit: into the task set, past the gates, to its handler, and out with a response.

use super::command::{Command, Nexus, NexusId, Outcome, Response};
use super::extent::Layout;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::row::{Data, Handler, Row};
use super::sense::{Fault, Sense, SenseKey, Status};
use super::sense_format::{SenseFormat, render};
use super::table::Table;
use super::{asc, gates, read, report_luns, write};
use crate::device::BlockDevice;
use crate::lun::claim::Claim;
use crate::lun::target::TargetDevice;
use crate::lun::task_set::{Abort, Entrant, Task};
use crate::lun::unit::LogicalUnit;
use std::sync::Arc;

/// Runs a command on a unit.
pub async fn run<D: BlockDevice>(
    target: &TargetDevice<D>,
    unit: &Arc<LogicalUnit<D>>,
    nexus: &Arc<Nexus>,
    command: &Command,
) -> Outcome {
    let cdb = Fields(command.cdb.as_slice());
    let row = Table::<D>::find(cdb, &unit.device().capabilities(), unit.config().removable);
    let mut task = unit.tasks().enter(Entrant {
        nexus: nexus.id,
        tag: command.tag,
        attribute: command.attribute,
        claim: row.map_or(Claim::None, |row| row.claim(cdb, &command.data_out)),
    });
    task.started().await;
    let result = serve(target, unit, nexus, command, row, &task).await;
    let data_out_wanted = row.map_or(0, |row| row.data_out(cdb, &command.data_out, unit.block_size()));
    conclude(unit, nexus.id, result, task.finish(), data_out_wanted)
}

/// What a command that has left the task set ends with. An abort may have come between the gates and the end: then a unit attention that
/// was to be told is pending again, for it may be the very one that tells of the abort.
fn conclude<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    nexus: NexusId,
    result: Result<Reply, Fault>,
    abort: Option<Abort>,
    data_out_wanted: u64,
) -> Outcome {
    if abort.is_some()
        && let Err(Fault::Check(Sense { key: SenseKey::UnitAttention, asc, .. })) = result
    {
        unit.attentions().raise_for(nexus, asc);
    }
    match abort {
        Some(Abort::Silent) => Outcome::Aborted,
        Some(Abort::TaskAborted) => Outcome::Done(plain(Status::TaskAborted, data_out_wanted)),
        None => {
            let format = match unit.modes().get().d_sense {
                true => SenseFormat::Descriptor,
                false => SenseFormat::Fixed,
            };
            Outcome::Done(respond(result, format, data_out_wanted))
        }
    }
}

async fn serve<D: BlockDevice>(
    target: &TargetDevice<D>,
    unit: &Arc<LogicalUnit<D>>,
    nexus: &Arc<Nexus>,
    command: &Command,
    row: Result<&'static Row<D>, Sense>,
    task: &Task<'_>,
) -> Result<Reply, Fault> {
    if task.is_aborted() {
        return Err(Fault::Status(Status::TaskAborted));
    }
    let cdb = Fields(command.cdb.as_slice());
    let row = gates::pass(unit, nexus, command.attribute, row, cdb)
        .inspect_err(|fault| clear_told_inventory(target, nexus.id, fault))?;
    if row.needs.writable && unit.watches().any() {
        unit.watches().touch(&row.claim(cdb, &command.data_out));
    }
    let request = Request { target, unit, nexus, command, row, task };
    let result = match &row.handler {
        Handler::Now(handler) => handler(&request),
        Handler::Read => read::read(&request).await,
        Handler::Write => write::write(&request).await,
        Handler::Later(handler) => handler(&request).await,
    };
    count(&request, &result);
    let reply = result?;
    Ok(match row.data {
        Data::In(field) => reply.cut(field.read(cdb), command.data_in_room),
        _ => reply,
    })
}

/// Counts a command that has to do with blocks.
fn count<D: BlockDevice>(request: &Request<'_, D>, result: &Result<Reply, Fault>) {
    if request.row.layout == Layout::None {
        return;
    }
    let statistics = request.unit.statistics();
    let tally = match request.row.needs.writable {
        true => &statistics.written,
        false => &statistics.read,
    };
    match result {
        Ok(reply) => tally.carried(reply.data_in.len().max(request.command.data_out.len())),
        Err(Fault::Check(Sense { key: SenseKey::MediumError, .. })) => tally.failed(),
        Err(_) => {}
    }
}

/// Once a unit has told a nexus that the inventory has changed, no other unit need tell it again (SAM-5 5.14.4; LUICLR).
fn clear_told_inventory<D: BlockDevice>(target: &TargetDevice<D>, nexus: NexusId, fault: &Fault) {
    if let Fault::Check(Sense { asc: asc::REPORTED_LUNS_DATA_HAS_CHANGED, .. }) = fault {
        report_luns::clear_attentions(target, nexus);
    }
}

/// The response to a command.
pub fn respond(result: Result<Reply, Fault>, format: SenseFormat, data_out_wanted: u64) -> Response {
    match result {
        Ok(reply) => Response {
            data_in: reply.data_in,
            data_in_beyond: reply.beyond,
            ..plain(Status::Good, data_out_wanted)
        },
        Err(Fault::Status(status)) => plain(status, data_out_wanted),
        Err(Fault::Check(sense)) => Response {
            sense: render(&sense, format),
            sense_value: Some(sense),
            ..plain(Status::CheckCondition, data_out_wanted)
        },
    }
}

/// A response of nothing but a status.
fn plain(status: Status, data_out_wanted: u64) -> Response {
    Response { data_out_wanted, ..Response::of(status) }
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
