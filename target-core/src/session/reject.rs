//! Reject (RFC 7143 §11.17).

use super::link::Link;
use super::window::CommandWindow;
use crate::pdu::fields::BHS_LEN;
use crate::pdu::target::{Reject, TargetPdu};

impl Link {
    /// Refuses a PDU; `reason` is a code of [`RejectReason`](crate::pdu::error::RejectReason).
    pub(super) fn reject(&mut self, window: &CommandWindow, reason: u8, header: &[u8; BHS_LEN]) {
        self.send(window, &TargetPdu::Reject(Reject { reason, header: *header }));
    }
}
