//! Who works on blocks: a command, or a job in the background that its command has left behind.

use super::request::{Request, yield_now};
use super::sense::{Fault, Status};
use crate::device::BlockDevice;
use crate::lun::background::Job;
use crate::lun::unit::LogicalUnit;
use std::future::Future;

/// See the module.
pub trait Effort<D: BlockDevice>: Sync {
    /// The unit whose blocks they are.
    fn unit(&self) -> &LogicalUnit<D>;

    /// Ends the work when it is wanted no longer.
    fn go_on(&self) -> Result<(), Fault>;

    /// Between two steps: lets other futures of the executor run, and ends the work when it is wanted no longer.
    fn pause(&self) -> impl Future<Output = Result<(), Fault>> + Send {
        async {
            yield_now().await;
            self.go_on()
        }
    }
}

impl<D: BlockDevice> Effort<D> for Request<'_, D> {
    fn unit(&self) -> &LogicalUnit<D> {
        self.unit
    }

    fn go_on(&self) -> Result<(), Fault> {
        Request::go_on(self)
    }
}

/// A job on a unit.
pub struct JobEffort<'a, D> {
    /// The unit.
    pub unit: &'a LogicalUnit<D>,
    /// The job.
    pub job: &'a Job,
}

impl<D: BlockDevice> Effort<D> for JobEffort<'_, D> {
    fn unit(&self) -> &LogicalUnit<D> {
        self.unit
    }

    fn go_on(&self) -> Result<(), Fault> {
        match self.job.is_halted() {
            true => Err(Fault::Status(Status::TaskAborted)),
            false => Ok(()),
        }
    }
}
