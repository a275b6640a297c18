//! Reject (RFC 7143 §11.17).

use super::link::Link;
use super::window::CommandWindow;
use crate::pdu::fields::BHS_LEN;
use crate::pdu::target::{Reject, TargetPdu};

/// Reasons that are kept for a driver that does not ask for them.
const MOST_REJECTED: usize = 1 << 10;

impl Link {
    /// Refuses a PDU; `reason` is a code of [`RejectReason`](crate::pdu::error::RejectReason).
    pub(super) fn reject(&mut self, window: &CommandWindow, reason: u8, header: &[u8; BHS_LEN]) {
        if self.rejected.len() < MOST_REJECTED {
            self.rejected.push(reason);
        }
        self.send(window, &TargetPdu::Reject(Reject { reason, header: *header }));
    }
}
