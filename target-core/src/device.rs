//! What a backend is: a linear run of bytes with some abilities. There is no SCSI in it.

use crate::payload::Payload;
use bytes::Bytes;
use std::future::Future;
use std::ops::Range;

/// The size of a device and how it wants to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes that may be addressed.
    pub size: u64,
    /// Smallest unit in bytes that the device writes without reading first (a power of two); told to initiators as the
    /// physical block size.
    pub physical_block: u32,
    /// Unit in bytes at which I/O is best aligned and sized (a power of two); 0 when the device has no preference.
    pub optimal_io: u32,
}

/// What a device can do. VPD pages, mode pages and supported operation codes derive from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Nothing may be written.
    pub read_only: bool,
    /// Written data may sit in a volatile cache until [`BlockDevice::flush`].
    pub volatile_cache: bool,
    /// Ranges can be given back; they read as zeros afterwards.
    pub discard: Option<Discard>,
    /// [`BlockDevice::write_zeroes`] is cheaper than writing zeros.
    pub write_zeroes: bool,
    /// [`BlockDevice::allocation_map`] tells the truth (otherwise all is told as mapped).
    pub allocation_map: bool,
    /// Most bytes that one read or write may carry.
    pub max_transfer: u32,
    /// Most bytes of one write (a power of two, and aligned to as many) that a crash of whatever is below leaves written as a whole or not
    /// at all; more than `max_transfer` where nothing outlives a crash anyway, or all of a write does.
    pub atomic_write: u32,
}

/// How ranges are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discard {
    /// Unit in bytes in which space really becomes free (a power of two).
    pub granularity: u32,
}

/// The store that a device takes its space from, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Size of the store.
    pub total: u64,
    /// What can still be taken.
    pub free: u64,
    /// What the device itself has taken.
    pub used: u64,
    /// Whether others take from it too.
    pub shared: bool,
}

/// One run of the allocation map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of the device, from start to end (exclusive).
    pub range: Range<u64>,
    /// Whether space is allocated; a hole reads as zeros.
    pub mapped: bool,
}

/// Why a device could not do what it was asked: classified once by the backend, mapped once to sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The store cannot be reached, and the backend's patience is used up.
    #[error("the store cannot be reached")]
    Unreachable,
    /// Another node owns the device now.
    #[error("another node owns the device")]
    OwnershipLost,
    /// Ownership is on the move; try again shortly.
    #[error("the device is changing its owner")]
    Transitioning,
    /// The medium failed (EIO and the like).
    #[error("the medium failed")]
    Medium,
    /// A flush failed earlier: what was cached may be gone, so the device refuses to go on until it is reopened.
    #[error("an earlier flush failed")]
    FlushFailed,
    /// No space or quota left for the write.
    #[error("no space left")]
    NoSpace,
    /// Writes are refused.
    #[error("the device is read-only")]
    ReadOnly,
    /// The file is no longer there.
    #[error("the device is gone")]
    Gone,
    /// Out of memory or queue room at this moment.
    #[error("the device is busy")]
    Busy,
    /// The device has no such operation.
    #[error("not supported by the device")]
    Unsupported,
    /// The range lies beyond the end of the device.
    #[error("range beyond the end of the device")]
    OutOfRange,
}

/// A backend. Offsets and lengths are bytes, multiples of the logical block size of the LUN that uses it (512 at least), within
/// `geometry().size`, at most `capabilities().max_transfer` for read and write.
///
/// A future that is dropped may or may not have done its work; the caller waits for what must be known.
pub trait BlockDevice: Send + Sync + 'static {
    /// Size and preferences; the size may grow while it is open.
    fn geometry(&self) -> Geometry;

    /// What the device can do; constant while it is open, except that `read_only` may be latched.
    fn capabilities(&self) -> Capabilities;

    /// Reads exactly `len` bytes.
    fn read(&self, offset: u64, len: usize) -> impl Future<Output = Result<Bytes, DeviceError>> + Send;

    /// Writes all of `data`; with `fua` it is on stable storage when the future is ready.
    fn write(
        &self,
        offset: u64,
        data: &Payload,
        fua: bool,
    ) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Puts all writes that were completed before onto stable storage.
    fn flush(&self) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Gives back the range; it reads as zeros afterwards, also where space could not be given back.
    fn discard(&self, offset: u64, len: u64) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// Makes the range read as zeros, its space staying allocated where the device can tell the difference.
    fn write_zeroes(&self, offset: u64, len: u64) -> impl Future<Output = Result<(), DeviceError>> + Send;

    /// The first runs of the range in order, without gap, at most `max_extents`; together they may end before the range does.
    fn allocation_map(
        &self,
        offset: u64,
        len: u64,
        max_extents: usize,
    ) -> impl Future<Output = Result<Vec<Extent>, DeviceError>> + Send;

    /// How much space there is; none where that cannot be told.
    fn space(&self) -> impl Future<Output = Result<Option<Space>, DeviceError>> + Send {
        async { Ok(None) }
    }

    /// Changes the size. What lies beyond a smaller one is lost; when this is ready, no change that began before it can reach there.
    fn resize(&self, size: u64) -> impl Future<Output = Result<(), DeviceError>> + Send;
}
