//! COPY OPERATION ABORT (SPC-5 6.3).

use crate::device::BlockDevice;
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::BoxFuture;
use crate::scsi::sense::{Fault, Sense};

/// Ends an operation of the same nexus; the command ends when nothing of it is under way any more.
pub fn copy_operation_abort<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let operation = request.unit.operations().find(request.nexus.id, request.cdb().u32(2));
        let operation = operation.filter(|operation| operation.end().is_none());
        let operation = operation.ok_or(Sense::invalid_field_in_cdb(2, 7))?;
        operation.halt();
        request.wait_for(operation.ended()).await?;
        Ok(Reply::good())
    })
}
