//! Memory of this process, taken as it is written to and given back when discarded.

use super::range::{MAX_ZEROS, chunks, push_extent, within, zeros};
use bytes::{Bytes, BytesMut};
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry, Space};
use glint_target_core::payload::Payload;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Bytes of one chunk: the unit of allocation, locking and discarding.
const CHUNK: u64 = 64 << 10;
/// Chunks of one group; groups of which nothing was written take no memory.
const GROUP: usize = 1024;
const GROUP_BYTES: u64 = CHUNK * GROUP as u64;

/// A chunk is empty while it is a hole. Readers share its bytes; a writer that finds them shared copies them first, so that a read
/// costs no copy and never sees half a write.
type Chunk = Mutex<Bytes>;
type Group = OnceLock<Box<[Chunk]>>;

/// The device in memory.
#[derive(Debug)]
pub struct RamDevice {
    store: RwLock<Store>,
    read_only: bool,
}

#[derive(Clone, Debug)]
struct Store {
    size: u64,
    groups: Vec<Arc<Group>>,
}

impl RamDevice {
    pub(super) fn new(size: u64, read_only: bool) -> Self {
        let mut store = Store { size: 0, groups: Vec::new() };
        store.resize(size);
        Self { store: RwLock::new(store), read_only }
    }

    fn store(&self) -> std::sync::RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_writable(&self) -> Result<(), DeviceError> {
        if self.read_only { Err(DeviceError::ReadOnly) } else { Ok(()) }
    }

    /// Lets `fill` set each part of the range, given where in the range the part begins; holes are allocated.
    fn change(
        &self,
        offset: u64,
        len: u64,
        mut fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), DeviceError> {
        self.check_writable()?;
        let store = self.store();
        for piece in pieces(within(offset, len, store.size)?) {
            let mut chunk = store.chunk_to_fill(piece.start).ok_or(DeviceError::OutOfRange)?;
            edit(&mut chunk, &piece, |bytes| fill((piece.start - offset) as usize, bytes));
        }
        Ok(())
    }
}

impl Store {
    fn resize(&mut self, size: u64) {
        if size < self.size {
            self.clear(size..self.size);
        }
        let groups = usize::try_from(size.div_ceil(GROUP_BYTES)).unwrap_or(usize::MAX);
        self.groups.resize_with(groups, Arc::default);
        self.size = size;
    }

    /// The chunk that holds the byte at `offset`, if its group has ever been written to.
    fn chunk(&self, offset: u64) -> Option<MutexGuard<'_, Bytes>> {
        let group = self.groups.get((offset / GROUP_BYTES) as usize)?;
        lock(group.get()?, offset)
    }

    /// The same, making the group where it is missing.
    fn chunk_to_fill(&self, offset: u64) -> Option<MutexGuard<'_, Bytes>> {
        let group = self.groups.get((offset / GROUP_BYTES) as usize)?;
        lock(group.get_or_init(|| (0..GROUP).map(|_| Chunk::default()).collect()), offset)
    }

    /// Bytes of the chunks that are no holes. Looks at all that were ever written: to be asked now and then.
    fn allocated(&self) -> u64 {
        let chunks = self.groups.iter().filter_map(|group| group.get()).flat_map(|group| group.iter());
        let held = chunks.filter(|chunk| !chunk.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
        held.count() as u64 * CHUNK
    }

    fn read_chunk(&self, piece: &Range<u64>) -> Bytes {
        let len = (piece.end - piece.start) as usize;
        let start = (piece.start % CHUNK) as usize;
        match self.chunk(piece.start) {
            Some(chunk) if !chunk.is_empty() => chunk.slice(start..start + len),
            _ => zeros(len),
        }
    }

    fn clear(&self, range: Range<u64>) {
        for piece in pieces(range) {
            let Some(mut chunk) = self.chunk(piece.start) else { continue };
            if piece.end - piece.start == CHUNK {
                *chunk = Bytes::new();
            } else if !chunk.is_empty() {
                edit(&mut chunk, &piece, |bytes| bytes.fill(0));
            }
        }
    }
}

