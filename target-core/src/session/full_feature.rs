//! The full feature phase: every PDU finds its way from here, commands in the order of their numbers.

use super::config::ConnectionConfig;
use super::event::{CloseReason, Leg, SessionRequest, SessionType, TaskId};
use super::fence::Fence;
use super::gaps::Gaps;
use super::link::Link;
use super::logout::Leaving;
use super::members::Member;
use super::ordering::Ordering;
use super::solicitation::Asking;
use super::task_management::WaitingManagement;
use super::tasks::Tasks;
use super::throttled::Throttled;
use super::window::{Arrival, CommandWindow, header_number, numbered};
use crate::login::catalog::Catalog;
use crate::pdu::error::RejectReason;
use crate::pdu::fields::{BHS_LEN, RESERVED_TAG, Serial};
use crate::pdu::initiator::{InitiatorPdu, NopOut, ScsiCommand};
use crate::pdu::target::{NopIn, TargetPdu};
use crate::scsi::lun_address::LunAddress;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Immediate tasks under way at a time, beyond which more are refused (RFC 7143 §4.2.2.1).
const MOST_IMMEDIATE: usize = 32;
/// Tags remembered of commands that went before their data-out had come.
const MOST_DEPARTED: usize = 256;

/// The connections of a session in their full feature phase.
pub(super) struct FullFeature {
    pub(super) config: Arc<ConnectionConfig>,
    pub(super) session: SessionRequest,
    pub(super) window: CommandWindow,
    pub(super) tasks: Tasks,
    pub(super) members: Vec<Member>,
    pub(super) ordering: Ordering,
    pub(super) waiting_management: Vec<WaitingManagement>,
    pub(super) early: BTreeMap<u32, Early>,
    /// Bytes of data that those hold which are no commands.
    pub(super) early_data: usize,
    departed: VecDeque<u32>,
    pub(super) throttled: Throttled,
    pub(super) asking: Asking,
    pub(super) gaps: Gaps,
    pub(super) fences: Vec<Fence>,
    pub(super) leaving: Vec<Leaving>,
    /// The initiator logs the whole session out.
    pub(super) is_ending: bool,
    /// It was asked to.
    pub(super) is_asked_to_end: bool,
}

/// A PDU with its header, which a Reject gives back.
pub(super) struct Received {
    /// Where it came.
    pub(super) leg: Leg,
    pub(super) header: [u8; BHS_LEN],
    pub(super) pdu: InitiatorPdu,
}

impl Received {
    /// Its data, if it may wait for its turn with any.
    fn data_mut(&mut self) -> Option<&mut Bytes> {
        match &mut self.pdu {
            InitiatorPdu::NopOut(it) => Some(&mut it.data),
            InitiatorPdu::Text(it) => Some(&mut it.data),
            // Of one that is to be refused.
            InitiatorPdu::ScsiCommand(it) => Some(&mut it.immediate_data),
            _ => None,
        }
    }

    /// Bytes of that.
    pub(super) fn data_len(&mut self) -> usize {
        self.data_mut().map_or(0, |data| data.len())
    }

    /// Before a wait, which would keep the receive buffer alive: the data is copied out of it.
    fn detach(&mut self) {
        if let Some(data) = self.data_mut() {
            *data = Bytes::copy_from_slice(data);
        }
    }
}

/// What waits for its CmdSN to be due.
pub(super) enum Early {
    Command(TaskId),
    Other(Box<Received>),
}

/// How a request stands in the order of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside the order.
    Immediate,
    /// Due, and holding a place in the window until it is answered.
    Due,
    /// Before its turn.
    Early,
}

impl FullFeature {
    /// After the login that `session` came of, whose requests carried `cmd_sn`.
    pub(super) fn new(
        config: Arc<ConnectionConfig>,
        catalog: Arc<dyn Catalog>,
        session: SessionRequest,
        cmd_sn: Serial,
        now: Instant,
    ) -> Self {
        Self {
            window: CommandWindow::new(cmd_sn, config.command_window),
            tasks: Tasks::default(),
            members: vec![Member::new(Leg::FIRST, &config, catalog, &session, now)],
            ordering: Ordering::default(),
            waiting_management: Vec::new(),
            early: BTreeMap::new(),
            early_data: 0,
            departed: VecDeque::new(),
            throttled: Throttled::default(),
            asking: Asking::default(),
            gaps: Gaps::new(&session.parameters, &config),
            fences: Vec::new(),
            leaving: Vec::new(),
            is_ending: false,
            is_asked_to_end: false,
            config,
            session,
        }
    }

