//! A file on a GlusterFS volume.
//!
//! The bricks may go away and come back: an operation is tried again until a deadline that lies below the initiators' own timers, and
//! then fails as unreachable. Every change holds the lock on its range until GlusterFS has answered, even when its
//! caller has been told to give up long before.

mod open;
mod patience;
mod probe;
mod remote;
mod transfer;
mod volumes;

use volumes::Claim;
pub(super) use volumes::Volumes;
pub(crate) use volumes::connect;

use super::latch::FlushLatch;
use super::range::{chunks, push_extent, widen, within};
use super::range_lock::RangeLock;
use super::space::Taken;
use bytes::Bytes;
use glint_gfapi::{Error, File, Kind};
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry, Space};
use glint_target_core::payload::Payload;
use patience::{Settle, by, classify, patiently};
use remote::RemoteFile;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Most bytes of one command; it is split into operations of [`transfer::MAX_IO`].
const MAX_TRANSFER: u32 = 4 << 20;
/// Most bytes discarded or zeroed by one operation, so that the bricks stay responsive.
const MAX_CLEAR: u64 = 64 << 20;
/// Told to initiators as the physical block, and the unit of read-modify-write where bricks refuse less.
const PHYSICAL_BLOCK: u32 = 4096;

/// The device on a gluster file.
#[derive(Debug)]
pub struct GlusterDevice {
    inner: Patient<File>,
    /// Keeps the client for other files of the volume to share.
    volume: Arc<volumes::Connected>,
    taken: Taken,
}

/// A remote file with deadlines, retries and locks around it.
#[derive(Debug)]
struct Patient<F> {
    shared: Arc<Shared<F>>,
    locks: Arc<RangeLock>,
    deadline: Duration,
}

/// What work that outlives its caller needs.
#[derive(Debug)]
struct Shared<F> {
    file: F,
    size: AtomicU64,
    abilities: Abilities,
    /// What offsets and lengths have to be multiples of: 512 until a brick refuses that.
    unit: AtomicU32,
    zerofill: AtomicBool,
    latch: FlushLatch,
    /// Lets the file go when the last work on it has ended. None in tests.
    _claim: Option<Claim>,
}

/// What was found out when the file was opened.
#[derive(Clone, Copy, Debug)]
struct Abilities {
    read_only: bool,
    discard: bool,
    /// The file is split into shards: FUA takes a flush, there is no allocation map, and it is not cut: GlusterFS 10 empties the last
    /// shard that is to stay where the new size is a multiple of the shards'.
    sharded: bool,
    /// The bricks refuse what comes when another has taken the file, or they have forgotten who has it.
    fenced: bool,
}

/// What discards and what zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clear {
    Discard,
    Zero,
}

impl<F: RemoteFile> Patient<F> {
    fn new(file: F, size: u64, abilities: Abilities, deadline: Duration, claim: Option<Claim>) -> Self {
        let shared = Shared {
            file,
            size: AtomicU64::new(size),
            abilities,
            unit: AtomicU32::new(512),
            zerofill: AtomicBool::new(true),
            latch: FlushLatch::default(),
            _claim: claim,
        };
        Self { shared: Arc::new(shared), locks: Arc::default(), deadline }
    }

    /// Does a change of a range, after those that overlap it.
    async fn change<W>(
        &self,
        offset: u64,
        len: u64,
        change: impl FnOnce(Arc<Shared<F>>, Range<u64>, Instant) -> W,
    ) -> Result<(), DeviceError>
    where
        W: Future<Output = Result<(), DeviceError>> + Send + 'static,
    {
        if self.shared.abilities.read_only {
            return Err(DeviceError::ReadOnly);
        }
        let range = within(offset, len, self.shared.size())?;
        self.shared.latch.check()?;
        if range.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.deadline;
        by(deadline, async {
            let guard = self.locks.lock(widen(&range, PHYSICAL_BLOCK.into())).await;
            let work = change(self.shared.clone(), range, deadline);
            Settle::new(async move {
                let result = work.await;
                drop(guard);
                result
            })
            .await
        })
        .await
    }
}

