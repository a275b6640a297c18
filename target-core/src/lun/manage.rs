//! Task management functions and their true effects (SAM-5 clause 7, RFC 7143 §11.5 and §11.6).

use super::target::TargetDevice;
use super::task_set::{Abort, Sequence};
use super::unit::LogicalUnit;
use crate::device::BlockDevice;
use crate::scsi::asc;
use crate::scsi::command::{NexusId, TaskManagement, TaskManagementOutcome};
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
            on_all(target, |unit| reset(unit, nexus, asc::SCSI_BUS_RESET_OCCURRED)).await;
            return Complete;
        }
        TaskManagement::TargetColdReset => {
            on_all(target, |unit| reset(unit, nexus, asc::POWER_ON_OCCURRED)).await;
            return Complete;
        }
        TaskManagement::ITNexusReset => {
            on_all(target, |unit| {
                unit.attentions().raise_for(nexus, asc::I_T_NEXUS_LOSS_OCCURRED);
                forget_nexus(unit, nexus)
            })
            .await;
            return Complete;
        }
        // NormACA is zero in all units.
        TaskManagement::ClearAca { .. } => return NotSupported,
        _ => {}
    }
    let Some(unit) = address(function).and_then(|lun| unit(target, lun)) else {
        return LunDoesNotExist;
    };
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
            tasks.gone(clear(&unit, nexus)).await;
            Complete
        }
        TaskManagement::LogicalUnitReset { .. } => {
            let aborted = reset(&unit, nexus, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
            tasks.gone(aborted).await;
            Complete
        }
        TaskManagement::QueryTask { tag, .. } => found(tasks.any(|owner, own| owner == nexus && own == tag)),
        TaskManagement::QueryTaskSet { .. } => found(tasks.any(|owner, _| owner == nexus)),
        TaskManagement::QueryAsyncEvent { .. } => found(unit.attentions().is_pending(nexus)),
        _ => NotSupported,
    }
}

/// The logical unit that a function is addressed to, if any.
fn address(function: TaskManagement) -> Option<LunAddress> {
    match function {
        TaskManagement::AbortTask { lun, .. }
        | TaskManagement::AbortTaskSet { lun }
        | TaskManagement::ClearAca { lun }
        | TaskManagement::ClearTaskSet { lun }
        | TaskManagement::LogicalUnitReset { lun }
        | TaskManagement::QueryTask { lun, .. }
        | TaskManagement::QueryTaskSet { lun }
        | TaskManagement::QueryAsyncEvent { lun } => Some(lun),
        TaskManagement::TargetWarmReset | TaskManagement::TargetColdReset | TaskManagement::ITNexusReset => {
            None
        }
    }
}

fn unit<D: BlockDevice>(target: &TargetDevice<D>, lun: LunAddress) -> Option<Arc<LogicalUnit<D>>> {
    match lun.kind() {
        LunKind::Unit(number) => target.unit(number),
        LunKind::ReportLuns | LunKind::Unknown => None,
    }
}

/// Aborts every task of every nexus. The tasks of other nexuses end as TAS says (SAM-5 5.6); where they end in silence, their
/// nexuses get a unit attention.
fn clear<D: BlockDevice>(unit: &LogicalUnit<D>, by: NexusId) -> Vec<Sequence> {
    let tas = unit.modes().get().tas;
    let mut silenced = Vec::new();
    let aborted = unit.tasks().abort(|owner, _| match owner == by {
        true => Some(Abort::Silent),
        false if tas => Some(Abort::TaskAborted),
        false => {
            silenced.push(owner);
            Some(Abort::Silent)
        }
    });
    for nexus in silenced {
        unit.attentions().raise_for(nexus, asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
    }
    aborted
}

/// SAM-5 6.3.3: logical unit reset, or the part of a harder reset that concerns a unit. The condition comes first: no command of another
/// nexus may run past a reservation that is gone without having been told why.
fn reset<D: BlockDevice>(unit: &LogicalUnit<D>, by: NexusId, condition: Asc) -> Vec<Sequence> {
    unit.attentions().raise(condition);
    let tas = unit.modes().get().tas;
    let aborted = unit.tasks().abort(|owner, _| match tas && owner != by {
        true => Some(Abort::TaskAborted),
        false => Some(Abort::Silent),
    });
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
    aborted
}

/// Does something to all units at once, then waits for the tasks that it aborted.
async fn on_all<D: BlockDevice>(target: &TargetDevice<D>, act: impl Fn(&LogicalUnit<D>) -> Vec<Sequence>) {
    let units = target.units();
    let aborted: Vec<_> = units.iter().map(|(_, unit)| act(unit)).collect();
    for ((_, unit), aborted) in units.iter().zip(aborted) {
        unit.tasks().gone(aborted).await;
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