    /// Something came from the initiator. A part of a PDU is a sign of life too: a long one may take its time on a slow line.
    pub(super) fn heard(&mut self, leg: Leg, now: Instant) {
        if let Some(member) = self.member_mut(leg) {
            member.keepalive.heard(now);
        }
    }

    /// Takes a PDU.
    pub(super) fn receive(&mut self, link: &mut Link, now: Instant, received: Received) {
        let Received { leg, header, pdu } = received;
        if self.members.len() > 1 {
            self.acknowledge(link, leg, &pdu);
        }
        match numbered(&pdu) {
            Some((true, _)) => {
                self.dispatch(link, now, Received { leg, header, pdu }, Place::Immediate);
                // An ABORT TASK may have filled a gap.
                self.follow_up(link, now);
            }
            Some((false, cmd_sn)) => {
                self.receive_numbered(link, now, Received { leg, header, pdu }, cmd_sn);
            }
            None => match pdu {
                InitiatorPdu::DataOut(data) => self.data_out(link, &header, data),
                // §11.16: there is nothing to be sent again at ErrorRecoveryLevel 0.
                InitiatorPdu::Snack(_) => {
                    link.reject(&self.window, RejectReason::SnackReject.code(), &header)
                }
                _ => {
                    link.reject(&self.window, RejectReason::ProtocolError.code(), &header);
                    link.close(CloseReason::ProtocolError);
                }
            },
        }
    }

    fn receive_numbered(&mut self, link: &mut Link, now: Instant, received: Received, cmd_sn: Serial) {
        match self.window.arrive(cmd_sn) {
            Arrival::Ignored => {}
            Arrival::Due => {
                self.dispatch(link, now, received, Place::Due);
                self.follow_up(link, now);
            }
            Arrival::Early => {
                let Received { leg, header, pdu } = received;
                let early = match pdu {
                    // Its unsolicited data may follow before its turn comes.
                    InitiatorPdu::ScsiCommand(command) if self.takes_commands(leg) => {
                        self.take_command(link, &header, command, Place::Early).map(Early::Command)
                    }
                    pdu => {
                        let mut received = Received { leg, header, pdu };
                        received.detach();
                        self.early_data += received.data_len();
                        Some(Early::Other(Box::new(received)))
                    }
                };
                if let Some(early) = early {
                    self.early.insert(cmd_sn.0, early);
                }
                self.watch_gaps(now);
            }
        }
    }

    /// Lets those have their turn that came early.
    fn follow_up(&mut self, link: &mut Link, now: Instant) {
        let leg = link.leg();
        // A logout may have ended the connection, and then nobody has a turn.
        while !link.is_closing() {
            self.manage_due(link);
            let Some(due) = self.window.next_early() else { break };
            match self.early.remove(&due.0) {
                Some(Early::Command(id)) if self.tasks.get(id).is_some() => self.start_command(link, now, id),
                Some(Early::Other(mut received)) => {
                    self.early_data -= received.data_len();
                    self.dispatch(link, now, *received, Place::Due);
                }
                // Refused or aborted before its turn.
                Some(Early::Command(_)) | None => self.window.finish(),
            }
        }
        self.watch_gaps(now);
        link.turn_to(leg);
    }

    /// Hands a request to those who know it.
    fn dispatch(&mut self, link: &mut Link, now: Instant, received: Received, place: Place) {
        let Received { leg, header, pdu } = received;
        link.turn_to(leg);
        if self.is_leaving(leg) {
            return self.refuse(link, &header, RejectReason::WaitingForLogout.code(), place);
        }
        match pdu {
            InitiatorPdu::NopOut(nop) => self.nop_out(link, nop, place),
            InitiatorPdu::Text(text) => self.text(link, &header, &text, place),
            InitiatorPdu::Logout(logout) => self.logout(link, now, &header, &logout, place),
            // RFC 7143 §4.3: a discovery session is good for nothing else.
            _ if self.is_discovery() => {
                self.refuse(link, &header, RejectReason::CommandNotSupported.code(), place);
            }
            InitiatorPdu::ScsiCommand(command) => {
                if let Some(id) = self.take_command(link, &header, command, place) {
                    self.start_command(link, now, id);
                }
            }
            InitiatorPdu::TaskManagement(request) => self.task_management(link, &header, &request, place),
            // Those without a number do not come here.
            InitiatorPdu::Login(_) | InitiatorPdu::DataOut(_) | InitiatorPdu::Snack(_) => {}
        }
    }

    /// Bytes that were received for requests which are not complete or have to wait for others.
    pub(super) fn gathered(&self) -> usize {
        self.tasks.gathered() + self.early_data
    }

    pub(super) fn is_discovery(&self) -> bool {
        self.session.session_type == SessionType::Discovery
    }

