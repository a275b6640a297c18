//! stub
#![allow(missing_docs)]
use super::event::*; use crate::scsi::command::*; use crate::login::{catalog::Catalog, parameters::Offer}; use crate::pdu::transmit::TransmitQueue;
use std::{sync::Arc, time::{Duration,Instant}};
pub struct ConnectionConfig { pub offer: Offer, pub login_timeout: Duration, pub nop_interval: Duration, pub nop_timeout: Duration, pub logout_timeout: Duration, pub command_window: u32, pub max_command_bytes: u32, pub data_out_budget: usize, pub entropy: fn(&mut [u8]) }
pub struct Connection { q: TransmitQueue, _c: Arc<dyn Catalog> }
impl Connection {
  pub fn new(_: Arc<ConnectionConfig>, c: Arc<dyn Catalog>, _now: Instant) -> Self { Self { q: TransmitQueue::default(), _c: c} }
  pub fn receive(&mut self, _now: Instant, i: &mut bytes::BytesMut) { i.clear() }
  pub fn wants_input(&self) -> bool { true }
  pub fn poll_event(&mut self) -> Option<Event> { None }
  pub fn bound(&mut self, _now: Instant, _: BindOutcome) {}
  pub fn complete(&mut self, _now: Instant, _: TaskId, _: Outcome) {}
  pub fn managed(&mut self, _now: Instant, _: TaskId, _: TaskManagementOutcome) {}
  pub fn transmit(&mut self) -> &mut TransmitQueue { &mut self.q }
  pub fn next_timeout(&self) -> Option<Instant> { None }
  pub fn handle_timeout(&mut self, _now: Instant) {}
  pub fn request_logout(&mut self, _now: Instant, _s: u16) {}
}
