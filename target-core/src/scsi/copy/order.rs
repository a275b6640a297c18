//! The course of a copy operation (SPC-5 5.17.4.3): begun by a command, done within it or after it, and what is told of its end.

use crate::device::BlockDevice;
use crate::lun::background::Job;
use crate::lun::claim::Claim;
use crate::lun::copy::operations::{Beginning, End, Ending, Operation, Refusal, Running, Usage};
use crate::lun::copy::tokens::RodToken;
use crate::lun::copy::{CopyManager, Reached};
use crate::lun::task_set::Task;
use crate::scsi::asc;
use crate::scsi::fields::Fields;
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::BoxFuture;
use crate::scsi::sense::{Fault, Sense, SenseKey, Status};
use std::sync::Arc;

/// On whose behalf something is copied, and whether it is still wanted.
pub struct Order<'a, D> {
    /// The copy manager.
    pub manager: &'a CopyManager<D>,
    /// The unit that the command was sent to, and the nexus that sent it.
    pub own: &'a Reached<D>,
    /// What is told of it.
    pub operation: &'a Operation,
    /// The command, or what stands for it in the task set of its unit when it has ended.
    task: &'a Task<'a>,
    /// The job, where it is done after the command.
    job: Option<&'a Job>,
}

impl<D> Order<'_, D> {
    /// Ends the work when it is wanted no longer.
    pub fn go_on(&self) -> Result<(), Fault> {
        if self.task.is_aborted() || self.job.is_some_and(Job::is_halted) {
            // What a command ends with that is aborted is never seen.
            return Err(Fault::Status(Status::TaskAborted));
        }
        if self.operation.is_halted() {
            // SPC-5 5.17.4.7.
            return Err(Sense::new(SenseKey::CopyAborted, asc::COMMANDS_CLEARED_BY_DEVICE_SERVER).into());
        }
        Ok(())
    }
}

/// The good end of an operation.
pub struct Achieved {
    /// How good.
    pub ending: Ending,
    /// The token that it made.
    pub token: Option<RodToken>,
}

impl Achieved {
    /// All that was asked for.
    pub const ALL: Self = Self { ending: Ending::Complete, token: None };
}

/// What an operation does.
pub trait Work<D: BlockDevice>: Send + Sync + 'static {
    /// Does it.
    fn work<'a>(&'a self, order: &'a Order<'a, D>) -> BoxFuture<'a, Result<Achieved, Fault>>;
}

/// How an operation is named and when its command ends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Identity {
    pub list_id: u32,
    pub usage: Usage,
    pub immed: bool,
}

/// Runs an operation that POPULATE TOKEN or WRITE USING TOKEN describes in its parameter list; `parse` is given that list, the capacity of
/// the unit in blocks and their size.
pub fn launch_with_list<'a, D: BlockDevice, W: Work<D>>(
    request: &'a Request<'a, D>,
    parse: impl Fn(&[u8], u64, u32) -> Result<W, Sense> + Send + 'a,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let list = request.parameter_list()?;
        if list.is_empty() {
            return Ok(Reply::good());
        }
        let plan = parse(&list, request.unit.capacity(), request.unit.block_size())?;
        let (list_id, immed) = (request.cdb().u32(6), Fields(&list).bit(2, 0));
        launch(request, Identity { list_id, usage: Usage::Hold, immed }, plan).await
    })
}

/// Runs an operation: within the command, or with IMMED after it. Where nothing can run in the background, the command ends late.
pub async fn launch<D: BlockDevice>(
    request: &Request<'_, D>,
    identity: Identity,
    work: impl Work<D>,
) -> Result<Reply, Fault> {
    let own = Reached { unit: Arc::clone(request.unit), nexus: Arc::clone(request.nexus) };
    let running = request.unit.operations().begin(Beginning {
        nexus: own.nexus.id,
        service_action: request.cdb().u8(1) & 0x1f,
        in_background: identity.immed,
        list_id: identity.list_id,
        usage: identity.usage,
    });
    let running = running.map_err(|refusal| match refusal {
        Refusal::InUse => Sense::illegal(asc::OPERATION_IN_PROGRESS),
        Refusal::TooMany => Sense::illegal(asc::INSUFFICIENT_RESOURCES),
    })?;
    let mut kit = Some((running, work));
    if identity.immed {
        let manager = Arc::clone(request.target.copies());
        let begun = request.unit.background().start(|job| {
            let kit = kit.take();
            let own = own.clone();
            async move {
                if let Some((running, work)) = kit {
                    // Whatever is aborted together with tasks of the nexus is aborted with this.
                    let task = own.unit.tasks().enter_step(own.nexus.id, Claim::None);
                    let job = Some(&*job);
                    let order = Order { manager: &manager, own: &own, operation: &running, task: &task, job };
                    let result = work.work(&order).await;
                    finish(running, &result);
                }
            }
        });
        if begun.is_some() {
            return Ok(Reply::good());
        }
    }
    let Some((running, work)) = kit else { return Ok(Reply::good()) };
    let manager = request.target.copies();
    let order = Order { manager, own: &own, operation: &running, task: request.task, job: None };
    let result = work.work(&order).await;
    finish(running, &result);
    result.map(|_| Reply::good())
}

/// Writes down how it ended. What was aborted has ended from outside, which is how a dropped operation counts.
fn finish(running: Running, result: &Result<Achieved, Fault>) {
    let (ending, status, sense, token) = match result {
        Ok(Achieved { ending, token }) => (*ending, Status::Good, None, token.clone()),
        Err(Fault::Status(Status::TaskAborted)) => return,
        Err(Fault::Check(_)) if running.is_halted() => return,
        Err(Fault::Check(sense)) => (Ending::Failed, Status::CheckCondition, Some(*sense), None),
        Err(Fault::Status(status)) => (Ending::Failed, *status, None, None),
    };
    running.finish(End { ending, status, sense, token });
}
