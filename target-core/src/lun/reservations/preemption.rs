//! What PREEMPT AND ABORT does beyond PREEMPT (SPC-5 5.14.11.2.6, 6.14).

use crate::device::BlockDevice;
use crate::lun::manage::{Aborting, by_another};
use crate::lun::target::TargetDevice;
use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::command::{NexusId, TaskTag};
use std::sync::Arc;

/// Lets the medium be removed as far as these nexuses prevented it: they may be gone for good without having allowed it again (SPC-5 6.14).
pub fn allow_removal_for<D: BlockDevice>(unit: &LogicalUnit<D>, preempted: &[NexusId]) {
    preempted.iter().for_each(|nexus| unit.medium().prevent(*nexus, false));
}

/// Aborts the tasks of nexuses, all but the one with the tag `own` of the nexus `by`. They end as TAS says (SAM-5 5.6); when what comes back
/// has ended, none of them has any effect on the medium any more.
pub fn abort_tasks_of<D: BlockDevice>(
    target: &TargetDevice<D>,
    at: &(u16, Arc<LogicalUnit<D>>),
    preempted: &[NexusId],
    by: NexusId,
    own: TaskTag,
) -> Aborting {
    let (_, unit) = at;
    let how = by_another(unit, by);
    let choose = |owner, tag| {
        let concerned = preempted.contains(&owner) && (owner, tag) != (by, Some(own));
        concerned.then(|| how(owner))
    };
    let condition = asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR;
    let (aborting, silenced) = Aborting::begin(target, at, choose, by, condition);
    silenced.into_iter().for_each(|nexus| unit.attentions().raise_for(nexus, condition));
    aborting
}
