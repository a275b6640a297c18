//! A local file or block device, by direct I/O where the file system has it.
//!
//! Reads and writes go through the ring of the thread that serves the command, if it has one (`transfer.rs`). All other system calls block,
//! so they run on threads of their own, and so do reads and writes without a ring, those that have to read what lies around them first, and
//! whatever a ring has not done in full. Every change holds the lock on its range until the system call is over, even when its caller has
//! gone.

mod create;
mod disks;
mod sys;
mod transfer;

use super::buffers::BufferPool;
use super::errno::{classify, is_unsupported};
use super::latch::FlushLatch;
use super::open::{BackendContext, OpenError, OpenOptions};
use super::range::{MAX_ZEROS, chunks, push_extent, widen, within, zeros};
use super::range_lock::{RangeGuard, RangeLock};
use super::space::{StoreRoom, Taken};
use super::threads::Share;
use bytes::Bytes;
pub(super) use disks::Disks;
use futures_util::poll;
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry, Space};
use glint_target_core::payload::Payload;
use rustix::io::Errno;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use sys::{DirectIo, Kind};
use tokio::time::timeout;

/// Bytes of zeros written at a time where the file system cannot make them.
const ZERO_PIECE: u64 = 1 << 20;

/// The device on a file.
#[derive(Debug)]
pub struct FileDevice {
    shared: Arc<Shared>,
    threads: Share,
    /// Of its file system.
    store_room: Arc<StoreRoom>,
    taken: Taken,
    locks: Arc<RangeLock>,
    /// Whether rings are used.
    rings: bool,
}

/// What the threads need of it.
#[derive(Debug)]
struct Shared {
    file: Arc<File>,
    kind: Kind,
    direct: Option<DirectIo>,
    size: AtomicU64,
    capabilities: Capabilities,
    latch: FlushLatch,
    buffers: Arc<BufferPool>,
    /// How long one system call, or the lock for it, is waited for.
    patience: Duration,
}

impl FileDevice {
    pub(super) async fn open(
        path: &Path,
        how: &OpenOptions,
        context: &BackendContext,
    ) -> Result<Self, OpenError> {
        let device = format!("file:{}", path.display());
        let opening = {
            let (path, how, context) = (path.to_owned(), how.clone(), context.clone());
            move || create::open(&path, &how, &context)
        };
        let opened = context.openers.run(opening).await;
        let (shared, place) = opened.map_err(|error| OpenError::Io {
            device,
            doing: "open it",
            source: std::io::Error::other(error),
        })??;
        Ok(Self {
            shared: Arc::new(shared),
            threads: Share::of(place.threads),
            store_room: place.room,
            taken: Taken::default(),
            locks: Arc::default(),
            rings: context.rings,
        })
    }

    /// What each change holds until it has ended.
    pub(super) fn locks(&self) -> Arc<RangeLock> {
        self.locks.clone()
    }

    /// The range of a change, locked after those that overlap it; `None` for an empty one.
    async fn hold(&self, offset: u64, len: u64) -> Result<Option<(Range<u64>, RangeGuard)>, DeviceError> {
        if self.shared.capabilities.read_only {
            return Err(DeviceError::ReadOnly);
        }
        let range = within(offset, len, self.shared.size())?;
        if range.is_empty() {
            return Ok(None);
        }
        let guard = self.lock(widen(&range, self.shared.unit())).await?;
        Ok(Some((range, guard)))
    }

    async fn lock(&self, range: Range<u64>) -> Result<RangeGuard, DeviceError> {
        let mut lock = pin!(self.locks.lock(range));
        match poll!(&mut lock) {
            Poll::Ready(guard) => Ok(guard),
            Poll::Pending => timeout(self.shared.patience, lock).await.map_err(|_| DeviceError::Unreachable),
        }
    }

    /// Runs a job on a thread. It goes on when it takes longer than it is waited for.
    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, DeviceError> + Send + 'static,
    ) -> Result<T, DeviceError> {
        let patience = self.shared.patience;
        timeout(patience, self.threads.run(job)).await.map_err(|_| DeviceError::Unreachable)??
    }

    /// Puts a question however long it takes: given up and put again, it would take thread after thread of a disk that hangs.
    async fn ask<T: Send + 'static>(
        &self,
        question: fn(&File) -> Result<T, Errno>,
    ) -> Result<T, DeviceError> {
        let file = self.shared.file.clone();
        self.threads.run(move || question(&file).map_err(classify)).await?
    }

    /// Runs a change on a thread, which holds its lock.
    async fn change(
        &self,
        guard: RangeGuard,
        change: impl FnOnce(&Shared) -> Result<(), DeviceError> + Send + 'static,
    ) -> Result<(), DeviceError> {
        let shared = self.shared.clone();
        let job = move || {
            let _held = guard;
            shared.latch.check()?;
            change(&shared)
        };
        self.run(job).await
    }

    async fn zero(
        &self,
        offset: u64,
        len: u64,
        call: fn(&File, u64, u64) -> Result<(), Errno>,
    ) -> Result<(), DeviceError> {
        let Some((range, guard)) = self.hold(offset, len).await? else { return Ok(()) };
        self.change(guard, move |shared| shared.make_zeros(range, call)).await
    }
}

