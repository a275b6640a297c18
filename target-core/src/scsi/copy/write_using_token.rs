//! WRITE USING TOKEN (SBC-4 5.59).

use super::order::{Achieved, Order, Work, launch_with_list};
use super::ranges;
use super::transfer::{Origin, Side, Stop, Transfer};
use crate::device::BlockDevice;
use crate::lun::copy::operations::Ending;
use crate::lun::copy::tokens::{self, TOKEN_BYTES, Useless, rod_type};
use crate::scsi::asc;
use crate::scsi::fields::Fields;
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::BoxFuture;
use crate::scsi::sense::{Asc, Fault, Sense, SenseKey};
use std::ops::Range;
use std::sync::Arc;

/// Where the token is.
const TOKEN: Range<usize> = 16..16 + TOKEN_BYTES;
/// Bytes of the list before the range descriptors.
const HEADER: usize = 536;

/// What is asked for.
struct Plan {
    token: Vec<u8>,
    /// OFFSET INTO ROD, in blocks of the destination.
    offset: u64,
    delete: bool,
    ranges: Vec<Range<u64>>,
}

/// Writes what a token stands for.
pub fn write_using_token<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    launch_with_list(request, parse)
}

fn parse(list: &[u8], capacity: u64, block_size: u32) -> Result<Plan, Sense> {
    let fields = Fields(list);
    if list.len() < HEADER {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
    }
    // WRITE USING TOKEN DATA LENGTH: one descriptor at least, and what BLOCK DEVICE RANGE DESCRIPTOR LENGTH says.
    let length = fields.u16(0);
    if length < 0x226 || u32::from(length) != u32::from(fields.u16(HEADER - 2)) + HEADER as u32 - 2 {
        return Err(Sense::invalid_field_in_parameters(0));
    }
    let token = list.get(TOKEN).unwrap_or(&[]).to_vec();
    let ranges = ranges::parse(list, HEADER - 2, capacity, block_size)?;
    Ok(Plan { token, offset: fields.u64(8), delete: fields.bit(2, 1), ranges })
}

impl<D: BlockDevice> Work<D> for Plan {
    fn work<'a>(&'a self, order: &'a Order<'a, D>) -> BoxFuture<'a, Result<Achieved, Fault>> {
        Box::pin(async move {
            let result = self.write(order).await;
            if self.delete {
                order.manager.tokens().delete(&self.token);
            }
            result
        })
    }
}

impl Plan {
    async fn write<D: BlockDevice>(&self, order: &Order<'_, D>) -> Result<Achieved, Fault> {
        let size = u64::from(order.own.unit.block_size());
        let (origin, available) = self.origin(order)?;
        let mut ranges = self.ranges.clone();
        let mut ending = Ending::Complete;
        let mut skip = 0;
        if let Some(available) = available {
            // An offset at or beyond the end, or one that no number of bytes can express.
            let offset = self.offset.checked_mul(size).filter(|offset| *offset < available);
            skip = offset.ok_or(Sense::invalid_field_in_parameters(8))?;
            // A last block that the token has a part of is filled up with zeros.
            if cut(&mut ranges, (available - skip).div_ceil(size)) {
                ending = Ending::PartialToken;
            }
        }
        let transfer = Transfer { order, origin, skip, destination: order.own.clone(), ranges };
        match transfer.run().await {
            Ok(()) => Ok(Achieved { ending, token: None }),
            Err(Stop::Unwanted(fault) | Stop::Failed(Side::Destination, fault)) => Err(fault),
            Err(Stop::Revoked) => Err(aborted(asc::TOKEN_REVOKED)),
            Err(Stop::Failed(Side::Source, _)) => Err(aborted(asc::THIRD_PARTY_DEVICE_FAILURE)),
            Err(Stop::Unreachable(_)) => Err(aborted(asc::COPY_TARGET_DEVICE_NOT_REACHABLE)),
        }
    }

    /// What the token stands for, and how many bytes that are; zeros never end. It opens its blocks only to those who reach their unit.
    fn origin<D: BlockDevice>(&self, order: &Order<'_, D>) -> Result<(Origin<D>, Option<u64>), Sense> {
        let (kind, has_length) = tokens::header(&self.token);
        if !has_length {
            return Err(Sense::illegal(asc::INVALID_TOKEN_LENGTH));
        }
        match kind {
            rod_type::ZERO => return Ok((Origin::Zeros, None)),
            rod_type::POINT_IN_TIME | rod_type::CHANGE_VULNERABLE => {}
            _ => return Err(Sense::illegal(asc::UNSUPPORTED_TOKEN_TYPE)),
        }
        let rod = order.manager.tokens().open(&self.token, order.manager.now());
        let rod = rod.map_err(|useless| {
            Sense::illegal(match useless {
                Useless::Unknown => asc::TOKEN_UNKNOWN,
                Useless::Expired => asc::TOKEN_EXPIRED,
                Useless::Revoked => asc::TOKEN_REVOKED,
            })
        })?;
        let end = order.manager.reach(&order.own.nexus, |unit| Arc::ptr_eq(unit, &rod.unit));
        let unreachable = Sense::new(SenseKey::CopyAborted, asc::COPY_TARGET_DEVICE_NOT_REACHABLE);
        let end = end.ok_or(unreachable)?;
        let blocks = rod.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        let bytes = blocks * u64::from(end.unit.block_size());
        Ok((Origin::Blocks { end, ranges: rod.ranges, watch: Some(rod.watch) }, Some(bytes)))
    }
}

fn aborted(code: Asc) -> Fault {
    Sense::new(SenseKey::CopyAborted, code).into()
}

/// Cuts ranges to so many blocks altogether; tells whether there was anything to cut.
fn cut(ranges: &mut Vec<Range<u64>>, mut blocks: u64) -> bool {
    let mut shortened = false;
    ranges.retain_mut(|range| {
        let len = range.end - range.start;
        let take = len.min(blocks);
        shortened |= take < len;
        range.end = range.start + take;
        blocks -= take;
        take > 0
    });
    shortened
}
