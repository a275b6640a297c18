//! System calls on one open file or block device. All block.

use super::super::buffers::{ALIGNMENT, Buffer, BufferPool};
use super::super::space::Room;
use glint_target_core::payload::Payload;
use rustix::fs::{AtFlags, FallocateFlags, FileType, OFlags, SeekFrom, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

/// What the kernel asks of direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirectIo {
    /// Addresses are multiples of this.
    pub(super) memory: usize,
    /// Offsets and lengths are multiples of this.
    pub(super) offset: u32,
}

/// What lies behind the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Regular,
    BlockDevice,
}

/// What lies below: the device of the file system, or the block device itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Disk(u64);

/// Most pieces that one vectored call takes (IOV_MAX).
const MAX_PIECES: usize = 1024;

/// The kind of an open file; `None` for what can hold no blocks.
pub(super) fn kind(file: &File) -> Result<Option<Kind>, Errno> {
    let stat = rustix::fs::fstat(file)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::Regular),
        FileType::BlockDevice => Some(Kind::BlockDevice),
        _ => None,
    })
}

/// The disk that an open file lives on, or is.
pub(super) fn disk(file: &File) -> Result<Disk, Errno> {
    let stat = rustix::fs::fstat(file)?;
    Ok(Disk(match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => stat.st_rdev,
        _ => stat.st_dev,
    }))
}

/// The size in bytes, of block devices too.
pub(super) fn size(file: &File) -> Result<u64, Errno> {
    rustix::fs::seek(file, SeekFrom::End(0))
}

/// The unit in which the file system allocates.
pub(super) fn allocation_unit(file: &File) -> Result<u32, Errno> {
    let unit = u32::try_from(rustix::fs::fstat(file)?.st_blksize).unwrap_or(0);
    Ok(if unit.is_power_of_two() { unit.clamp(512, 1 << 20) } else { 4096 })
}

/// The room of the file system: all of it, and what may still be taken without privileges.
pub(super) fn room(file: &File) -> Result<Room, Errno> {
    let system = rustix::fs::fstatvfs(file)?;
    Ok(Room {
        total: system.f_blocks.saturating_mul(system.f_frsize),
        free: system.f_bavail.saturating_mul(system.f_frsize),
    })
}

/// Bytes that a file has taken.
pub(super) fn taken(file: &File) -> Result<u64, Errno> {
    Ok(u64::try_from(rustix::fs::fstat(file)?.st_blocks).unwrap_or(0).saturating_mul(512))
}

/// Switches to direct I/O where the file system has it; says what it asks for.
pub(super) fn enable_direct_io(file: &File, pool: &Arc<BufferPool>) -> Result<Option<DirectIo>, Errno> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    if rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT).is_err() {
        return Ok(None);
    }
    let direct = match stated_alignment(file) {
        Some(stated) => stated,
        None => probed_alignment(file, pool),
    };
    let usable = direct.filter(|direct| direct.memory <= ALIGNMENT && direct.offset as usize <= ALIGNMENT);
    if usable.is_none() {
        disable_direct_io(file)?;
    }
    Ok(usable)
}

/// Goes back through the page cache.
pub(super) fn disable_direct_io(file: &File) -> Result<(), Errno> {
    rustix::fs::fcntl_setfl(file, rustix::fs::fcntl_getfl(file)? - OFlags::DIRECT)
}

/// What statx says (Linux 6.1): `None` when it says nothing, `Some(None)` when there is no direct I/O.
fn stated_alignment(file: &File) -> Option<Option<DirectIo>> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    if !StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN) {
        return None;
    }
    let (memory, offset) = (stat.stx_dio_mem_align, stat.stx_dio_offset_align);
    let stated = memory.is_power_of_two() && offset.is_power_of_two();
    Some(stated.then_some(DirectIo { memory: memory as usize, offset: offset.max(512) }))
}

/// Reads with smaller and larger alignment until the kernel takes it.
fn probed_alignment(file: &File, pool: &Arc<BufferPool>) -> Option<DirectIo> {
    let mut buffer = pool.take(2 * ALIGNMENT);
    [512, 4096].into_iter().find_map(|unit: u32| {
        let memory = unit as usize;
        let part = buffer.as_mut().get_mut(memory..2 * memory)?;
        let read = rustix::io::preadv(file, &mut [IoSliceMut::new(part)], unit.into());
        read.is_ok().then_some(DirectIo { memory, offset: unit })
    })
}

/// Reads until the buffer is full or the file ends; says how many bytes.
pub(super) fn read_full(file: &File, offset: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match rustix::io::preadv(file, &mut [IoSliceMut::new(rest)], offset + done as u64) {
            Ok(0) => break,
            // After a part that ended at the end of the file the rest is no longer aligned.
            Err(Errno::INVAL) if done > 0 => break,
            Ok(read) => done += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Writes all of the data; with `durable` it is on stable storage afterwards.
pub(super) fn write_all(file: &File, offset: u64, data: &Payload, durable: bool) -> Result<(), Errno> {
    let flags = if durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
    let mut done = 0;
    while done < data.len() {
        // Only a write of which a part was taken, or one of very many pieces, comes here twice.
        let rest = if done == 0 { data.clone() } else { data.slice(done, data.len() - done) };
        let pieces: smallvec::SmallVec<[IoSlice<'_>; 16]> =
            rest.pieces().iter().take(MAX_PIECES).map(|piece| IoSlice::new(piece)).collect();
        match rustix::io::pwritev2(file, &pieces, offset + done as u64, flags) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the kernel takes the payload's pieces as they lie in memory.
pub(super) fn is_aligned(data: &Payload, direct: DirectIo) -> bool {
    data.pieces().iter().all(|piece| {
        piece.as_ptr() as usize & (direct.memory - 1) == 0 && piece.len() & (direct.offset as usize - 1) == 0
    })
}

/// The payload in one aligned buffer.
pub(super) fn gather(data: &Payload, pool: &Arc<BufferPool>) -> Buffer {
    let mut buffer = pool.take(data.len());
    data.copy_to_slice(buffer.as_mut());
    buffer
}

/// Gives back the space of a range, which reads as zeros afterwards.
pub(super) fn punch_hole(file: &File, offset: u64, len: u64) -> Result<(), Errno> {
    retry(|| rustix::fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len))
}

/// Makes a range read as zeros, its space allocated.
pub(super) fn zero_range(file: &File, offset: u64, len: u64) -> Result<(), Errno> {
    retry(|| rustix::fs::fallocate(file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, offset, len))
}

/// Takes the space of a range, and makes the file that long.
pub(super) fn allocate(file: &File, offset: u64, len: u64) -> Result<(), Errno> {
    retry(|| rustix::fs::fallocate(file, FallocateFlags::empty(), offset, len))
}

/// Sets the size of a regular file.
pub(super) fn truncate(file: &File, size: u64) -> Result<(), Errno> {
    retry(|| rustix::fs::ftruncate(file, size))
}

/// Puts the data on stable storage.
pub(super) fn sync_data(file: &File) -> Result<(), Errno> {
    retry(|| rustix::fs::fdatasync(file))
}

/// The first byte of data, or of a hole, from `offset`; `None` where only the end follows.
pub(super) fn seek_extent(file: &File, offset: u64, data: bool) -> Result<Option<u64>, Errno> {
    let from = if data { SeekFrom::Data(offset) } else { SeekFrom::Hole(offset) };
    match rustix::fs::seek(file, from) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

fn retry(mut call: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
