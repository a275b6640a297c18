//! Text in the full feature phase, which the initiator begins; what we would say ourselves we can only ask to be asked for
//! (RFC 7143 §11.9.1, event 4).

use super::full_feature::{FullFeature, Place};
use super::link::Link;
use crate::pdu::error::RejectReason;
use crate::pdu::fields::BHS_LEN;
use crate::pdu::initiator::TextRequest;
use crate::pdu::target::TargetPdu;

impl FullFeature {
    /// Takes a request.
    pub(super) fn text(
        &mut self,
        link: &mut Link,
        header: &[u8; BHS_LEN],
        request: &TextRequest,
        place: Place,
    ) {
        if self.tasks.by_tag(request.initiator_task_tag).is_some() {
            return self.refuse(link, header, RejectReason::TaskInProgress.code(), place);
        }
        let leg = link.leg();
        let Some(member) = self.member_mut(leg) else { return };
        match member.text.handle(request, &mut member.parameters) {
            Ok(response) => {
                if let Some(line) = link.line_mut(leg) {
                    line.redeclared(&member.parameters);
                }
                self.conclude(place);
                link.send(&self.window, &TargetPdu::Text(response));
            }
            Err(reject) => self.refuse(link, header, reject.reason(), place),
        }
    }

    /// Asks the initiator to begin a negotiation on the connection at hand within `seconds`, in which it is to learn of this
    /// MaxRecvDataSegmentLength; not if it knows it, was asked for the same before, or is to go. One that does not care keeps to what it
    /// knows.
    pub(super) fn request_negotiation(&mut self, link: &mut Link, length: u32, seconds: u16) {
        let leg = link.leg();
        if self.is_discovery() || self.is_leaving(leg) || link.line(leg).is_none_or(|line| line.is_closing())
        {
            return;
        }
        let Some(member) = self.member_mut(leg).filter(|member| member.logout_due.is_none()) else { return };
        if member.text.declare(length, &member.parameters) {
            self.ask_for_negotiation(link, seconds);
        }
    }
}
