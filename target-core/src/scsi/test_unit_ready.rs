//! TEST UNIT READY (SPC-5 6.47): what there is to test, the gates have tested.

use super::request::{Reply, Request};
use super::sense::Fault;
use crate::device::BlockDevice;

/// The unit is ready.
pub fn test_unit_ready<D: BlockDevice>(_: &Request<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::good())
}
