//! VERIFY(10), VERIFY(12), VERIFY(16) (SBC-4 5.34 to 5.36).

use super::blocks;
use super::extent::Layout;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// BYTCHK: what the medium is compared with.
fn bytchk(cdb: Fields<'_>) -> u8 {
    cdb.u8(1) >> 1 & 0b11
}

/// Data-out: nothing, every block, or one for all, as BYTCHK says.
pub fn data_out(cdb: Fields<'_>, layout: Layout, block_size: u32) -> u64 {
    let blocks = layout.extent(cdb).blocks;
    let sent = match bytchk(cdb) {
        0b01 => blocks,
        0b11 => blocks.min(1),
        _ => 0,
    };
    sent * u64::from(block_size)
}

/// Reads the blocks, and compares them where BYTCHK asks for it.
pub fn verify<'a, D: BlockDevice>(request: &'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let extent = request.extent();
        let range = extent.within(request.unit.capacity())?;
        let bytes = request.bytes(&range);
        match bytchk(request.cdb()) {
            0b00 => blocks::probe(request, bytes).await?,
            0b01 => {
                request.check_transfer(extent)?;
                blocks::compare(request, bytes, &request.blocks_out()?).await?;
            }
            0b11 => {
                let block = request.blocks_out()?.to_bytes();
                blocks::compare_repeated(request, bytes, &block).await?;
            }
            _ => return Err(Sense::invalid_field_in_cdb(1, 2).into()),
        }
        Ok(Reply::good())
    })
}
