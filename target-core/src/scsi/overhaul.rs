//! Work on all of the medium, by FORMAT UNIT and SANITIZE: begun by a command, carried on in the background whatever becomes of the command,
//! and remembered, so that a restart in its midst is not the end of it.

use super::command::Cdb;
use super::device_fault::on_write;
use super::effort::{Effort, JobEffort};
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense, SenseKey, Status};
use super::{asc, blocks, sanitize};
use crate::device::BlockDevice;
use crate::lun::background::Job;
use crate::lun::condition::State;
use crate::lun::memory::{Document, MemoryError, replace};
use crate::lun::unit::LogicalUnit;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// Bytes between two updates of the progress.
const STEP: u64 = 64 << 20;

/// What happens to the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// They are given back, or made zeros where the device cannot give back.
    Erase,
    /// They are all written with this block.
    Write(Bytes),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overhaul {
    /// [`State::Formatting`] or [`State::Sanitizing`].
    pub state: State,
    /// A sanitizing that fails can be ended by another one only.
    pub restricted: bool,
    /// One after the other.
    pub passes: Vec<Pass>,
}

/// Begins the work of a command that has claimed everything. With `immed` it ends then, otherwise with the work. `parameters` is what the
/// command came with.
pub async fn begin<D: BlockDevice>(
    request: &Request<'_, D>,
    parameters: &[u8],
    overhaul: Overhaul,
    immed: bool,
) -> Result<Reply, Fault> {
    let unit = request.unit;
    let state = overhaul.state;
    let record = record(state, &request.command.cdb, parameters);
    announce(unit, record.clone(), state.failed(overhaul.restricted)).await?;
    let outcome = Arc::new(OnceLock::new());
    let work = |job: Arc<Job>| {
        // Before anything else is let in.
        unit.condition().begin(state, Arc::clone(&job));
        carry_out(Arc::clone(unit), job, overhaul.clone(), record.clone(), Arc::clone(&outcome))
    };
    let job = match unit.background().start(work) {
        Some(job) => job,
        None => {
            let enlisted = unit.background().within_command();
            let work = work(Arc::clone(enlisted.job()));
            request.task.relinquish();
            work.await;
            Arc::clone(enlisted.job())
        }
    };
    // Others are told of the work now, instead of having to wait for it.
    request.task.relinquish();
    if immed {
        return Ok(Reply::good());
    }
    request.wait_for(unit.background().job_ended(&job)).await?;
    match outcome.get() {
        Some(Ok(())) => Ok(Reply::good()),
        Some(Err(_)) | None => Err(failure(state).into()),
    }
}

/// What a command ends with whose work has failed.
fn failure(state: State) -> Sense {
    let code = match state {
        State::Sanitizing => asc::SANITIZE_COMMAND_FAILED,
        _ => asc::FORMAT_COMMAND_FAILED,
    };
    Sense::new(SenseKey::MediumError, code)
}

/// Does the work. If this is dropped unfinished, the medium counts as failed.
fn carry_out<D: BlockDevice>(
    unit: Arc<LogicalUnit<D>>,
    job: Arc<Job>,
    overhaul: Overhaul,
    record: Bytes,
    outcome: Arc<OnceLock<Result<(), Fault>>>,
) -> impl Future<Output = ()> + Send + 'static {
    let failed = overhaul.state.failed(overhaul.restricted);
    // Made here and not in the future, which may be dropped before its first poll.
    let leaving = Leaving { unit, behind: failed };
    async move {
        let mut leaving = leaving; // all of it
        let unit = &*leaving.unit;
        let mut result = work(&JobEffort { unit, job: &job }, &job, &overhaul.passes).await;
        // Work that was asked to stop goes on after the next start; nothing changes about what is remembered.
        if !job.is_halted() {
            let remembered = match result {
                Ok(()) => remember(unit, Bytes::new()).await,
                Err(_) => remember(unit, with_state(&record, failed)).await,
            };
            result = result.and(remembered);
        }
        if result.is_ok() {
            leaving.behind = State::Usable;
        }
        let _ = outcome.set(result); // nobody else sets it
    }
}

/// Puts the medium into the state that work leaves behind.
struct Leaving<D: BlockDevice> {
    unit: Arc<LogicalUnit<D>>,
    behind: State,
}

impl<D: BlockDevice> Drop for Leaving<D> {
    fn drop(&mut self) {
        self.unit.condition().end(self.behind);
    }
}

async fn work<D: BlockDevice>(effort: &impl Effort<D>, job: &Job, passes: &[Pass]) -> Result<(), Fault> {
    let unit = effort.unit();
    let end = unit.capacity() * u64::from(unit.block_size());
    job.expect(end * passes.len() as u64);
    for pass in passes {
        for step in blocks::steps(0..end, STEP) {
            effort.pause().await?;
            let done = step.end - step.start;
            // The unit may have shrunk since.
            let end = unit.capacity() * u64::from(unit.block_size());
            let step = step.start.min(end)..step.end.min(end);
            if step.is_empty() {
                job.advance(done);
                continue;
            }
            match pass {
                Pass::Erase if unit.device().capabilities().discard.is_some() => {
                    blocks::discard(effort, step).await?;
                }
                Pass::Erase => blocks::zero(effort, step).await?,
                Pass::Write(block) => blocks::write_repeated(effort, step, block).await?,
            }
            job.advance(done);
        }
        unit.device().flush().await.map_err(on_write)?;
    }
    Ok(())
}

