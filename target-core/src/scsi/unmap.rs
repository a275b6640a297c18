//! UNMAP (SBC-4 5.35).

use super::extent::Extent;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{asc, blocks, limits};
use crate::device::BlockDevice;
use std::ops::Range;

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

/// The block descriptors. A last one that is not whole is ignored, and so is all beyond UNMAP BLOCK DESCRIPTOR DATA LENGTH.
fn ranges(list: &[u8], capacity: u64) -> Result<Vec<Range<u64>>, Sense> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let Some((header, descriptors)) = list.split_at_checked(8) else {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
    };
    let length = usize::from(Fields(header).u16(2)).min(descriptors.len());
    let descriptors = descriptors.get(..length).unwrap_or(&[]).chunks_exact(16);
    if descriptors.len() > limits::UNMAP_DESCRIPTORS as usize {
        return Err(Sense::invalid_field_in_parameters(2));
    }
    let mut total = 0;
    let mut ranges = Vec::with_capacity(descriptors.len());
    for (at, descriptor) in descriptors.map(Fields).enumerate() {
        let extent = Extent { lba: descriptor.u64(0), blocks: u64::from(descriptor.u32(8)) };
        ranges.push(extent.within(capacity)?);
        total += extent.blocks;
        if total > u64::from(limits::UNMAP_BLOCKS) {
            return Err(Sense::invalid_field_in_parameters(8 + 16 * at as u16 + 8));
        }
    }
    Ok(ranges)
}
