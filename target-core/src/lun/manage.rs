//! Task management functions and their true effects (SAM-5 clause 7, RFC 7143 §11.5 and §11.6).

use super::notice::Obeyed;
use super::target::TargetDevice;
use super::task_set::{Abort, Sequence};
use super::unit::LogicalUnit;
use crate::device::BlockDevice;
use crate::scsi::asc;
use crate::scsi::command::{NexusId, TaskManagement, TaskManagementOutcome, TaskTag};
use crate::scsi::lun_address::{LunAddress, LunKind};
use crate::scsi::sense::Asc;
use std::sync::Arc;

/// Runs a function for a nexus; ready when its effects are in place.
pub async fn manage<D: BlockDevice>(
    target: &TargetDevice<D>,
    nexus: NexusId,
    function: TaskManagement,
) -> TaskManagementOutcome {
    use TaskManagementOutcome::{Complete, LunDoesNotExist, NotSupported, Succeeded, TaskDoesNotExist};
    let found = |condition| if condition { Succeeded } else { Complete };
    match function {
        TaskManagement::TargetWarmReset => {
            on_all(target, |at| reset(target, at, nexus, asc::SCSI_BUS_RESET_OCCURRED)).await;
            return Complete;
        }
        TaskManagement::TargetColdReset => {
            on_all(target, |at| reset(target, at, nexus, asc::POWER_ON_OCCURRED)).await;
            return Complete;
        }
        TaskManagement::ITNexusReset => {
            on_all(target, |(_, unit)| {
                unit.attentions().raise_for(nexus, asc::I_T_NEXUS_LOSS_OCCURRED);
                Aborting { tasks: forget_nexus(unit, nexus), held: Obeyed::default() }
            })
            .await;
            return Complete;
        }
        // NormACA is zero in all units.
        TaskManagement::ClearAca { .. } => return NotSupported,
        _ => {}
    }
    let Some(numbered) = function.lun().and_then(|lun| unit(target, lun)) else {
        return LunDoesNotExist;
    };
    let (_, unit) = &numbered;
    let tasks = unit.tasks();
    match function {
        TaskManagement::AbortTask { tag, .. } => {
            let aborted = tasks.abort(|owner, own| (owner == nexus && own == tag).then_some(Abort::Silent));
            if aborted.is_empty() {
                return TaskDoesNotExist;
            }
            tasks.gone(aborted).await;
            Complete
        }
        TaskManagement::AbortTaskSet { .. } => {
            let aborted = tasks.abort(|owner, _| (owner == nexus).then_some(Abort::Silent));
            tasks.gone(aborted).await;
            Complete
        }
        TaskManagement::ClearTaskSet { .. } => {
            clear(target, &numbered, nexus).end(unit).await;
            Complete
        }
        TaskManagement::LogicalUnitReset { .. } => {
            reset(target, &numbered, nexus, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED).end(unit).await;
            Complete
        }
        TaskManagement::QueryTask { tag, .. } => found(tasks.any(|owner, own| owner == nexus && own == tag)),
        TaskManagement::QueryTaskSet { .. } => found(tasks.any(|owner, _| owner == nexus)),
        TaskManagement::QueryAsyncEvent { .. } => found(unit.attentions().is_pending(nexus)),
        _ => NotSupported,
    }
}

/// A unit and its number.
type Numbered<D> = (u16, Arc<LogicalUnit<D>>);

fn unit<D: BlockDevice>(target: &TargetDevice<D>, lun: LunAddress) -> Option<Numbered<D>> {
    match lun.kind() {
        LunKind::Unit(number) => target.unit(number).map(|unit| (number, unit)),
        LunKind::ReportLuns | LunKind::Unknown => None,
    }
}

/// Tasks of a unit that were aborted: those that the unit has, and those that transports hold.
pub struct Aborting {
    tasks: Vec<Sequence>,
    held: Obeyed,
}