impl Shared {
    fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// What offsets and lengths of system calls have to be multiples of.
    fn unit(&self) -> u64 {
        self.direct.map_or(1, |direct| direct.offset.into())
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, DeviceError> {
        self.latch.check()?;
        let wide = widen(&range, self.unit());
        let skip = (range.start - wide.start) as usize;
        let len = (range.end - range.start) as usize;
        let mut buffer = self.buffers.take((wide.end - wide.start) as usize);
        let mut read = sys::read_full(&self.file, wide.start, buffer.as_mut()).map_err(classify)?;
        if read < skip + len {
            // Somebody cut the file, and may be making it longer again: look twice.
            self.tell_if_cut()?;
            read = sys::read_full(&self.file, wide.start, buffer.as_mut()).map_err(classify)?;
        }
        if read < skip + len {
            // It has shrunk since the range was checked.
            return Err(if range.end > self.size() { DeviceError::OutOfRange } else { DeviceError::Medium });
        }
        Ok(Bytes::from_owner(buffer).slice(skip..skip + len))
    }

    fn tell_if_cut(&self) -> Result<(), DeviceError> {
        let size = sys::size(&self.file).map_err(classify)?;
        if size < self.size() {
            tracing::error!(expected = self.size(), found = size, "a file was cut short while it was served");
        }
        Ok(())
    }

    /// Writes at any offset that suits the logical block; reads what lies around it where the device's unit is larger.
    fn write(&self, range: Range<u64>, data: &Payload, durable: bool) -> Result<(), DeviceError> {
        let result = match self.direct {
            None => sys::write_all(&self.file, range.start, data, durable),
            Some(direct) => {
                let wide = widen(&range, direct.offset.into());
                if wide != range {
                    self.merge(wide, range.start, data, durable)
                } else if sys::is_aligned(data, direct) {
                    sys::write_all(&self.file, range.start, data, durable)
                } else {
                    let gathered = Bytes::from_owner(sys::gather(data, &self.buffers));
                    sys::write_all(&self.file, range.start, &gathered.into(), durable)
                }
            }
        };
        result.map_err(|errno| match classify(errno) {
            // Through the page cache a durable write is a write and a flush; its failure is as final as a flush's.
            DeviceError::Medium if durable && self.direct.is_none() => self.latch.set(),
            error => error,
        })
    }

    fn merge(&self, wide: Range<u64>, at: u64, data: &Payload, durable: bool) -> Result<(), Errno> {
        let mut buffer = self.buffers.take((wide.end - wide.start) as usize);
        let read = sys::read_full(&self.file, wide.start, buffer.as_mut())?;
        if read < buffer.as_ref().len() {
            return Err(Errno::IO);
        }
        if let Some(part) = buffer.as_mut().get_mut((at - wide.start) as usize..) {
            data.copy_to_slice(part);
        }
        sys::write_all(&self.file, wide.start, &Bytes::from_owner(buffer).into(), durable)
    }

    fn write_zeros(&self, range: Range<u64>) -> Result<(), DeviceError> {
        for piece in chunks(range, ZERO_PIECE) {
            let data = zeros((piece.end - piece.start) as usize);
            self.write(piece, &data.into(), false)?;
        }
        Ok(())
    }

    /// Makes zeros by `call`, or by writing them where the file system has no such call.
    fn make_zeros(
        &self,
        range: Range<u64>,
        call: fn(&File, u64, u64) -> Result<(), Errno>,
    ) -> Result<(), DeviceError> {
        match call(&self.file, range.start, range.end - range.start) {
            Err(errno) if is_unsupported(errno) => self.write_zeros(range),
            result => result.map_err(classify),
        }
    }

    fn allocation_map(&self, range: Range<u64>, max: usize) -> Result<Vec<Extent>, DeviceError> {
        let mut map = Vec::new();
        if self.kind == Kind::BlockDevice {
            push_extent(&mut map, range, true);
            return Ok(map);
        }
        let mut at = range.start;
        while at < range.end && map.len() < max {
            let end = |found: Option<u64>| found.unwrap_or(range.end).clamp(at, range.end);
            let data = end(sys::seek_extent(&self.file, at, true).map_err(classify)?);
            if data > at {
                push_extent(&mut map, at..data, false);
                at = data;
            } else {
                let hole = end(sys::seek_extent(&self.file, at, false).map_err(classify)?);
                // A file that changes under us may answer with the same place for both.
                let hole = hole.max((at + self.unit()).min(range.end));
                push_extent(&mut map, at..hole, true);
                at = hole;
            }
        }
        Ok(map)
    }

    fn check_resize(&self, size: u64) -> Result<(), DeviceError> {
        self.latch.check()?;
        if self.kind == Kind::BlockDevice || !size.is_multiple_of(self.unit()) {
            return Err(DeviceError::Unsupported);
        }
        Ok(())
    }

    /// From the size that it had to another.
    fn resize(&self, from: u64, to: u64) -> Result<(), DeviceError> {
        let found = sys::size(&self.file).map_err(classify)?;
        if found > to.max(from) {
            tracing::error!(found, wanted = to, "others have made a file longer; it is left alone");
            return Err(DeviceError::OutOfRange);
        }
        sys::truncate(&self.file, to).map_err(classify)?;
        self.size.store(to, Ordering::Release);
        Ok(())
    }
}

/// What a device gives up before it is cut, and has again if that comes to nothing.
struct GivenUp {
    shared: Arc<Shared>,
    /// The size that it had, and the one that it has meanwhile.
    from: u64,
    meanwhile: u64,
}

impl GivenUp {
    fn beyond(size: u64, shared: &Arc<Shared>) -> Self {
        let from = shared.size.fetch_min(size, Ordering::AcqRel);
        Self { shared: shared.clone(), from, meanwhile: from.min(size) }
    }

