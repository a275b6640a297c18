//! The way out of a connection: PDUs to the initiator with their numbers, events to the driver.

use super::event::{CloseReason, Event};
use super::window::CommandWindow;
use crate::login::parameters::Digest;
use crate::pdu::fields::{RESERVED_TAG, Serial};
use crate::pdu::target::{Numbering, TargetPdu};
use crate::pdu::transmit::TransmitQueue;
use std::collections::VecDeque;

/// Numbers and digests of outgoing PDUs, and the queues.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) transmit: TransmitQueue,
    pub(super) events: VecDeque<Event>,
    pub(super) header_digest: Digest,
    pub(super) data_digest: Digest,
    /// StatSN of the next status.
    ///
    /// What the initiator acknowledges with ExpStatSN is of no use to us: at ErrorRecoveryLevel 0 no status is sent again.
    pub(super) stat_sn: Serial,
    /// Reasons of the rejects that were sent and not yet told to the driver.
    pub(super) rejected: Vec<u8>,
    closing: bool,
}

impl Link {
    /// Queues a PDU.
    pub(super) fn send(&mut self, window: &CommandWindow, pdu: &TargetPdu) {
        let numbering =
            Numbering { stat_sn: self.stat_sn, exp_cmd_sn: window.expected(), max_cmd_sn: window.max() };
        self.transmit.push(pdu, numbering, self.header_digest, self.data_digest);
        if takes_stat_sn(pdu) {
            self.stat_sn = self.stat_sn.plus(1);
        }
    }

    /// Asks the driver to close; the first reason counts.
    pub(super) fn close(&mut self, reason: CloseReason) {
        if !self.closing {
            self.closing = true;
            self.events.push_back(Event::Close(reason));
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }
}

/// Whether a PDU is a status, which uses up a StatSN; the others tell the next one or none (RFC 7143 §11.7.3, §11.8, §11.19.1).
fn takes_stat_sn(pdu: &TargetPdu) -> bool {
    match pdu {
        TargetPdu::DataIn(data) => data.status.is_some(),
        TargetPdu::ReadyToTransfer(_) => false,
        TargetPdu::NopIn(nop) => nop.initiator_task_tag != RESERVED_TAG,
        _ => true,
    }
}