impl Aborting {
    /// Aborts the tasks of nexuses in a unit, each as `choose` says. `condition` tells those of it who hear nothing otherwise.
    pub fn begin<D: BlockDevice>(
        target: &TargetDevice<D>,
        (number, unit): &Numbered<D>,
        choose: impl Fn(NexusId, Option<TaskTag>) -> Option<Abort>,
        by: NexusId,
        condition: Asc,
    ) -> (Self, Vec<NexusId>) {
        let mut silenced = Vec::new();
        let tasks = unit.tasks().abort(|owner, tag| {
            let how = choose(owner, Some(tag))?;
            if how == Abort::Silent && owner != by {
                silenced.push(owner);
            }
            Some(how)
        });
        let told = Arc::clone(unit);
        let tell = move |nexus| {
            if nexus != by {
                told.attentions().raise_for(nexus, condition);
            }
        };
        let held = target.notices().abort(*number, |nexus| choose(nexus, None), tell);
        (Self { tasks, held }, silenced)
    }

    /// Ready when none of them can have any further effect.
    pub async fn end<D: BlockDevice>(self, unit: &LogicalUnit<D>) {
        unit.tasks().gone(self.tasks).await;
        self.held.all().await;
    }
}

/// How the tasks of nexuses end when another one ends them (SAM-5 5.6).
pub fn by_another<D: BlockDevice>(unit: &LogicalUnit<D>, by: NexusId) -> impl Fn(NexusId) -> Abort {
    let tas = unit.modes().get().tas;
    move |owner| match tas && owner != by {
        true => Abort::TaskAborted,
        false => Abort::Silent,
    }
}

/// Aborts every task of every nexus. The tasks of other nexuses end as TAS says (SAM-5 5.6); where they end in silence, their
/// nexuses get a unit attention. What the transport of the nexus itself holds is ended there.
fn clear<D: BlockDevice>(target: &TargetDevice<D>, at: &Numbered<D>, by: NexusId) -> Aborting {
    let (_, unit) = at;
    let how = by_another(unit, by);
    let choose = |owner, tag: Option<TaskTag>| (owner != by || tag.is_some()).then(|| how(owner));
    let condition = asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR;
    let (aborting, silenced) = Aborting::begin(target, at, choose, by, condition);
    silenced.into_iter().for_each(|nexus| unit.attentions().raise_for(nexus, condition));
    aborting
}

/// SAM-5 6.3.3: logical unit reset, or the part of a harder reset that concerns a unit. The condition comes first: no command of another
/// nexus may run past a reservation that is gone without having been told why.
fn reset<D: BlockDevice>(
    target: &TargetDevice<D>,
    at: &Numbered<D>,
    by: NexusId,
    condition: Asc,
) -> Aborting {
    let (_, unit) = at;
    unit.attentions().raise(condition);
    let how = by_another(unit, by);
    let choose = |owner, tag: Option<TaskTag>| (owner != by || tag.is_some()).then(|| how(owner));
    let (aborting, _) = Aborting::begin(target, at, choose, by, condition);
    unit.reservations().reset();
    unit.medium().allow_all();
    unit.modes().reset();
    unit.buffers().clear();
    unit.priorities().clear();
    unit.operations().reset();
    if condition != asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED {
        // SPC-5 5.2: a hard reset, which a logical unit reset is not.
        unit.clock().reset();
    }
    aborting
}

/// Does something to all units at once, then waits for the tasks that it aborted.
async fn on_all<D: BlockDevice>(target: &TargetDevice<D>, act: impl Fn(&Numbered<D>) -> Aborting) {
    let units = target.units();
    let aborting: Vec<_> = units.iter().map(act).collect();
    for ((_, unit), aborting) in units.iter().zip(aborting) {
        aborting.end(unit).await;
    }
}

/// What ends with a nexus: its tasks, its reservation, its hold on the medium (SAM-5 6.3.4, SPC-2 5.5.1).
fn forget_nexus<D: BlockDevice>(unit: &LogicalUnit<D>, nexus: NexusId) -> Vec<Sequence> {
    let aborted = unit.tasks().abort(|owner, _| (owner == nexus).then_some(Abort::Silent));
    unit.reservations().release(nexus);
    unit.medium().prevent(nexus, false);
    unit.buffers().forget(nexus);
    unit.priorities().set(nexus, 0);
    unit.operations().forget(nexus);
    aborted
}

/// The nexus is gone for good.
pub fn lose_nexus<D: BlockDevice>(unit: &LogicalUnit<D>, nexus: NexusId) {
    forget_nexus(unit, nexus);
    unit.reservations().forget(nexus);
    unit.attentions().forget(nexus);
}

#[cfg(test)]
#[path = "manage_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "manage_transport_tests.rs"]
mod transport_tests;