    fn takes_commands(&self, leg: Leg) -> bool {
        !self.is_discovery() && !self.is_leaving(leg)
    }

    /// A request that is answered at once gives its place in the window back.
    pub(super) fn conclude(&mut self, place: Place) {
        if place == Place::Due {
            self.window.finish();
        }
    }

    /// Answers a request with a Reject.
    pub(super) fn refuse(&mut self, link: &mut Link, header: &[u8; BHS_LEN], reason: u8, place: Place) {
        self.conclude(place);
        link.reject(&self.window, reason, header);
    }

    /// Checks what every new task has to fulfil.
    pub(super) fn admit(&self, tag: u32, immediate: bool) -> Result<(), RejectReason> {
        if self.tasks.by_tag(tag).is_some() {
            return Err(RejectReason::TaskInProgress);
        }
        if immediate && self.tasks.immediate() >= MOST_IMMEDIATE {
            return Err(RejectReason::ImmediateCommandReject);
        }
        Ok(())
    }

    /// Takes what is left of a PDU that was unacceptable. It is rejected, and its CmdSN used up so that later commands are not held back for it.
    pub(super) fn receive_bad(
        &mut self,
        link: &mut Link,
        now: Instant,
        reason: RejectReason,
        header: &[u8; BHS_LEN],
    ) {
        let place = match header_number(header) {
            Some((false, cmd_sn)) => match self.window.arrive(cmd_sn) {
                Arrival::Ignored => return,
                Arrival::Due => Place::Due,
                Arrival::Early => Place::Early,
            },
            _ => Place::Immediate,
        };
        self.refuse(link, header, reason.code(), place);
        self.follow_up(link, now);
    }

    /// Takes a PDU that has lost its data to a digest error; `pdu` is what its header tells. The header is in order, so its CmdSN counts.
    pub(super) fn receive_damaged(
        &mut self,
        link: &mut Link,
        now: Instant,
        header: &[u8; BHS_LEN],
        pdu: Option<InitiatorPdu>,
    ) {
        match pdu {
            Some(InitiatorPdu::DataOut(data)) => self.damaged_data_out(link, header, data),
            Some(InitiatorPdu::ScsiCommand(command)) if self.takes_commands(link.leg()) => {
                self.receive_damaged_command(link, now, header, command);
            }
            _ => self.receive_bad(link, now, RejectReason::DataDigestError, header),
        }
    }

    fn receive_damaged_command(
        &mut self,
        link: &mut Link,
        now: Instant,
        header: &[u8; BHS_LEN],
        command: ScsiCommand,
    ) {
        let cmd_sn = command.cmd_sn;
        let place = match command.immediate {
            true => Place::Immediate,
            false => match self.window.arrive(cmd_sn) {
                Arrival::Ignored => return,
                Arrival::Due => Place::Due,
                Arrival::Early => Place::Early,
            },
        };
        let id = self.take_damaged_command(link, header, command, place);
        match (id, place) {
            (None, _) => {}
            (Some(id), Place::Early) => {
                self.early.insert(cmd_sn.0, Early::Command(id));
            }
            (Some(id), Place::Immediate | Place::Due) => self.start_command(link, now, id),
        }
        self.follow_up(link, now);
    }

    /// Takes the command of a CmdSN in the window for received, though it has not come.
    pub(super) fn skip_command(&mut self, cmd_sn: Serial) {
        if self.window.arrive(cmd_sn) == Arrival::Due {
            self.window.finish();
        }
    }

    /// Remembers a command whose data-out may still come.
    pub(super) fn depart(&mut self, tag: u32) {
        if self.departed.len() >= MOST_DEPARTED {
            self.departed.pop_front();
        }
        self.departed.push_back(tag);
    }

    pub(super) fn has_departed(&self, tag: u32) -> bool {
        self.departed.contains(&tag)
    }

    fn nop_out(&mut self, link: &mut Link, nop: NopOut, place: Place) {
        self.conclude(place);
        // Without a tag it is an answer to us, or wants none; that it came is all there is to it.
        if nop.initiator_task_tag == RESERVED_TAG {
            return;
        }
        // A copy: the answer may wait for long, and would keep the receive buffer meanwhile.
        let Some(member) = self.member(link.leg()) else { return };
        let most = member.parameters.initiator_max_recv_data_segment_length as usize;
        let data = Bytes::copy_from_slice(nop.data.get(..most).unwrap_or(&nop.data));
        let answer = NopIn {
            lun: LunAddress::default(),
            initiator_task_tag: nop.initiator_task_tag,
            target_transfer_tag: RESERVED_TAG,
            data,
        };
        link.send(&self.window, &TargetPdu::NopIn(answer));
    }
}
