//! A connection of a session, and its login. All connections of a session number their commands together.

use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use glint_target_core::pdu::fields::Serial;
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::{LoginResponse, TargetPdu};

use super::End;
use super::line::Line;
use super::login::{Port, Stage};

/// What the connections of a session have in common.
pub(super) struct Numbers {
    pub(super) cmd_sn: AtomicU32,
    pub(super) tag: AtomicU32,
}

/// A session of one connection, or one connection of a session.
pub struct Initiator {
    pub(super) line: Line,
    portal: SocketAddr,
    port: Port,
    tsih: u16,
    cid: u16,
    pub(super) numbers: Arc<Numbers>,
    /// Commands that have ended while another was waited for.
    pub(super) ended: Vec<(u32, End)>,
    /// The target has asked for a logout.
    pub(super) is_leaving: bool,
}

impl Deref for Initiator {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.line
    }
}

impl DerefMut for Initiator {
    fn deref_mut(&mut self) -> &mut Line {
        &mut self.line
    }
}

impl Initiator {
    /// A connection on which nothing was said.
    #[track_caller]
    pub fn connect(portal: SocketAddr, port: Port) -> Self {
        Self::over(Line::connect(portal), portal, port)
    }

    /// The same over a connection that is there.
    pub(super) fn over(line: Line, portal: SocketAddr, port: Port) -> Self {
        let numbers = Numbers { cmd_sn: AtomicU32::new(port.cmd_sn), tag: AtomicU32::new(1) };
        let numbers = Arc::new(numbers);
        Self { line, portal, port, tsih: 0, cid: 0, numbers, ended: Vec::new(), is_leaving: false }
    }

    /// A session.
    #[track_caller]
    pub fn log_in(portal: SocketAddr, port: Port) -> Self {
        let mut initiator = Self::connect(portal, port);
        let answer = initiator.login();
        let status = (answer.status_class, answer.status_detail);
        assert_eq!(status, (0, 0), "the login of {:?} was refused", initiator.port);
        assert_ne!(answer.tsih, 0);
        initiator
    }

    /// A session, or the status with which it was refused.
    pub fn try_log_in(portal: SocketAddr, port: Port) -> Result<Self, (u8, u8)> {
        let mut initiator = Self::connect(portal, port);
        match initiator.login() {
            LoginResponse { status_class: 0, .. } => Ok(initiator),
            refused => Err((refused.status_class, refused.status_detail)),
        }
    }

    /// A new connection for the same session, which has not logged in.
    #[track_caller]
    pub fn newcomer(&self, cid: u16) -> Self {
        let (port, numbers) = (self.port.clone(), Arc::clone(&self.numbers));
        let (line, portal) = (Line::connect(self.portal), self.portal);
        Self { line, portal, port, tsih: self.tsih, cid, numbers, ended: Vec::new(), is_leaving: false }
    }

    /// The same from another address of this machine.
    #[track_caller]
    pub fn newcomer_from(&self, source: IpAddr, cid: u16) -> Self {
        Self { line: Line::connect_from(source, self.portal), ..self.newcomer(cid) }
    }

    /// Asks for one more connection.
    #[track_caller]
    pub fn join(&self, cid: u16) -> (Self, LoginResponse) {
        let mut newcomer = self.newcomer(cid);
        let answer = newcomer.login();
        (newcomer, answer)
    }

    /// Sessions, or connections of one, with CIDs from 0 on.
    #[track_caller]
    pub fn log_in_with(portal: SocketAddr, port: Port, connections: u16) -> Vec<Self> {
        let mut all = vec![Self::log_in(portal, port)];
        for cid in 1..connections {
            let (joined, answer) = all[0].join(cid);
            assert_eq!((answer.status_class, answer.tsih), (0, all[0].tsih), "connection {cid}");
            all.push(joined);
        }
        all
    }

    /// Logs in with one request.
    #[track_caller]
    pub fn login(&mut self) -> LoginResponse {
        self.send_login(Stage::Operational, true);
        self.login_response()
    }

    /// Sends what the port has to say at login.
    #[track_caller]
    pub fn send_login(&mut self, stage: Stage, transit: bool) {
        let mut keys = self.port.names();
        if stage == Stage::Operational {
            keys += &self.port.keys;
        }
        let request = self.login_request(stage, transit, &keys);
        self.send(request);
    }

    /// A login request that says this.
    pub fn login_request(&self, stage: Stage, transit: bool, keys: &str) -> InitiatorPdu {
        let numbers = (self.cmd_sn(), self.line.exp_stat_sn);
        self.port.request((self.tsih, self.cid), numbers, (stage, transit), keys)
    }

    /// The login response that comes next.
    #[track_caller]
    pub fn login_response(&mut self) -> LoginResponse {
        match self.receive() {
            Some(TargetPdu::Login(response)) => {
                if response.status_class == 0 {
                    self.tsih = response.tsih;
                }
                response
            }
            other => panic!("no login response: {other:?}"),
        }
    }

    /// CID.
    pub fn cid(&self) -> u16 {
        self.cid
    }

    /// TSIH.
    pub fn tsih(&self) -> u16 {
        self.tsih
    }

    /// What the next login of a connection like this asks for.
    pub fn set_tsih(&mut self, tsih: u16) {
        self.tsih = tsih;
    }

    /// The port that it logs in as.
    pub fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    /// CmdSN of the next command of the session.
    pub fn cmd_sn(&self) -> Serial {
        Serial(self.numbers.cmd_sn.load(Ordering::Relaxed))
    }

    /// Goes on with another CmdSN: so many further, or back.
    pub fn skip(&self, commands: i32) {
        self.numbers.cmd_sn.fetch_add(commands.cast_unsigned(), Ordering::Relaxed);
    }
}