    fn resize(mut self, to: u64) -> Result<(), DeviceError> {
        self.shared.resize(self.from, to)?;
        self.meanwhile = self.from; // There is nothing to take back.
        Ok(())
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        // Where another size is found, there was another change of it.
        let _ =
            self.shared.size.compare_exchange(self.meanwhile, self.from, Ordering::AcqRel, Ordering::Acquire);
    }
}

impl BlockDevice for FileDevice {
    fn geometry(&self) -> Geometry {
        Geometry {
            size: self.shared.size(),
            // File systems allocate by 4 KiB, and so do most disks beneath.
            physical_block: 4096,
            optimal_io: 0,
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        let range = within(offset, len as u64, self.shared.size())?;
        if len == 0 {
            return Ok(Bytes::new());
        }
        if self.rings
            && let Some(bytes) = self.shared.read_by_ring(&range).await?
        {
            return Ok(bytes);
        }
        let shared = self.shared.clone();
        self.run(move || shared.read(range)).await
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        let Some((range, mut guard)) = self.hold(offset, data.len() as u64).await? else { return Ok(()) };
        if self.rings {
            match self.shared.write_by_ring(&range, data, fua, guard).await? {
                None => return Ok(()),
                Some(undone) => guard = undone,
            }
        }
        let data = data.clone();
        self.change(guard, move |shared| shared.write(range, &data, fua)).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        let shared = self.shared.clone();
        let flush = move || {
            shared.latch.check()?;
            sys::sync_data(&shared.file).map_err(|errno| {
                tracing::error!(%errno, "a flush failed; the unit refuses to go on until it is reopened");
                shared.latch.set()
            })
        };
        self.run(flush).await
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.zero(offset, len, sys::punch_hole).await
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.zero(offset, len, sys::zero_range).await
    }

    async fn allocation_map(&self, offset: u64, len: u64, max: usize) -> Result<Vec<Extent>, DeviceError> {
        let range = within(offset, len, self.shared.size())?;
        let shared = self.shared.clone();
        self.run(move || shared.allocation_map(range, max)).await
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        if self.shared.capabilities.read_only {
            return Err(DeviceError::ReadOnly);
        }
        self.shared.check_resize(size)?;
        // What lies beyond a smaller size is given up first, so that no new change begins there, and those under way end before the cut:
        // a later one would make the file longer again.
        let given_up = GivenUp::beyond(size, &self.shared);
        let guard = self.lock(size..u64::MAX).await?;
        let resize = move || {
            let _held = guard;
            given_up.resize(size)
        };
        self.run(resize).await
    }

    async fn space(&self) -> Result<Option<Space>, DeviceError> {
        if self.shared.kind == Kind::BlockDevice {
            // It may be thin itself, and does not tell.
            return Ok(None);
        }
        let changes = self.locks.changes();
        let room = self.store_room.get(self.ask(sys::room)).await?;
        let used = self.taken.get(changes, self.ask(sys::taken)).await?;
        Ok(Some(room.beside(used)))
    }
}

#[cfg(test)]
mod tests;