/// What is remembered: the state, the length of the CDB, the CDB and the parameter list.
fn record(state: State, cdb: &Cdb, parameters: &[u8]) -> Bytes {
    let cdb = cdb.as_slice();
    let cdb = cdb.get(..cdb.len().min(16)).unwrap_or(&[]);
    [&[VERSION, state as u8, cdb.len() as u8], cdb, parameters].concat().into()
}

/// First byte of a record.
const VERSION: u8 = 1;

fn with_state(record: &Bytes, state: State) -> Bytes {
    let mut record = record.to_vec();
    if let Some(place) = record.get_mut(1) {
        *place = state as u8;
    }
    record.into()
}

/// The state, the CDB and the parameter list of a record.
fn parse(record: &[u8]) -> Option<(State, &[u8], &[u8])> {
    let [VERSION, state, length, rest @ ..] = record else { return None };
    let (cdb, parameters) = rest.split_at_checked(usize::from(*length))?;
    Some((State::from_number(*state)?, cdb, parameters))
}

/// Remembers what is about to begin. Where that fails, all is as it was before; unless it cannot be told which of the two the next start
/// will find: then the medium counts as failed, for that start may well erase what is written until then.
async fn announce<D: BlockDevice>(unit: &LogicalUnit<D>, record: Bytes, failed: State) -> Result<(), Fault> {
    let Some(memory) = unit.memory() else { return Ok(()) };
    let before = recalled(unit).await.map_err(not_remembered)?;
    // Also when this is dropped half-way.
    let mut doubt = Doubt { unit, behind: Some(failed) };
    let kept = replace(&**memory, Document::MediumCondition, record, || before).await;
    if !kept.as_ref().is_err_and(|failure| failure.in_doubt) {
        doubt.behind = None;
    }
    kept.map_err(|failure| not_remembered(failure.error))
}

/// Puts the medium into a state, if any, when nobody knows what is remembered.
struct Doubt<'a, D: BlockDevice> {
    unit: &'a LogicalUnit<D>,
    behind: Option<State>,
}

impl<D: BlockDevice> Drop for Doubt<'_, D> {
    fn drop(&mut self) {
        if let Some(state) = self.behind {
            self.unit.condition().end(state);
        }
    }
}

fn not_remembered(_: MemoryError) -> Fault {
    Sense::new(SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE).into()
}

async fn remember<D: BlockDevice>(unit: &LogicalUnit<D>, record: Bytes) -> Result<(), Fault> {
    match unit.memory() {
        Some(memory) => memory.keep(Document::MediumCondition, record).await.map_err(not_remembered),
        None => Ok(()),
    }
}

/// What is remembered; empty where that is nothing.
async fn recalled<D: BlockDevice>(unit: &LogicalUnit<D>) -> Result<Bytes, MemoryError> {
    match unit.memory() {
        Some(memory) => Ok(memory.recall(Document::MediumCondition).await?.unwrap_or_default()),
        None => Ok(Bytes::new()),
    }
}

/// Ends a failure: the medium can be used, whatever is on it.
pub async fn forget<D: BlockDevice>(unit: &LogicalUnit<D>) -> Result<(), Fault> {
    remember(unit, Bytes::new()).await?;
    unit.condition().end(State::Usable);
    Ok(())
}

/// Takes up what a unit remembers, before it is served.
pub async fn recall<D: BlockDevice>(unit: &Arc<LogicalUnit<D>>) -> Result<(), MemoryError> {
    let record = recalled(unit).await?;
    if !record.is_empty() {
        resume(unit, &record);
    }
    Ok(())
}

/// Sanitizing goes on (SBC-4 4.11.2), from its beginning; a medium whose formatting was interrupted has to be formatted again; a failure
/// stays one. What cannot be understood counts as a failed sanitizing, for nothing of the medium may be told then.
fn resume<D: BlockDevice>(unit: &Arc<LogicalUnit<D>>, record: &[u8]) {
    let overhaul = match parse(record) {
        Some((State::Sanitizing, cdb, parameters)) => {
            sanitize::plan(Fields(cdb), parameters, unit.block_size())
        }
        Some((State::Formatting | State::FormatCorrupt, ..)) => {
            return unit.condition().end(State::FormatCorrupt);
        }
        Some((state, ..)) => return unit.condition().end(state),
        None => Err(Fault::Status(Status::Busy)),
    };
    let Ok(overhaul) = overhaul else {
        return unit.condition().end(State::SanitizeFailed);
    };
    let failed = overhaul.state.failed(overhaul.restricted);
    let record = Bytes::copy_from_slice(record);
    let started = unit.background().start(|job| {
        unit.condition().begin(overhaul.state, Arc::clone(&job));
        carry_out(Arc::clone(unit), job, overhaul, record, Arc::default())
    });
    if started.is_none() {
        unit.condition().end(failed);
    }
}
