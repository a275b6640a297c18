//! Reads and writes through the ring of the thread that asks for them.
//!
//! Only what is usual is done here: whatever comes back cut short or refused is done once more by a thread, which knows what to make of it.
//! Both may be repeated: a write holds its lock until the second is over.

use super::super::errno::classify;
use super::super::range::widen;
use super::super::range_lock::RangeGuard;
use super::super::ring::{self, Transfer, What};
use super::{Shared, sys};
use bytes::Bytes;
use glint_target_core::device::DeviceError;
use glint_target_core::payload::Payload;
use rustix::io::Errno;
use std::ops::Range;
use tokio::sync::oneshot::error::RecvError;

/// What says nothing of the medium: the kernel would not do it this way, or not now.
const NO_VERDICT: [Errno; 6] =
    [Errno::INTR, Errno::AGAIN, Errno::CANCELED, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOSYS];

/// The answer is dropped when patience has run out.
fn too_late(_: RecvError) -> DeviceError {
    DeviceError::Unreachable
}

impl Shared {
    /// Reads; `None` when a thread has to.
    pub(super) async fn read_by_ring(&self, range: &Range<u64>) -> Result<Option<Bytes>, DeviceError> {
        self.latch.check()?;
        let wide = widen(range, self.unit());
        let buffer = self.buffers.take((wide.end - wide.start) as usize);
        let transfer = Transfer {
            file: self.file.clone(),
            offset: wide.start,
            what: What::Read(buffer),
            lock: None,
            patience: self.patience,
        };
        let Ok(done) = ring::begin(transfer) else { return Ok(None) };
        let done = done.await.map_err(too_late)?;
        let skip = (range.start - wide.start) as usize;
        let end = skip + (range.end - range.start) as usize;
        match (done.result, done.transfer.what) {
            (Ok(read), What::Read(buffer)) if read >= end => {
                Ok(Some(Bytes::from_owner(buffer).slice(skip..end)))
            }
            (Err(errno), _) if !NO_VERDICT.contains(&errno) => Err(classify(errno)),
            _ => Ok(None),
        }
    }

    /// Writes what suits the device's unit. Gives the lock back when a thread has to.
    pub(super) async fn write_by_ring(
        &self,
        range: &Range<u64>,
        data: &Payload,
        durable: bool,
        lock: RangeGuard,
    ) -> Result<Option<RangeGuard>, DeviceError> {
        self.latch.check()?;
        let data = match self.direct {
            // Its failure would be as final as a flush's, also when nobody waits for it any more.
            None if durable => return Ok(Some(lock)),
            None => data.clone(),
            Some(_) if widen(range, self.unit()) != *range => return Ok(Some(lock)),
            Some(direct) if sys::is_aligned(data, direct) => data.clone(),
            Some(_) => Bytes::from_owner(sys::gather(data, &self.buffers)).into(),
        };
        let len = data.len();
        let what = What::Write { data, durable };
        let transfer = Transfer {
            file: self.file.clone(),
            offset: range.start,
            what,
            lock: Some(lock),
            patience: self.patience,
        };
        let done = match ring::begin(transfer) {
            Ok(done) => done.await.map_err(too_late)?,
            Err(lock) => return Ok(lock),
        };
        match done.result {
            Ok(written) if written == len => Ok(None),
            Err(errno) if !NO_VERDICT.contains(&errno) => Err(classify(errno)),
            _ => Ok(done.transfer.lock),
        }
    }
}
