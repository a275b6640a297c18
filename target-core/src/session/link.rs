//! The ways out of a session: PDUs to the initiator on each connection with its numbers, events to the driver.

use super::event::{CloseReason, Event, Leg};
use super::retention::{Kept, Retention};
use super::window::CommandWindow;
use crate::login::parameters::{Digest, Parameters};
use crate::pdu::fields::{RESERVED_TAG, Serial};
use crate::pdu::frame::FrameDecoder;
use crate::pdu::target::{Numbering, TargetPdu};
use crate::pdu::transmit::TransmitQueue;
use bytes::Bytes;
use std::collections::VecDeque;

/// The connections of a session as their bytes come and go, and the events of all. Almost always there is one connection.
#[derive(Debug)]
pub(super) struct Link {
    lines: Vec<Line>,
    /// The connection at hand: where the request that is looked at came from, and answers to it go.
    at: Leg,
    last: Leg,
    pub(super) events: VecDeque<Event>,
    /// Reasons of the rejects that were sent and not yet told to the driver.
    pub(super) rejected: Vec<u8>,
}

/// One connection: digests, numbers and queues.
#[derive(Debug)]
pub(super) struct Line {
    leg: Leg,
    pub(super) decoder: FrameDecoder,
    /// Bytes that were received and not taken.
    pub(super) left: usize,
    pub(super) retention: Retention,
    pub(super) transmit: TransmitQueue,
    header_digest: Digest,
    data_digest: Digest,
    /// StatSN of the next status.
    pub(super) stat_sn: Serial,
    closing: bool,
}

impl Line {
    fn new(leg: Leg) -> Self {
        Self {
            leg,
            decoder: FrameDecoder::new(Parameters::default().target_max_recv_data_segment_length),
            left: 0,
            retention: Retention::default(),
            transmit: TransmitQueue::default(),
            header_digest: Digest::default(),
            data_digest: Digest::default(),
            stat_sn: Serial::default(),
            closing: false,
        }
    }

    /// The last Login Response has gone without digests; all that comes after it has them (RFC 7143 §13.1).
    pub(super) fn set_parameters(&mut self, parameters: &Parameters) {
        self.header_digest = parameters.header_digest;
        self.data_digest = parameters.data_digest;
        self.decoder.set_digests(parameters.header_digest, parameters.data_digest);
        self.decoder.set_max_data_segment_length(parameters.target_max_recv_data_segment_length);
    }

    /// We have declared another MaxRecvDataSegmentLength. PDUs of the length that held before may be on their way, and who has not read
    /// our answer makes more of them: a smaller one refuses nothing.
    pub(super) fn redeclared(&mut self, parameters: &Parameters) {
        self.decoder.raise_max_data_segment_length(parameters.target_max_recv_data_segment_length);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }
}

impl Default for Link {
    fn default() -> Self {
        Self {
            lines: vec![Line::new(Leg::FIRST)],
            at: Leg::FIRST,
            last: Leg::FIRST,
            events: VecDeque::new(),
            rejected: Vec::new(),
        }
    }
}

impl Link {
    /// What is said next, or closed, is meant for this connection.
    pub(super) fn turn_to(&mut self, leg: Leg) -> &mut Self {
        self.at = leg;
        self
    }

    /// The connection at hand.
    pub(super) fn leg(&self) -> Leg {
        self.at
    }

    pub(super) fn line(&self, leg: Leg) -> Option<&Line> {
        self.lines.iter().find(|line| line.leg == leg)
    }

    pub(super) fn line_mut(&mut self, leg: Leg) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.leg == leg)
    }

    /// Data of the connection at hand that will be kept.
    pub(super) fn keep(&mut self, data: Bytes) -> Kept {
        let leg = self.at;
        match self.line_mut(leg) {
            Some(line) => line.retention.keep(data),
            None => Kept { data, beyond: 0 },
        }
    }

    /// The only connection of a link that has one.
    pub(super) fn into_line(mut self) -> Option<Line> {
        self.lines.pop()
    }

    /// One more connection.
    pub(super) fn add(&mut self, line: Line) -> Leg {
        self.last = Leg(self.last.0 + 1);
        self.lines.push(Line { leg: self.last, ..line });
        self.last
    }

    /// One connection less, which nobody need close any more; gives what it had to say still.
    pub(super) fn remove(&mut self, leg: Leg) -> Option<TransmitQueue> {
        let at = self.lines.iter().position(|line| line.leg == leg)?;
        self.events.retain(|event| !matches!(event, Event::Close(closed, _) if *closed == leg));
        Some(self.lines.remove(at).transmit)
    }

    /// Bytes that wait to be sent on all connections.
    pub(super) fn queued(&self) -> usize {
        self.lines.iter().map(|line| line.transmit.len()).sum()
    }

    /// Queues a PDU. What is meant for a connection that has gone is lost with it.
    pub(super) fn send(&mut self, window: &CommandWindow, pdu: &TargetPdu) {
        let leg = self.at;
        let Some(line) = self.line_mut(leg) else { return };
        let numbering =
            Numbering { stat_sn: line.stat_sn, exp_cmd_sn: window.expected(), max_cmd_sn: window.max() };
        line.transmit.push(pdu, numbering, line.header_digest, line.data_digest);
        if takes_stat_sn(pdu) {
            line.stat_sn = line.stat_sn.plus(1);
        }
    }

    /// Asks the driver to close the connection at hand; the first reason counts.
    pub(super) fn close(&mut self, reason: CloseReason) {
        let leg = self.at;
        if let Some(line) = self.line_mut(leg)
            && !std::mem::replace(&mut line.closing, true)
        {
            self.events.push_back(Event::Close(leg, reason));
        }
    }

    /// Asks the driver to close all connections.
    pub(super) fn close_all(&mut self, reason: CloseReason) {
        for line in &mut self.lines {
            if !std::mem::replace(&mut line.closing, true) {
                self.events.push_back(Event::Close(line.leg, reason));
            }
        }
    }

    /// Whether all connections are to be closed.
    pub(super) fn is_closing(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(Line::is_closing)
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
