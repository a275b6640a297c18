//! UNMAP (SBC-4 5.35).

use super::extent::Extent;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, blocks, limits};
use crate::device::BlockDevice;
use crate::payload::Payload;
use std::ops::Range;

/// Bytes of the header of the parameter list.
const HEADER: usize = 8;
/// Bytes of a block descriptor.
const DESCRIPTOR: usize = 16;

/// Gives back the ranges of the parameter list, after all of them have been checked. ANCHOR is refused by the CDB usage.
pub fn unmap<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let list = request.parameter_list()?;
        for range in ranges(&list, request.unit.capacity())? {
            request.pause().await?;
            blocks::discard(request, request.bytes(&range)).await?;
        }
        blocks::settle(request).await?;
        Ok(Reply::good())
    })
}

/// The smallest range that holds all that a list names, unchecked: what the command claims. A claim of any block would make each COMPARE
/// AND WRITE wait for it, wherever it is, and initiators beat their hearts with those.
pub fn reach(list: &Payload) -> Range<u64> {
    let list = list.slice(0, HEADER + DESCRIPTOR * limits::UNMAP_DESCRIPTORS as usize).to_bytes();
    let ranges =
        extents(&list).into_iter().flatten().map(Extent::saturating).filter(|range| !range.is_empty());
    ranges.reduce(|all, range| all.start.min(range.start)..all.end.max(range.end)).unwrap_or(0..0)
}

/// The block descriptors; None where there is not even a header. A last one that is not whole is ignored, and so is all beyond UNMAP BLOCK
/// DESCRIPTOR DATA LENGTH.
fn extents(list: &[u8]) -> Option<impl ExactSizeIterator<Item = Extent>> {
    let (header, descriptors) = list.split_at_checked(HEADER)?;
    let length = usize::from(Fields(header).u16(2)).min(descriptors.len());
    let descriptors = descriptors.get(..length).unwrap_or(&[]).chunks_exact(DESCRIPTOR).map(Fields);
    Some(descriptors.map(|own| Extent { lba: own.u64(0), blocks: u64::from(own.u32(8)) }))
}

/// The ranges of a list, all of them within the capacity and the limits. Descriptors that follow on each other are one range: initiators
/// split what they give back, and a device works by the piece.
fn ranges(list: &[u8], capacity: u64) -> Result<Vec<Range<u64>>, Sense> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let extents = extents(list).ok_or(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
    if extents.len() > limits::UNMAP_DESCRIPTORS as usize {
        return Err(Sense::invalid_field_in_parameters(2));
    }
    let mut total = 0;
    let mut ranges: Vec<Range<u64>> = Vec::with_capacity(extents.len());
    for (at, extent) in extents.enumerate() {
        let range = extent.within(capacity)?;
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
        total += extent.blocks;
        if total > u64::from(limits::UNMAP_BLOCKS) {
            return Err(Sense::invalid_field_in_parameters((HEADER + DESCRIPTOR * at + 8) as u16));
        }
    }
    Ok(ranges)
}