impl<F: RemoteFile> Shared<F> {
    fn classify(&self, error: &Error) -> DeviceError {
        match error.kind() {
            Kind::OwnershipLost if self.abilities.fenced => DeviceError::OwnershipLost,
            _ => classify(error),
        }
    }

    fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    async fn flush(&self, deadline: Instant) -> Result<(), DeviceError> {
        self.latch.check()?;
        let Err(error) = patiently(deadline, || self.file.fdatasync()).await else { return Ok(()) };
        match self.classify(&error) {
            // Nothing was flushed and nothing lost: the next flush covers the same writes, also through another opening.
            error @ (DeviceError::Unreachable | DeviceError::OwnershipLost) => Err(error),
            _ => {
                tracing::error!(%error, "a flush failed; the unit refuses to go on until it is reopened");
                Err(self.latch.set())
            }
        }
    }

    async fn clear(&self, range: Range<u64>, how: Clear, deadline: Instant) -> Result<(), DeviceError> {
        for piece in chunks(range, MAX_CLEAR) {
            if Instant::now() >= deadline {
                return Err(DeviceError::Unreachable);
            }
            match self.try_clear(&piece, how, deadline).await {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), Kind::Unsupported | Kind::Invalid) => {
                    if how == Clear::Zero {
                        self.zerofill.store(false, Ordering::Relaxed);
                    }
                    self.write_zeros(piece, deadline).await?;
                }
                Err(error) => return Err(self.classify(&error)),
            }
        }
        Ok(())
    }

    async fn try_clear(&self, piece: &Range<u64>, how: Clear, deadline: Instant) -> Result<(), Error> {
        let (offset, len) = (piece.start, piece.end - piece.start);
        let unsupported =
            Error::Os { operation: "zerofill", errno: rustix::io::Errno::OPNOTSUPP.raw_os_error() };
        match how {
            Clear::Discard => patiently(deadline, || self.file.discard(offset, len)).await,
            Clear::Zero if self.zerofill.load(Ordering::Relaxed) => {
                patiently(deadline, || self.file.zerofill(offset, len)).await
            }
            Clear::Zero => Err(unsupported),
        }
    }

    /// From the size that it had to another.
    async fn resize(&self, from: u64, to: u64, deadline: Instant) -> Result<(), DeviceError> {
        let found = patiently(deadline, || self.file.size()).await.map_err(|error| self.classify(&error))?;
        if found > to.max(from) {
            tracing::error!(found, wanted = to, "others have made a file longer; it is left alone");
            return Err(DeviceError::OutOfRange);
        }
        patiently(deadline, || self.file.truncate(to)).await.map_err(|error| self.classify(&error))?;
        self.size.store(to, Ordering::Release);
        Ok(())
    }

    async fn allocation_map(
        &self,
        range: Range<u64>,
        max: usize,
        deadline: Instant,
    ) -> Result<Vec<Extent>, Error> {
        let mut map = Vec::new();
        let mut at = range.start;
        while at < range.end && map.len() < max {
            let end = |found: Option<u64>| found.unwrap_or(range.end).clamp(at, range.end);
            let data = end(patiently(deadline, || self.file.seek_data(at)).await?);
            if data > at {
                push_extent(&mut map, at..data, false);
                at = data;
            } else {
                let hole = end(patiently(deadline, || self.file.seek_hole(at)).await?);
                // A file that changes under us may answer with the same place for both.
                let hole = hole.max((at + 512).min(range.end));
                push_extent(&mut map, at..hole, true);
                at = hole;
            }
        }
        Ok(map)
    }
}

impl<F: RemoteFile> BlockDevice for Patient<F> {
    fn geometry(&self) -> Geometry {
        Geometry { size: self.shared.size(), physical_block: PHYSICAL_BLOCK, optimal_io: 0 }
    }

