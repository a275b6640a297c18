//! EXTENDED COPY(LID1) and (LID4) (SPC-5 6.4, 6.5).

use super::list::{Form, Plan};
use super::order::{Achieved, Identity, Order, Work, launch};
use crate::device::BlockDevice;
use crate::scsi::request::{Reply, Request};
use crate::scsi::row::BoxFuture;
use crate::scsi::sense::Fault;

/// With a list identifier of one byte: what VMware and the tools of sg3-utils send.
pub fn extended_copy_lid1<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(extended_copy(request, Form::Lid1))
}

/// With a list identifier of four bytes.
pub fn extended_copy_lid4<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(extended_copy(request, Form::Lid4))
}

async fn extended_copy<D: BlockDevice>(request: &Request<'_, D>, form: Form) -> Result<Reply, Fault> {
    let list = request.parameter_list()?;
    if list.is_empty() {
        return Ok(Reply::good());
    }
    let plan = form.parse(&list)?;
    let identity = Identity { list_id: plan.list_id, usage: plan.usage, immed: plan.immed };
    launch(request, identity, plan).await
}

impl<D: BlockDevice> Work<D> for Plan {
    /// The segments in their order (SPC-5 5.17.7.1).
    fn work<'a>(&'a self, order: &'a Order<'a, D>) -> BoxFuture<'a, Result<Achieved, Fault>> {
        Box::pin(async move {
            for (number, segment) in self.segments.iter().enumerate() {
                order.go_on()?;
                segment.copy(order, &self.cscds, number).await?;
            }
            Ok(Achieved::ALL)
        })
    }
}
