//! Asynchronous Messages: what we say without being asked (RFC 7143 §11.9).

use super::event::Leg;
use super::full_feature::FullFeature;
use super::link::Link;
use crate::pdu::target::{AsyncMessage, TargetPdu};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Sense;
use crate::scsi::sense_format::{SenseFormat, render};
use bytes::Bytes;

/// AsyncEvent (RFC 7143 §11.9.1). 5 has no use here: it belongs to TaskReporting=FastAbort.
const SCSI_EVENT: u8 = 0;
const LOGOUT_REQUEST: u8 = 1;
const CONNECTION_DROPPED: u8 = 2;
const SESSION_DROPPED: u8 = 3;
const NEGOTIATION_REQUEST: u8 = 4;

/// What we end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// This connection.
    Connection,
    /// All connections of the session.
    Session,
}

impl FullFeature {
    /// Reports sense data. An initiator may be idle for long, and others do not look at unit attentions; Linux looks for new logical units
    /// when it is told like this that the inventory has changed.
    pub(super) fn report_event(&self, link: &mut Link, lun: LunAddress, sense: &Sense) {
        if self.is_discovery() {
            return;
        }
        let Some(leg) = self.listener(link, None) else { return };
        let sense = render(sense, SenseFormat::Fixed);
        let length = u16::try_from(sense.len()).unwrap_or(0).to_be_bytes();
        let data = [&length[..], &sense].concat();
        self.send_async_message(link.turn_to(leg), lun, SCSI_EVENT, [0; 3], data.into());
    }

    /// A connection that may be told something, other than this one.
    fn listener(&self, link: &Link, but: Option<Leg>) -> Option<Leg> {
        let may = |leg: &Leg| {
            let is_open = link.line(*leg).is_some_and(|line| !line.is_closing());
            Some(*leg) != but && is_open && !self.is_leaving(*leg)
        };
        self.members.iter().map(|member| member.leg).find(may)
    }

    /// Tells on another connection that this one is dropped, or has gone (RFC 7143 §11.9.1): the initiator may not have noticed, and waits
    /// for answers that do not come.
    pub(super) fn announce_loss(&self, link: &mut Link, lost: Leg) {
        let Some(cid) = self.member(lost).map(|member| member.cid) else { return };
        if let Some(leg) = self.listener(link, Some(lost)) {
            self.send_end(link.turn_to(leg), CONNECTION_DROPPED, cid);
        }
    }

    /// Asks for a logout of the connection at hand within so many seconds.
    pub(super) fn ask_for_logout(&self, link: &mut Link, seconds: u16) {
        self.send_async_message(link, LunAddress::default(), LOGOUT_REQUEST, [0, 0, seconds], Bytes::new());
    }

    /// Asks for a negotiation on the connection at hand, to be begun within so many seconds.
    pub(super) fn ask_for_negotiation(&self, link: &mut Link, seconds: u16) {
        self.send_async_message(
            link,
            LunAddress::default(),
            NEGOTIATION_REQUEST,
            [0, 0, seconds],
            Bytes::new(),
        );
    }

    /// Tells on all connections that we end them.
    pub(super) fn announce_end_everywhere(&self, link: &mut Link, ending: Ending) {
        for member in &self.members {
            self.announce_end(link.turn_to(member.leg), ending);
        }
    }

    /// Tells that we end the connection at hand or the session, and when the initiator may come again.
    pub(super) fn announce_end(&self, link: &mut Link, ending: Ending) {
        let Some(member) = self.member(link.leg()) else { return };
        match ending {
            Ending::Connection => self.send_end(link, CONNECTION_DROPPED, member.cid),
            Ending::Session => self.send_end(link, SESSION_DROPPED, 0),
        }
    }

    fn send_end(&self, link: &mut Link, event: u8, cid: u16) {
        let parameters = &self.session.parameters;
        let times = [cid, parameters.default_time2wait, parameters.default_time2retain];
        self.send_async_message(link, LunAddress::default(), event, times, Bytes::new());
    }

    fn send_async_message(
        &self,
        link: &mut Link,
        lun: LunAddress,
        event: u8,
        parameters: [u16; 3],
        data: Bytes,
    ) {
        let message = AsyncMessage { lun, event, vendor_code: 0, parameters, data };
        link.send(&self.window, &TargetPdu::AsyncMessage(message));
    }
}
