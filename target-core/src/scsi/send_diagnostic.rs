//! SEND DIAGNOSTIC (SPC-5 6.42): the default self-test only. Diagnostic pages and other self-tests are refused by the CDB usage.

use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::Fault;
use super::{blocks, read_capacity};
use crate::device::BlockDevice;

/// With SELFTEST, reads the last block; without it there is nothing to do.
pub fn send_diagnostic<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let unit = request.unit;
        if request.cdb().bit(1, 2) && unit.capacity() > 0 {
            let last = read_capacity::last_block(unit);
            blocks::probe(request, request.bytes(&(last..last + 1))).await?;
        }
        Ok(Reply::good())
    })
}
