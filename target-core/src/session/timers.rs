//! What is due on the connections of a session, and when.

use super::asynchronous::Ending;
use super::event::{CloseReason, Leg};
use super::full_feature::FullFeature;
use super::keepalive::Alarm;
use super::link::{Line, Link};
use super::members::Member;
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::target::{NopIn, TargetPdu};
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use std::time::Instant;

impl FullFeature {
    pub(super) fn next_timeout(&self, link: &Link) -> Option<Instant> {
        // For one that is to be closed nothing is done any more, when it is due or later.
        let open = self.members.iter().filter(|it| link.line(it.leg).is_some_and(|line| !line.is_closing()));
        open.map(|member| member.keepalive.next_timeout())
            .chain([self.gaps.next_timeout(), self.next_fence(), self.next_logout_timeout(link)])
            .flatten()
            .min()
    }

    pub(super) fn handle_timeout(&mut self, link: &mut Link, now: Instant) {
        if self.gaps.next_timeout().is_some_and(|due| due <= now) {
            self.announce_end_everywhere(link, Ending::Session);
            return link.close_all(CloseReason::CommandsLost);
        }
        self.lower_fences_of_old(link, now);
        self.logout_timeouts(link, now);
        for leg in self.legs() {
            self.member_timeout(link, now, leg);
        }
    }

    fn member_timeout(&mut self, link: &mut Link, now: Instant, leg: Leg) {
        if link.line(leg).is_none_or(Line::is_closing) {
            return;
        }
        link.turn_to(leg);
        // An initiator that waits for us, or that has yet to read what we said, is not to be blamed for its silence; and while commands
        // run, the driver may have stopped reading.
        let waits =
            self.tasks.is_running(leg) || link.line(leg).is_some_and(|line| !line.transmit.is_empty());
        let Some(Member { keepalive, .. }) = self.member_mut(leg) else { return };
        if waits {
            return keepalive.excuse(now);
        }
        match keepalive.alarm(now) {
            None => {}
            Some(Alarm::Gone) => {
                // It may be deaf on one ear only.
                self.announce_end(link, Ending::Connection);
                link.close(CloseReason::NopTimeout);
            }
            Some(Alarm::Ask(tag)) => self.send_ping(link, tag),
        }
    }

    /// Asks the initiator for a sign of life on the connection at hand.
    pub(super) fn ping(&mut self, link: &mut Link, now: Instant) {
        if let Some(tag) = self.member_mut(link.leg()).map(|member| member.keepalive.ask(now)) {
            self.send_ping(link, tag);
        }
    }

    fn send_ping(&self, link: &mut Link, target_transfer_tag: u32) {
        let ping = NopIn {
            lun: LunAddress::default(),
            initiator_task_tag: RESERVED_TAG,
            target_transfer_tag,
            data: Bytes::new(),
        };
        link.send(&self.window, &TargetPdu::NopIn(ping));
    }

    /// Nothing was read, so nobody was silent.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.members.iter_mut().for_each(|member| member.keepalive.excuse(now));
    }
}
