//! What a command's handler is given, and what it gives back.

use super::command::{Command, Nexus};
use super::extent::Extent;
use super::fields::Fields;
use super::row::Row;
use super::sense::{Fault, Sense, Status};
use crate::device::BlockDevice;
use crate::lun::target::TargetDevice;
use crate::lun::task_set::Task;
use crate::lun::unit::LogicalUnit;
use crate::payload::Payload;
use bytes::Bytes;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// A command on its way, past all gates.
pub struct Request<'a, D: BlockDevice> {
    /// The target through which it came.
    pub target: &'a TargetDevice<D>,
    /// The unit that it addresses.
    pub unit: &'a Arc<LogicalUnit<D>>,
    /// The nexus that sent it.
    pub nexus: &'a Arc<Nexus>,
    /// The command.
    pub command: &'a Command,
    /// Its row of the opcode table.
    pub row: &'static Row<D>,
    /// Its place in the task set.
    pub task: &'a Task<'a>,
}

impl<'a, D: BlockDevice> Request<'a, D> {
    /// The CDB; it is as long as the row says, at least.
    pub fn cdb(&self) -> Fields<'a> {
        Fields(self.command.cdb.as_slice())
    }

    /// The block range of the CDB, unchecked.
    pub fn extent(&self) -> Extent {
        self.row.layout.extent(self.cdb())
    }

    /// Bytes of data-out that the CDB asks for.
    pub fn data_out_wanted(&self) -> u64 {
        self.row.data_out(self.cdb(), &self.command.data_out, self.unit.block_size())
    }

    /// Refuses a transfer that is longer than MAXIMUM TRANSFER LENGTH (SBC-4 6.6.4).
    pub fn check_transfer(&self, extent: Extent) -> Result<(), Sense> {
        if extent.blocks > u64::from(self.unit.max_transfer_blocks()) {
            return Err(Sense::invalid_field_in_cdb(self.row.layout.length_byte(), 7));
        }
        Ok(())
    }

    /// The bytes of the device that a range of blocks takes.
    pub fn bytes(&self, blocks: &Range<u64>) -> Range<u64> {
        let size = u64::from(self.unit.block_size());
        blocks.start * size..blocks.end * size
    }

    /// The parameter list: what the CDB says it is, or PARAMETER LIST LENGTH ERROR where the initiator sent less.
    pub fn parameter_list(&self) -> Result<Bytes, Sense> {
        let wanted = self.data_out_wanted();
        match usize::try_from(wanted) {
            Ok(wanted) if wanted <= self.command.data_out.len() => {
                Ok(self.command.data_out.slice(0, wanted).to_bytes())
            }
            _ => Err(Sense::illegal(super::asc::PARAMETER_LIST_LENGTH_ERROR)),
        }
    }

    /// The logical blocks of data-out, all that the CDB asks for.
    pub fn blocks_out(&self) -> Result<Payload, Sense> {
        match usize::try_from(self.data_out_wanted()) {
            Ok(wanted) if wanted <= self.command.data_out.len() => Ok(self.command.data_out.slice(0, wanted)),
            _ => Err(Sense::illegal(super::asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT)),
        }
    }

    /// The data-out of a command that makes sense with exactly as much as the CDB asks for, or INVALID FIELD IN CDB that points at the
    /// length.
    pub fn exact_data_out(&self) -> Result<&'a Payload, Sense> {
        let data = &self.command.data_out;
        match data.len() as u64 == self.data_out_wanted() {
            true => Ok(data),
            false => Err(Sense::invalid_field_in_cdb(self.row.layout.length_byte(), 7)),
        }
    }

    /// Between two steps of long work: lets other futures of the executor run, and ends the work when the task was aborted.
    pub async fn pause(&self) -> Result<(), Fault> {
        yield_now().await;
        self.go_on()
    }

    /// Waits for the end of something that the command has begun, or for that of the command itself.
    pub async fn wait_for(&self, end: impl Future<Output = ()>) -> Result<(), Fault> {
        let (mut end, mut aborted) = (pin!(end), pin!(self.task.aborted()));
        poll_fn(|context| match end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => aborted.as_mut().poll(context),
        })
        .await;
        self.go_on()
    }

    /// Ends the work when the task was aborted.
    pub fn go_on(&self) -> Result<(), Fault> {
        match self.task.is_aborted() {
            // What it ends with is never seen: the abort decides about the response.
            true => Err(Fault::Status(Status::TaskAborted)),
            false => Ok(()),
        }
    }
}

/// Pending once, woken at once.
pub(super) async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return std::task::Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// The good end of a command.
#[derive(Debug, Default)]
pub struct Reply {
    /// Data-in, not yet cut to the allocation length.
    pub data_in: Payload,
    /// Bytes beyond it that were not fetched, as the initiator has no room for them.
    pub beyond: u64,
}

impl Reply {
    /// Nothing but GOOD.
    pub fn good() -> Self {
        Self::default()
    }

    /// With data.
    pub fn data(data_in: impl Into<Payload>) -> Self {
        Self { data_in: data_in.into(), beyond: 0 }
    }

    /// Parameter data, cut to the allocation length and to the room that the initiator has. What is left of a longer list is copied: it
    /// may wait long to be sent, and would keep all of the list in memory.
    #[must_use]
    pub fn cut(self, allocation_length: u64, room: u32) -> Self {
        let whole = self.data_in.len() as u64;
        let told = whole.min(allocation_length);
        let sent = told.min(u64::from(room));
        if sent == whole {
            return self;
        }
        let data_in = Bytes::copy_from_slice(&self.data_in.slice(0, sent as usize).to_bytes());
        Self { data_in: data_in.into(), beyond: self.beyond + told - sent }
    }
}
