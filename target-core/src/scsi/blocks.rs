//! Work on runs of bytes that several commands share: reading and writing in pieces that the device takes, comparing, making zeros.

use super::asc;
use super::device_fault::{on_read, on_write};
use super::effort::Effort;
use super::sense::{Fault, Sense, SenseKey};
use crate::device::{BlockDevice, DeviceError};
use crate::lun::lanes::SMALL;
use crate::payload::Payload;
use bytes::Bytes;
use std::ops::Range;

/// Bytes that are zeroed or given back between two looks at the abort flag.
const ZERO_STEP: u64 = 64 << 20;
/// Bytes that go to or come from the device at a time for a command that neither sends nor takes them: a repeated pattern, what is read to
/// be compared. The transport knows nothing of them, so that its budget does not cover them; see [`lanes`](crate::lun::lanes).
const MEMORY_STEP: u64 = 1 << 20;

/// The pieces of at most `step` bytes that make up a range.
pub fn steps(range: Range<u64>, step: u64) -> impl Iterator<Item = Range<u64>> {
    let step = step.max(1);
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        at = range.end.min(start.saturating_add(step));
        (start < at).then_some(start..at)
    })
}

/// Bytes of one step of such a command.
fn memory_step<D: BlockDevice>(effort: &impl Effort<D>) -> u64 {
    MEMORY_STEP.min(effort.unit().device_transfer())
}

/// Reads a range of any length.
pub async fn read_bytes<D: BlockDevice>(
    effort: &impl Effort<D>,
    bytes: Range<u64>,
) -> Result<Payload, Fault> {
    let mut data = Payload::new();
    for step in steps(bytes, effort.unit().device_transfer()) {
        effort.go_on()?;
        data.push(read_step(effort, &step).await?);
    }
    Ok(data)
}

/// Pauses before every step but the first.
async fn pause_between<D: BlockDevice>(
    effort: &impl Effort<D>,
    start: u64,
    step: &Range<u64>,
) -> Result<(), Fault> {
    match step.start > start {
        true => effort.pause().await,
        false => Ok(()),
    }
}

/// Reads what the device reads in one go.
async fn read_step<D: BlockDevice>(effort: &impl Effort<D>, step: &Range<u64>) -> Result<Bytes, Fault> {
    effort.unit().device().read(step.start, (step.end - step.start) as usize).await.map_err(on_read)
}

/// Reads a range to see that it can be read.
pub async fn probe<D: BlockDevice>(effort: &impl Effort<D>, bytes: Range<u64>) -> Result<(), Fault> {
    let start = bytes.start;
    for step in steps(bytes, memory_step(effort)) {
        pause_between(effort, start, &step).await?;
        let _lane = effort.unit().lanes().enter(step.end - step.start).await;
        read_step(effort, &step).await?;
    }
    Ok(())
}

/// Compares a range with data of the same length. A difference is MISCOMPARE with its offset in bytes.
pub async fn compare<D: BlockDevice>(
    effort: &impl Effort<D>,
    bytes: Range<u64>,
    data: &Payload,
) -> Result<(), Fault> {
    let start = bytes.start;
    for step in steps(bytes, memory_step(effort)) {
        pause_between(effort, start, &step).await?;
        let stored = read_step(effort, &step).await?;
        let offset = (step.start - start) as usize;
        if let Some(at) = first_difference(&data.slice(offset, stored.len()), &stored) {
            return Err(miscompare((offset + at) as u64));
        }
    }
    Ok(())
}

/// Compares every block of a range with one block.
pub async fn compare_repeated<D: BlockDevice>(
    effort: &impl Effort<D>,
    bytes: Range<u64>,
    block: &[u8],
) -> Result<(), Fault> {
    let start = bytes.start;
    for step in steps(bytes, memory_step(effort)) {
        pause_between(effort, start, &step).await?;
        let _lane = effort.unit().lanes().enter(step.end - step.start).await;
        let stored = read_step(effort, &step).await?;
        let mut offset = (step.start - start) as usize;
        for own in stored.chunks(block.len().max(1)) {
            if let Some(at) = difference(block, own) {
                return Err(miscompare((offset + at) as u64));
            }
            offset += own.len();
        }
    }
    Ok(())
}

fn miscompare(offset: u64) -> Fault {
    Sense::new(SenseKey::Miscompare, asc::MISCOMPARE_DURING_VERIFY_OPERATION).informing(offset).into()
}

fn first_difference(data: &Payload, stored: &[u8]) -> Option<usize> {
    let mut offset = 0;
    for piece in data.pieces() {
        let own = stored.get(offset..).unwrap_or(&[]);
        if let Some(at) = difference(piece, own) {
            return Some(offset + at);
        }
        offset += piece.len();
    }
    None
}

