//! What others have told a session to do, done.

use super::driver::Driver;
use super::end::End;
use super::session::BoundSession;
use crate::server::orders::Dismissal;
use glint_target_core::lun::notice::Notice;
use glint_target_core::lun::task_set::Abort;
use glint_target_core::scsi::command::{DeviceServer, Outcome, Response};
use glint_target_core::scsi::sense::{Sense, SenseKey, Status};
use glint_target_core::session::connection::Ending;
use glint_target_core::session::event::Leg;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl<S: DeviceServer, F: Future<Output = Outcome> + Send> Driver<S, F> {
    pub(super) fn obey(&mut self, now: Instant) -> Result<(), End> {
        if self.orders.is_any() {
            let orders = Arc::clone(&self.orders);
            self.joining.extend(orders.take_knocking());
            if let Some(why) = orders.dismissal() {
                return Err(self.dismissed(why));
            }
            if self.commands.session().is_some() && orders.take_noticed() {
                self.heed(now);
            }
            if self.commands.session().is_some() && orders.take_redeclared() {
                self.redeclare(Leg::FIRST);
            }
            orders.take_withdrawn().into_iter().for_each(|leg| self.connection.drop_leg(leg));
            if orders.take_drain() {
                let seconds = self.time_to_log_out()?;
                self.connection.request_end(now, seconds);
            }
        }
        let mut at = 0;
        while let Some(line) = self.lines.get(at) {
            let leg = line.leg;
            at += 1;
            let Some(orders) = line.orders().filter(|orders| orders.is_any()).cloned() else { continue };
            match orders.dismissal() {
                // The process ends: that holds for all of the session, whichever of its connections is told first.
                Some(why @ Dismissal::Cut) => return Err(self.dismissed(why)),
                // What else is said to one connection is not said to the session.
                Some(why) => {
                    at -= 1;
                    self.lose(at, End::Dismissed(why), now)?;
                }
                None => {
                    if orders.take_redeclared() {
                        self.redeclare(leg);
                    }
                    if orders.take_drain() {
                        let seconds = self.time_to_log_out()?;
                        self.connection.request_logout(leg, now, seconds);
                    }
                }
            }
        }
        Ok(())
    }

    fn dismissed(&mut self, why: Dismissal) -> End {
        if matches!(why, Dismissal::Revoked | Dismissal::TargetReset | Dismissal::Cut) {
            self.connection.drop_out(Ending::Session);
        }
        End::Dismissed(why)
    }

    /// How long an initiator has that is asked to log out; one that is not logged in, or for discovery only, has nothing to finish.
    fn time_to_log_out(&self) -> Result<u16, End> {
        if self.commands.session().and_then(BoundSession::reach).is_none() {
            return Err(End::Dismissed(Dismissal::Cut));
        }
        Ok(whole_seconds(self.node.connection_config.load().logout_timeout))
    }

    /// Has the initiator ask what is declared now. It has as long as for a logout, but nothing happens when it does not.
    fn redeclare(&mut self, leg: Leg) {
        let config = self.node.connection_config.load();
        let length = config.offer.max_recv_data_segment_length;
        self.connection.request_negotiation(leg, length, whole_seconds(config.logout_timeout));
    }

    /// Does what the device server says unasked.
    fn heed(&mut self, now: Instant) {
        let notices = self.commands.session().map_or_else(Vec::new, BoundSession::take_notices);
        for notice in notices {
            match notice {
                Notice::Event { lun, condition } => {
                    let sense = Sense::new(SenseKey::UnitAttention, condition);
                    self.connection.report_event(lun, &sense);
                }
                Notice::Abort(order) => {
                    let outcome = || match order.how() {
                        Abort::Silent => Outcome::Aborted,
                        Abort::TaskAborted => Outcome::Done(Response::of(Status::TaskAborted)),
                    };
                    let mut tasks = self.connection.abort_held(|lun| order.concerns(lun), outcome);
                    if let Some((id, _)) = self.held_up.take_if(|(_, command)| order.concerns(command.lun)) {
                        self.connection.complete(now, id, outcome());
                        tasks += 1;
                    }
                    order.obeyed(tasks);
                }
            }
        }
    }
}

fn whole_seconds(time: Duration) -> u16 {
    u16::try_from(time.as_secs()).unwrap_or(u16::MAX)
}
