//! PRE-FETCH(10) and (16) (SBC-4 5.10, 5.11).

use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;

/// There is no cache to fetch into: GOOD, which says that not all of it fits, and not CONDITION MET.
pub fn prefetch<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    request.extent().within(request.unit.capacity())?;
    Ok(Reply::good())
}
