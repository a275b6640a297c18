//! WRITE SAME(10) and (16) (SBC-4 5.50, 5.51). Their rows claim the blocks for themselves, since they write in several steps.

use super::extent::{Extent, Layout};
use super::fields::Fields;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use super::{blocks, limits};
use crate::device::BlockDevice;
use std::ops::Range;

/// NDOB: no data-out buffer, zeros are meant. Only the longer CDB has it.
fn ndob(cdb: Fields<'_>) -> bool {
    cdb.u8(0) == 0x93 && cdb.bit(1, 0)
}

/// Data-out: one block, or none with NDOB.
pub fn data_out(cdb: Fields<'_>, _: Layout, block_size: u32) -> u64 {
    if ndob(cdb) { 0 } else { u64::from(block_size) }
}

/// Writes one block to all of the range, or gives the range back where that reads the same.
pub fn write_same<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let cdb = request.cdb();
        let unmap = cdb.bit(1, 3);
        let capabilities = request.unit.device().capabilities();
        if unmap && capabilities.discard.is_none() {
            return Err(Sense::invalid_field_in_cdb(1, 3).into());
        }
        let most = limits::write_same_blocks(&capabilities, request.unit.block_size());
        let range = range(request.extent(), request.unit.capacity(), request.row.layout, most)?;
        let bytes = request.bytes(&range);
        // A block of another length is one of another disk: an initiator that is wrong about the block size is wrong about the range too.
        let block = request.exact_data_out()?.to_bytes();
        if bytes.is_empty() {
            return Ok(Reply::good());
        }
        // LBPRZ is told: only zeros can be had by unmapping, anything else is written (SBC-4 table 139).
        if block.iter().any(|byte| *byte != 0) {
            blocks::write_repeated(request, bytes, &block).await?;
            return Ok(Reply::good());
        }
        match unmap {
            true => blocks::discard(request, bytes).await?,
            false => blocks::zero(request, bytes).await?,
        }
        blocks::settle(request).await?;
        Ok(Reply::good())
    })
}

/// A NUMBER OF LOGICAL BLOCKS of zero means all up to the end (WSNZ is zero); more than MAXIMUM WRITE SAME LENGTH is refused.
fn range(mut extent: Extent, capacity: u64, layout: Layout, most: u64) -> Result<Range<u64>, Sense> {
    if extent.blocks == 0 {
        extent.blocks = capacity.checked_sub(extent.lba).ok_or(Sense::out_of_range(extent.lba))?;
    }
    let range = extent.within(capacity)?;
    if extent.blocks > most {
        return Err(Sense::invalid_field_in_cdb(layout.length_byte(), 7));
    }
    Ok(range)
}