    fn capabilities(&self) -> Capabilities {
        let abilities = &self.shared.abilities;
        Capabilities {
            read_only: abilities.read_only,
            volatile_cache: true,
            discard: abilities.discard.then_some(Discard { granularity: PHYSICAL_BLOCK }),
            write_zeroes: !abilities.read_only,
            allocation_map: !abilities.sharded,
            max_transfer: MAX_TRANSFER,
            atomic_write: PHYSICAL_BLOCK,
        }
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        let range = within(offset, len as u64, self.shared.size())?;
        self.shared.latch.check()?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let deadline = Instant::now() + self.deadline;
        by(deadline, self.shared.read(range, deadline)).await
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        let len = data.len() as u64;
        let data = data.clone();
        let write = |shared: Arc<Shared<F>>, range, deadline| async move {
            let flush = fua && shared.abilities.sharded;
            shared.write(range, &data, fua && !flush, deadline).await?;
            // On a sharded volume O_DSYNC is lost beyond the first shard.
            if flush { shared.flush(deadline).await } else { Ok(()) }
        };
        self.change(offset, len, write).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        let deadline = Instant::now() + self.deadline;
        let shared = self.shared.clone();
        // It settles, so that a failure is latched also when nobody waits for it any more.
        by(deadline, Settle::new(async move { shared.flush(deadline).await })).await
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        let discard = |shared: Arc<Shared<F>>, range, deadline| async move {
            shared.clear(range, Clear::Discard, deadline).await
        };
        self.change(offset, len, discard).await
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        let zero = |shared: Arc<Shared<F>>, range, deadline| async move {
            shared.clear(range, Clear::Zero, deadline).await
        };
        self.change(offset, len, zero).await
    }

    async fn allocation_map(&self, offset: u64, len: u64, max: usize) -> Result<Vec<Extent>, DeviceError> {
        let range = within(offset, len, self.shared.size())?;
        self.shared.latch.check()?;
        let all = Extent { range: range.clone(), mapped: true };
        if self.shared.abilities.sharded {
            return Ok((!range.is_empty() && max > 0).then_some(all).into_iter().collect());
        }
        let deadline = Instant::now() + self.deadline;
        by(deadline, async {
            self.shared
                .allocation_map(range, max, deadline)
                .await
                .map_err(|error| self.shared.classify(&error))
        })
        .await
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        if self.shared.abilities.read_only {
            return Err(DeviceError::ReadOnly);
        }
        self.shared.latch.check()?;
        let deadline = Instant::now() + self.deadline;
        let shared = self.shared.clone();
        let from = shared.size();
        if size < from && shared.abilities.sharded {
            return Err(DeviceError::Unsupported);
        }
        // What lies beyond a smaller size is given up first, so that no new change begins there, and those under way end before the cut:
        // a later one would make the file longer again.
        shared.size.fetch_min(size, Ordering::AcqRel);
        let locks = self.locks.clone();
        let resize = async move {
            let _held = locks.lock(size..u64::MAX).await;
            let result = shared.resize(from, size, deadline).await;
            if result.is_err() {
                shared.size.store(from, Ordering::Release);
            }
            result
        };
        by(deadline, Settle::new(resize)).await
    }
}

impl GlusterDevice {
    /// What each change holds until it has ended.
    pub(super) fn locks(&self) -> Arc<RangeLock> {
        self.inner.locks.clone()
    }
}

impl BlockDevice for GlusterDevice {
    fn geometry(&self) -> Geometry {
        self.inner.geometry()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        self.inner.read(offset, len).await
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        self.inner.write(offset, data, fua).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.inner.flush().await
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.inner.discard(offset, len).await
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.inner.write_zeroes(offset, len).await
    }

    async fn allocation_map(&self, offset: u64, len: u64, max: usize) -> Result<Vec<Extent>, DeviceError> {
        self.inner.allocation_map(offset, len, max).await
    }

    /// In the bricks' own time: whoever asks does so rarely, and one question at a time.
    async fn space(&self) -> Result<Option<Space>, DeviceError> {
        let changes = self.inner.locks.changes();
        let room = self.volume.room().await?;
        let ask = async {
            let shared = &self.inner.shared;
            shared.file.stat().await.map(|stat| stat.allocated).map_err(|error| shared.classify(&error))
        };
        Ok(Some(room.beside(self.taken.get(changes, ask).await?)))
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        self.inner.resize(size).await
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod owned_tests;
#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;
