//! POPULATE TOKEN (SBC-4 5.12).

use super::order::{Achieved, Order, Work, launch_with_list};
use super::ranges;
use crate::device::BlockDevice;
use crate::lun::claim::Claim;
use crate::lun::copy::operations::Ending;
use crate::lun::copy::tokens::{DEFAULT_TIMEOUT, MAX_TIMEOUT, Wanted, rod_type};
use crate::scsi::asc;
use crate::scsi::fields::Fields;
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::BoxFuture;
use crate::scsi::sense::{Fault, Sense};
use std::ops::Range;
use std::time::Duration;

/// Bytes of the list before the range descriptors.
const HEADER: usize = 16;
/// How often a write that was under way may spoil a token before it is given up.
const ATTEMPTS: usize = 8;

/// What is asked for.
struct Plan {
    ranges: Vec<Range<u64>>,
    rod_type: u32,
    timeout: Duration,
}

/// Makes a token that stands for blocks as they are now.
pub fn populate_token<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    launch_with_list(request, parse)
}

fn parse(list: &[u8], capacity: u64, block_size: u32) -> Result<Plan, Sense> {
    let fields = Fields(list);
    if list.len() < HEADER {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR));
    }
    // POPULATE TOKEN DATA LENGTH: one descriptor at least.
    if fields.u16(0) < 0x1e {
        return Err(Sense::invalid_field_in_parameters(0));
    }
    let timeout = match fields.u32(4) {
        0 => DEFAULT_TIMEOUT,
        asked if asked <= MAX_TIMEOUT => asked,
        _ => return Err(Sense::invalid_field_in_parameters(4)),
    };
    let rod_type = match (fields.bit(2, 1), fields.u32(8)) {
        (false, _) | (true, rod_type::ANY_POINT_IN_TIME) => rod_type::CHANGE_VULNERABLE,
        (true, kind @ (rod_type::POINT_IN_TIME | rod_type::CHANGE_VULNERABLE)) => kind,
        (true, _) => return Err(Sense::invalid_field_in_parameters(8)),
    };
    let ranges = ranges::parse(list, HEADER - 2, capacity, block_size)?;
    Ok(Plan { ranges, rod_type, timeout: Duration::from_secs(timeout.into()) })
}

impl<D: BlockDevice> Work<D> for Plan {
    /// The watch begins, then all that was being written before comes to its end, and only then the token is made: a write that ends after
    /// that has begun after that, and revokes it.
    fn work<'a>(&'a self, order: &'a Order<'a, D>) -> BoxFuture<'a, Result<Achieved, Fault>> {
        Box::pin(async move {
            let unit = &order.own.unit;
            for _ in 0..ATTEMPTS {
                let watch = unit.watches().begin(self.ranges.clone());
                // Looked at again, for a unit may have been cut short before the watch began.
                if let Some(beyond) = self.ranges.iter().find(|range| range.end > unit.capacity()) {
                    return Err(Sense::out_of_range(beyond.start.max(unit.capacity())).into());
                }
                for range in &self.ranges {
                    let claim = Claim::Exclusive(range.clone());
                    unit.tasks().enter_step(order.own.nexus.id, claim).started().await;
                    order.go_on()?;
                }
                if watch.has_changed() {
                    continue;
                }
                let wanted = Wanted {
                    owner: &order.own.nexus.initiator_name,
                    rod_type: self.rod_type,
                    unit,
                    ranges: self.ranges.clone(),
                    watch,
                    timeout: self.timeout,
                };
                let token = order.manager.tokens().create(wanted, order.manager.now());
                let token = token.ok_or(Sense::illegal(asc::INSUFFICIENT_RESOURCES_TO_CREATE_ROD_TOKEN))?;
                let blocks = self.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
                order.operation.advance(blocks * u64::from(unit.block_size()));
                return Ok(Achieved { ending: Ending::Complete, token: Some(token) });
            }
            Err(Sense::illegal(asc::INSUFFICIENT_RESOURCES_TO_CREATE_ROD_TOKEN).into())
        })
    }
}
