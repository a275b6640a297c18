//! GET LBA STATUS(16) (SBC-4 5.6): which blocks have space of their own.

use super::blocks;
use super::device_fault::on_read;
use super::request::{Reply, Request};
use super::row::{BoxFuture, LengthField};
use super::sense::{Fault, Sense};
use crate::device::{BlockDevice, Extent};
use std::ops::Range;

/// PROVISIONING STATUS (SBC-4 table 45).
const MAPPED: u8 = 0;
const DEALLOCATED: u8 = 1;

/// Most descriptors that are told at a time.
const MAX_DESCRIPTORS: u64 = 256;

/// A run of blocks of one provisioning status.
type Run = (Range<u64>, u8);

/// Tells the runs from the starting block on, as many as the allocation length has room for.
pub fn get_lba_status<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let unit = request.unit;
        let (start, capacity) = (request.cdb().u64(2), unit.capacity());
        if start >= capacity {
            return Err(Sense::out_of_range(start).into());
        }
        let room = LengthField::U32(10).read(request.cdb()).saturating_sub(8) / 16;
        let descriptors = room.clamp(1, MAX_DESCRIPTORS) as usize;
        let bytes = request.bytes(&(start..capacity));
        let extents = match unit.device().capabilities().allocation_map {
            true => unit
                .device()
                .allocation_map(bytes.start, bytes.end - bytes.start, descriptors)
                .await
                .map_err(on_read)?,
            false => vec![Extent { range: bytes, mapped: true }],
        };
        let runs = runs(&extents, start..capacity, u64::from(unit.block_size()));
        Ok(Reply::data(render(runs.into_iter().flat_map(told).take(descriptors))))
    })
}

/// Extents in bytes as runs of blocks: a block that is mapped in part is mapped. There is always one run.
fn runs(extents: &[Extent], range: Range<u64>, block_size: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(extents.len());
    let mut at = range.start;
    for extent in extents {
        let (end, status) = match extent.mapped {
            true => (extent.range.end.div_ceil(block_size), MAPPED),
            false => (extent.range.end / block_size, DEALLOCATED),
        };
        let end = end.min(range.end);
        if end <= at {
            continue;
        }
        match runs.last_mut() {
            Some((last, own)) if *own == status => last.end = end,
            _ => runs.push((at..end, status)),
        }
        at = end;
    }
    if runs.is_empty() {
        runs.push((range.start..range.start + 1, MAPPED));
    }
    runs
}

/// A run as it is told: a descriptor has 32 bits for its length, so that a longer one takes several.
fn told((range, status): Run) -> impl Iterator<Item = Run> {
    blocks::steps(range, u64::from(u32::MAX)).map(move |part| (part, status))
}

fn render(runs: impl Iterator<Item = Run>) -> Vec<u8> {
    let mut data = vec![0; 8];
    for (range, status) in runs {
        data.extend_from_slice(&range.start.to_be_bytes());
        data.extend_from_slice(&((range.end - range.start) as u32).to_be_bytes());
        data.extend_from_slice(&[status, 0, 0, 0]);
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    data
}

#[cfg(test)]
#[path = "get_lba_status_tests.rs"]
mod tests;
