//! One TCP connection of a session: its socket, its place in the roster.

use super::wire::Wire;
use crate::server::orders::Orders;
use crate::server::roster::Enrolment;
use glint_target_core::pdu::transmit::TransmitQueue;
use glint_target_core::session::event::Leg;
use std::sync::Arc;
use std::time::Duration;

/// A connection as the task of its session has it.
pub(super) struct Line {
    pub(super) leg: Leg,
    pub(super) wire: Wire,
    pub(super) enrolment: Enrolment,
    /// It has stopped in the midst of what was read: that comes before what is yet to be read.
    pub(super) unheard: bool,
    pub(super) span: tracing::Span,
}

impl Line {
    /// Orders of its own. Those of the connection that the session began with are the session's.
    pub(super) fn orders(&self) -> Option<&Arc<Orders>> {
        (self.leg != Leg::FIRST).then_some(&self.enrolment.orders)
    }

    /// Closes, after the last words if there are any to be sent. Its place is given back by whoever drops what this returns.
    pub(super) async fn leave(self, last_words: Option<TransmitQueue>, patience: Duration) -> Enrolment {
        match last_words {
            Some(mut queue) => self.wire.goodbye(&mut queue, patience).await,
            None => drop(self.wire),
        }
        self.enrolment
    }
}
