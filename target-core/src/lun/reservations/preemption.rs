//! What PREEMPT AND ABORT does beyond PREEMPT (SPC-5 5.14.11.2.6, 6.14).

use crate::device::BlockDevice;
use crate::lun::task_set::{Abort, Sequence};
use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::command::{NexusId, TaskTag};

/// Lets the medium be removed as far as these nexuses prevented it: they may be gone for good without having allowed it again (SPC-5 6.14).
pub fn allow_removal_for<D: BlockDevice>(unit: &LogicalUnit<D>, preempted: &[NexusId]) {
    preempted.iter().for_each(|nexus| unit.medium().prevent(*nexus, false));
}

/// Aborts the tasks of nexuses, all but the one with the tag `own` of the nexus `by`. They end as TAS says (SAM-5 5.6); when those that come
/// back are gone, none of them has any effect on the medium any more.
pub fn abort_tasks_of<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    preempted: &[NexusId],
    by: NexusId,
    own: TaskTag,
) -> Vec<Sequence> {
    let tas = unit.modes().get().tas;
    let mut silenced = Vec::new();
    let aborted = unit.tasks().abort(|owner, tag| {
        let concerned = preempted.contains(&owner) && (owner, tag) != (by, own);
        concerned.then(|| match tas && owner != by {
            true => Abort::TaskAborted,
            false => {
                silenced.push(owner);
                Abort::Silent
            }
        })
    });
    for nexus in silenced.into_iter().filter(|nexus| *nexus != by) {
        unit.attentions().raise_for(nexus, asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
    }
    aborted
}