/// Where the first of these bytes differ, over the shorter of both lengths.
fn difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let len = a.len().min(b.len());
    if a.get(..len) == b.get(..len) {
        return None;
    }
    a.iter().zip(b).position(|(a, b)| a != b)
}

/// Writes data at an offset in bytes.
pub async fn write_bytes<D: BlockDevice>(
    effort: &impl Effort<D>,
    start: u64,
    data: &Payload,
    fua: bool,
) -> Result<(), Fault> {
    let fua = fua || effort.unit().writes_through();
    for step in steps(0..data.len() as u64, effort.unit().device_transfer()) {
        effort.go_on()?;
        let piece = data.slice(step.start as usize, (step.end - step.start) as usize);
        effort.unit().device().write(start + step.start, &piece, fua).await.map_err(on_write)?;
    }
    Ok(())
}

/// Writes the OR of what is at an offset in bytes and of data.
pub async fn or_bytes<D: BlockDevice>(
    effort: &impl Effort<D>,
    start: u64,
    data: &Payload,
    fua: bool,
) -> Result<(), Fault> {
    let fua = fua || effort.unit().writes_through();
    for step in steps(0..data.len() as u64, memory_step(effort)) {
        effort.go_on()?;
        let at = start + step.start..start + step.end;
        let mut stored = read_step(effort, &at).await?.to_vec();
        let piece = data.slice(step.start as usize, stored.len());
        let mut rest = stored.as_mut_slice();
        for sent in piece.pieces() {
            let (own, after) = rest.split_at_mut(sent.len().min(rest.len()));
            own.iter_mut().zip(sent).for_each(|(own, sent)| *own |= sent);
            rest = after;
        }
        effort.unit().device().write(at.start, &Payload::from(stored), fua).await.map_err(on_write)?;
    }
    Ok(())
}

/// Writes one block over and over.
pub async fn write_repeated<D: BlockDevice>(
    effort: &impl Effort<D>,
    bytes: Range<u64>,
    block: &[u8],
) -> Result<(), Fault> {
    let block_size = block.len().max(1) as u64;
    let length = SMALL.min(bytes.end - bytes.start);
    let pattern = Bytes::from(block.repeat((length / block_size).max(1) as usize));
    let start = bytes.start;
    for step in steps(bytes, memory_step(effort)) {
        pause_between(effort, start, &step).await?;
        // The same memory over and over.
        let mut piece = Payload::new();
        for part in steps(step.clone(), pattern.len() as u64) {
            piece.push(pattern.slice(..(part.end - part.start) as usize));
        }
        let fua = effort.unit().writes_through();
        effort.unit().device().write(step.start, &piece, fua).await.map_err(on_write)?;
    }
    Ok(())
}

/// Makes a range read as zeros, its space staying allocated. To be followed by [`settle`].
pub async fn zero<D: BlockDevice>(effort: &impl Effort<D>, bytes: Range<u64>) -> Result<(), Fault> {
    let device = effort.unit().device();
    if !device.capabilities().write_zeroes {
        return write_zero_blocks(effort, bytes).await;
    }
    let start = bytes.start;
    for step in steps(bytes, ZERO_STEP) {
        pause_between(effort, start, &step).await?;
        match device.write_zeroes(step.start, step.end - step.start).await {
            Err(DeviceError::Unsupported) => write_zero_blocks(effort, step).await?,
            other => other.map_err(on_write)?,
        }
    }
    Ok(())
}

/// Gives a range back; where the device turns out not to be able to, it is made to read as zeros all the same. To be followed by
/// [`settle`].
pub async fn discard<D: BlockDevice>(effort: &impl Effort<D>, bytes: Range<u64>) -> Result<(), Fault> {
    let device = effort.unit().device();
    let start = bytes.start;
    for step in steps(bytes, ZERO_STEP) {
        pause_between(effort, start, &step).await?;
        match device.discard(step.start, step.end - step.start).await {
            Err(DeviceError::Unsupported) => zero(effort, step).await?,
            other => other.map_err(on_write)?,
        }
    }
    Ok(())
}

async fn write_zero_blocks<D: BlockDevice>(effort: &impl Effort<D>, bytes: Range<u64>) -> Result<(), Fault> {
    let block = vec![0; effort.unit().block_size() as usize];
    write_repeated(effort, bytes, &block).await
}

/// Ends a command that zeroed or gave back: with WCE zero its effect must be on stable storage, and neither has an FUA of its own.
pub async fn settle<D: BlockDevice>(effort: &impl Effort<D>) -> Result<(), Fault> {
    match effort.unit().writes_through() {
        true => effort.unit().device().flush().await.map_err(on_write),
        false => Ok(()),
    }
}
