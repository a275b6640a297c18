//! RESERVE(6), RESERVE(10), RELEASE(6), RELEASE(10) (SPC-2 7.16, 7.17, 7.21, 7.22) for the whole unit; third parties and extents, which are
//! obsolete, are refused by the CDB usage.

use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;

/// Reserves the unit for the nexus.
pub fn reserve<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    request.unit.reservations().reserve(request.nexus.id).map_err(Fault::Status)?;
    Ok(Reply::good())
}

/// Gives up the reservation; GOOD without any effect where the nexus has none.
pub fn release<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    request.unit.reservations().release(request.nexus.id);
    Ok(Reply::good())
}