fn lock(group: &[Chunk], offset: u64) -> Option<MutexGuard<'_, Bytes>> {
    let index = (offset / CHUNK) as usize % GROUP;
    group.get(index).map(|chunk| chunk.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Changes the bytes of `piece`, which lies within the chunk; allocates the chunk where it is a hole.
fn edit(chunk: &mut Bytes, piece: &Range<u64>, change: impl FnOnce(&mut [u8])) {
    let mut bytes = match std::mem::take(chunk) {
        hole if hole.is_empty() => BytesMut::zeroed(CHUNK as usize),
        held => held.try_into_mut().unwrap_or_else(|shared| BytesMut::from(shared.as_ref())),
    };
    let start = (piece.start % CHUNK) as usize;
    if let Some(part) = bytes.get_mut(start..start + (piece.end - piece.start) as usize) {
        change(part);
    }
    *chunk = bytes.freeze();
}

/// Cuts a range at the borders of chunks.
fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let first = range.start..range.end.min((range.start / CHUNK + 1).saturating_mul(CHUNK));
    let rest = chunks(first.end..range.end, CHUNK);
    std::iter::once(first).filter(|piece| !piece.is_empty()).chain(rest)
}

impl BlockDevice for RamDevice {
    fn geometry(&self) -> Geometry {
        Geometry { size: self.store().size, physical_block: 4096, optimal_io: CHUNK as u32 }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            read_only: self.read_only,
            volatile_cache: false,
            discard: Some(Discard { granularity: CHUNK as u32 }),
            write_zeroes: true,
            allocation_map: true,
            max_transfer: MAX_ZEROS as u32,
            // After a crash there is nothing at all.
            atomic_write: u32::MAX,
        }
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        let store = self.store();
        let range = within(offset, len as u64, store.size)?;
        let mut pieces = pieces(range);
        let Some(first) = pieces.next() else { return Ok(Bytes::new()) };
        let first = store.read_chunk(&first);
        if first.len() == len {
            return Ok(first);
        }
        let mut all = BytesMut::with_capacity(len);
        all.extend_from_slice(&first);
        pieces.for_each(|piece| all.extend_from_slice(&store.read_chunk(&piece)));
        Ok(all.freeze())
    }

    async fn write(&self, offset: u64, data: &Payload, _fua: bool) -> Result<(), DeviceError> {
        self.change(offset, data.len() as u64, |at, bytes| {
            data.slice(at, bytes.len()).copy_to_slice(bytes);
        })
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.check_writable()?;
        let store = self.store();
        store.clear(within(offset, len, store.size)?);
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.change(offset, len, |_, bytes| bytes.fill(0))
    }

    async fn allocation_map(&self, offset: u64, len: u64, max: usize) -> Result<Vec<Extent>, DeviceError> {
        let store = self.store();
        let range = within(offset, len, store.size)?;
        let mut map = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let in_group =
                store.groups.get((at / GROUP_BYTES) as usize).is_some_and(|group| group.get().is_some());
            let unit = if in_group { CHUNK } else { GROUP_BYTES };
            let end = range.end.min((at / unit + 1).saturating_mul(unit));
            let mapped = in_group && store.chunk(at).is_some_and(|chunk| !chunk.is_empty());
            push_extent(&mut map, at..end, mapped);
            if map.len() > max {
                map.truncate(max);
                break;
            }
            at = end;
        }
        Ok(map)
    }

    /// The volume itself is the store: what is not written is free.
    async fn space(&self) -> Result<Option<Space>, DeviceError> {
        let store = self.store();
        let used = store.allocated().min(store.size);
        Ok(Some(Space { total: store.size, free: store.size - used, used, shared: false }))
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        self.store.write().unwrap_or_else(PoisonError::into_inner).resize(size);
        Ok(())
    }
}

#[cfg(test)]
#[path = "ram_tests.rs"]
mod tests;
