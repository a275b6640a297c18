//! Commands to a target that may go at any moment: that it has gone is told, where everything else here panics.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use glint_target_core::pdu::target::{AsyncMessage, TargetPdu};

use super::End;
use super::commands::PIECE;
use super::line::Line;
use super::login::{Port, Stage};
use super::session::Initiator;

/// The target asks for a logout (RFC 7143 §11.9.1).
const REQUEST_LOGOUT: u8 = 1;

/// Why a command, or a login, has no end that one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The connection is over, or there is none to be had.
    Closed(String),
    /// Nothing came in time.
    Silent,
    /// The login was refused, with this status class and detail.
    Refused(u8, u8),
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Self::Closed(error.to_string())
    }
}

/// What a command moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer<'a> {
    /// So many bytes at the most, and maybe none, to here.
    In(u32),
    /// This, to the target.
    Out(&'a [u8]),
}

impl Initiator {
    /// A session, if there is one to be had within this time.
    pub fn attempt_login(portal: SocketAddr, port: Port, limit: Duration) -> Result<Self, Lost> {
        let deadline = Instant::now() + limit;
        let mut initiator = Self::over(Line::try_connect(portal, limit)?, portal, port);
        let keys = initiator.port_mut().names() + &initiator.port_mut().keys.clone();
        let request = initiator.login_request(Stage::Operational, true, &keys);
        initiator.try_send(&request)?;
        match initiator.next(deadline)? {
            TargetPdu::Login(response) if response.status_class == 0 => {
                initiator.set_tsih(response.tsih);
                Ok(initiator)
            }
            TargetPdu::Login(response) => Err(Lost::Refused(response.status_class, response.status_detail)),
            other => panic!("no login response: {other:?}"),
        }
    }

    /// Runs a command to its end, if that comes within this time. One that is lost must not be given another command.
    pub fn attempt(&mut self, cdb: &[u8], transfer: Transfer<'_>, limit: Duration) -> Result<End, Lost> {
        let deadline = Instant::now() + limit;
        self.hear()?;
        let (tag, out) = self.begin(cdb, transfer)?;
        let mut read = Vec::new();
        loop {
            match self.next(deadline)? {
                TargetPdu::ScsiResponse(it) if it.initiator_task_tag == tag => {
                    return Ok(End { status: it.status, sense: it.sense.to_vec(), data: read });
                }
                TargetPdu::DataIn(part) if part.initiator_task_tag == tag => {
                    assert_eq!(part.buffer_offset as usize, read.len(), "data has its order");
                    read.extend_from_slice(&part.data.to_bytes());
                    if let Some(status) = part.status {
                        return Ok(End { status: status.status, sense: Vec::new(), data: read });
                    }
                }
                TargetPdu::ReadyToTransfer(r2t) if r2t.initiator_task_tag == tag => {
                    for pdu in self.burst(PIECE, &r2t, out) {
                        self.try_send(&pdu)?;
                    }
                }
                other => self.take_note(other)?,
            }
        }
    }

    fn begin<'a>(&mut self, cdb: &[u8], transfer: Transfer<'a>) -> Result<(u32, &'a [u8]), Lost> {
        use glint_target_core::pdu::initiator::{InitiatorPdu, ScsiCommand};
        let (command, out): (_, &[u8]) = match transfer {
            Transfer::In(length) => (self.prepare(cdb, length), &[]),
            Transfer::Out(data) => {
                let length = u32::try_from(data.len()).expect("not that much");
                let command = self.prepare_write(cdb, length, false);
                // What fits goes with it, as real initiators send it.
                let unasked = if data.len() <= PIECE { data } else { &[] };
                let immediate_data = bytes::Bytes::copy_from_slice(unasked);
                (ScsiCommand { immediate_data, ..command }, data)
            }
        };
        let tag = command.initiator_task_tag;
        let exp_stat_sn = self.line.exp_stat_sn;
        self.try_send(&InitiatorPdu::ScsiCommand(ScsiCommand { exp_stat_sn, ..command }))?;
        Ok((tag, out))
    }

    /// Takes what has come by itself since the last command.
    pub fn hear(&mut self) -> Result<(), Lost> {
        while self.has_news() {
            let pdu = self.next(Instant::now() + Duration::from_secs(1))?;
            self.take_note(pdu)?;
        }
        Ok(())
    }

    /// Whether the target has asked for a logout.
    pub fn is_asked_to_leave(&self) -> bool {
        self.is_leaving
    }

    /// Logs out as it was asked to, and closes.
    pub fn leave(mut self) {
        let cid = self.cid();
        // One that closes first, or says nothing, is as well rid of it.
        if self.send_logout(0, cid).is_ok() {
            let _ = self.next(Instant::now() + Duration::from_millis(500));
        }
    }

    fn next(&mut self, deadline: Instant) -> Result<TargetPdu, Lost> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.try_receive_within(left)? {
            Some(Some(pdu)) => Ok(pdu),
            Some(None) => Err(Lost::Closed("by the target".into())),
            None => Err(Lost::Silent),
        }
    }

    fn take_note(&mut self, pdu: TargetPdu) -> Result<(), Lost> {
        match pdu {
            TargetPdu::NopIn(ping) => self.try_answer_ping(&ping)?,
            TargetPdu::AsyncMessage(AsyncMessage { event, .. }) => {
                self.is_leaving |= event == REQUEST_LOGOUT;
            }
            other => panic!("nobody asked for {other:?}"),
        }
        Ok(())
    }
}
