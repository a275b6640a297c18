//! An initiator over a plain socket that does what it is told and nothing by itself: for what real ones never do, or hide from their
//! users.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{
    DataOut, InitiatorPdu, LoginRequest, LogoutRequest, NopOut, ScsiCommand, TaskManagementRequest,
};
use glint_target_core::pdu::target::{AsyncMessage, Numbering, ReadyToTransfer};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;

pub use glint_target_core::pdu::target::TargetPdu;

/// No answer takes longer than this unless the test says so.
const PATIENCE: Duration = Duration::from_secs(30);

/// SCSI status codes.
pub const GOOD: u8 = 0x00;
/// CHECK CONDITION.
pub const CHECK_CONDITION: u8 = 0x02;
/// RESERVATION CONFLICT.
pub const RESERVATION_CONFLICT: u8 = 0x18;
/// TASK ABORTED.
pub const TASK_ABORTED: u8 = 0x40;

/// TEST UNIT READY.
pub const TEST_UNIT_READY: [u8; 6] = [0; 6];

/// Task management functions (RFC 7143 §11.5.1).
pub const CLEAR_TASK_SET: u8 = 4;
/// LOGICAL UNIT RESET.
pub const LOGICAL_UNIT_RESET: u8 = 5;
/// TARGET COLD RESET.
pub const TARGET_COLD_RESET: u8 = 7;

/// The stage of a login that a request is in (RFC 7143 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// SecurityNegotiation.
    Security,
    /// LoginOperationalNegotiation.
    Operational,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// SCSI status.
    pub status: u8,
    /// Sense data.
    pub sense: Vec<u8>,
    /// Data that was read.
    pub data: Vec<u8>,
}

impl End {
    /// Sense key, ASC and ASCQ of fixed-format sense data.
    pub fn condition(&self) -> Option<(u8, u8, u8)> {
        Some((self.sense.get(2)? & 0x0f, *self.sense.get(12)?, *self.sense.get(13)?))
    }
}

/// See the module.
pub struct Initiator {
    socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    cmd_sn: u32,
    next_tag: u32,
    heard: Numbering,
}

impl Initiator {
    /// A connection on which nothing was said.
    #[track_caller]
    pub fn connect(portal: SocketAddr) -> Self {
        let socket = TcpStream::connect(portal).expect("glint takes connections");
        socket.set_nodelay(true).expect("no delay");
        socket.set_read_timeout(Some(PATIENCE)).expect("a read time limit");
        socket.set_write_timeout(Some(PATIENCE)).expect("a write time limit");
        Self {
            socket,
            decoder: FrameDecoder::new((1 << 24) - 1),
            input: BytesMut::new(),
            cmd_sn: 1,
            next_tag: 1,
            heard: Numbering::default(),
        }
    }

    /// A session with a target, for an initiator port of this number.
    #[track_caller]
    pub fn log_in(portal: SocketAddr, target: &str, port: u8) -> Self {
        let mut initiator = Self::connect(portal);
        initiator.send_login(Stage::Operational, true, &session_keys(target), port);
        assert_eq!(initiator.login_status(), (0, 0), "the login of port {port} was refused");
        initiator
    }

    /// A discovery session, or the status with which it was refused.
    pub fn discover(portal: SocketAddr, port: u8) -> Result<Self, (u8, u8)> {
        let mut initiator = Self::connect(portal);
        let keys = "InitiatorName=iqn.2026-12.io.glint.test:raw\0SessionType=Discovery\0";
        initiator.send_login(Stage::Operational, true, keys, port);
        match initiator.login_status() {
            (0, 0) => Ok(initiator),
            refused => Err(refused),
        }
    }

    /// Sends a login request; one that does not `transit` has more to say.
    pub fn send_login(&mut self, stage: Stage, transit: bool, keys: &str, port: u8) {
        let (current_stage, next_stage) = match (stage, transit) {
            (Stage::Security, false) => (0, 0),
            (Stage::Security, true) => (0, 1),
            (Stage::Operational, false) => (1, 0),
            (Stage::Operational, true) => (1, 3),
        };
        self.send(InitiatorPdu::Login(LoginRequest {
            transit,
            continues: false,
            current_stage,
            next_stage,
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 0, 0, 0, 0, port]),
            tsih: 0,
            initiator_task_tag: 0,
            cid: 1,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: Bytes::copy_from_slice(keys.as_bytes()),
        }));
    }

    /// Status-Class and Status-Detail of the login response that comes next.
    #[track_caller]
    pub fn login_status(&mut self) -> (u8, u8) {
        match self.receive() {
            Some(TargetPdu::Login(response)) => (response.status_class, response.status_detail),
            other => panic!("no login response: {other:?}"),
        }
    }

    /// Sends a command that moves nothing or reads; gives its tag.
    pub fn command(&mut self, cdb: &[u8], read: u32) -> u32 {
        let command =
            ScsiCommand { read: read > 0, expected_data_transfer_length: read, ..self.next_command(cdb) };
        self.send_command(command)
    }

    /// Sends a command that writes; `unsolicited`: data follows unasked. Gives its tag.
    pub fn write_command(&mut self, cdb: &[u8], length: u32, unsolicited: bool) -> u32 {
        let command = ScsiCommand {
            is_final: !unsolicited,
            write: true,
            expected_data_transfer_length: length,
            ..self.next_command(cdb)
        };
        self.send_command(command)
    }

    /// Sends a command with all its data in it; gives its tag.
    pub fn command_with(&mut self, cdb: &[u8], data: &[u8]) -> u32 {
        let command = ScsiCommand {
            write: true,
            expected_data_transfer_length: u32::try_from(data.len()).expect("not that much"),
            immediate_data: Bytes::copy_from_slice(data),
            ..self.next_command(cdb)
        };
        self.send_command(command)
    }

    fn next_command(&mut self, cdb: &[u8]) -> ScsiCommand {
        let mut padded = [0; 16];
        padded.get_mut(..cdb.len()).expect("a CDB of at most 16 bytes").copy_from_slice(cdb);
        self.next_tag += 1;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        ScsiCommand {
            immediate: false,
            is_final: true,
            read: false,
            write: false,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.next_tag,
            expected_data_transfer_length: 0,
            bidirectional_read_length: 0,
            cmd_sn: Serial(self.cmd_sn.wrapping_sub(1)),
            exp_stat_sn: self.heard.stat_sn,
            cdb: padded.into(),
            immediate_data: Bytes::new(),
        }
    }

    fn send_command(&mut self, command: ScsiCommand) -> u32 {
        let tag = command.initiator_task_tag;
        self.send(InitiatorPdu::ScsiCommand(command));
        tag
    }

    /// Sends data of a command that was not asked for.
    pub fn unsolicited(&mut self, tag: u32, offset: u32, data: &[u8], is_final: bool) {
        self.data_out(tag, RESERVED_TAG, offset, data, is_final);
    }

    /// Answers an R2T with zeros.
    pub fn answer(&mut self, r2t: &ReadyToTransfer) {
        let data = vec![0; r2t.desired_length as usize];
        self.data_out(r2t.initiator_task_tag, r2t.target_transfer_tag, r2t.buffer_offset, &data, true);
    }

    fn data_out(&mut self, tag: u32, target_transfer_tag: u32, offset: u32, data: &[u8], is_final: bool) {
        self.send(InitiatorPdu::DataOut(DataOut {
            is_final,
            lun: LunAddress::from_number(0),
            initiator_task_tag: tag,
            target_transfer_tag,
            exp_stat_sn: self.heard.stat_sn,
            data_sn: 0,
            buffer_offset: offset,
            data: Bytes::copy_from_slice(data),
        }));
    }

    /// Sends a task management function for LUN 0, to be carried out at once; gives its tag.
    pub fn send_management(&mut self, function: u8) -> u32 {
        self.next_tag += 1;
        self.send(InitiatorPdu::TaskManagement(TaskManagementRequest {
            immediate: true,
            function,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.next_tag,
            referenced_task_tag: RESERVED_TAG,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: self.heard.stat_sn,
            ref_cmd_sn: Serial(0),
            exp_data_sn: 0,
        }));
        self.next_tag
    }

    /// Runs a task management function; gives the response, which has to come next.
    #[track_caller]
    pub fn manage(&mut self, function: u8) -> u8 {
        self.send_management(function);
        match self.receive() {
            Some(TargetPdu::TaskManagement(response)) => response.response,
            other => panic!("no task management response: {other:?}"),
        }
    }

    /// Sends a logout request that closes the session.
    pub fn send_logout(&mut self) {
        self.send(InitiatorPdu::Logout(LogoutRequest {
            immediate: true,
            reason: 0,
            initiator_task_tag: 0,
            cid: 1,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: self.heard.stat_sn,
        }));
    }

    /// Logs out; the target has to answer next, and close.
    #[track_caller]
    pub fn log_out(mut self) {
        self.send_logout();
        match self.receive() {
            Some(TargetPdu::Logout(response)) => assert_eq!(response.response, 0),
            other => panic!("no logout response: {other:?}"),
        }
        assert!(self.receive().is_none(), "the target goes on after a logout");
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("glint takes what it is sent");
    }

    /// Sends a PDU.
    pub fn send(&mut self, pdu: InitiatorPdu) {
        let mut out = BytesMut::new();
        pdu.encode(Digest::None, Digest::None, &mut out);
        self.send_bytes(&out);
    }

    /// The next PDU; none when the target has closed.
    #[track_caller]
    pub fn receive(&mut self) -> Option<TargetPdu> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).expect("a good frame") {
                let (pdu, numbering) = TargetPdu::parse(frame).expect("a good PDU");
                self.heard = numbering;
                return Some(pdu);
            }
            let mut piece = vec![0; 1 << 16];
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.input.extend_from_slice(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    /// The R2T that comes next.
    #[track_caller]
    pub fn r2t(&mut self) -> ReadyToTransfer {
        match self.receive() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => r2t,
            other => panic!("no R2T: {other:?}"),
        }
    }

    /// The Asynchronous Message that comes next.
    #[track_caller]
    pub fn message(&mut self) -> AsyncMessage {
        match self.receive() {
            Some(TargetPdu::AsyncMessage(message)) => message,
            other => panic!("no Asynchronous Message: {other:?}"),
        }
    }

    /// The end of the command with this tag, which has to be the next to end.
    #[track_caller]
    pub fn end(&mut self, tag: u32) -> End {
        let mut data = Vec::new();
        loop {
            match self.receive() {
                Some(TargetPdu::ScsiResponse(response)) => {
                    assert_eq!(response.initiator_task_tag, tag);
                    return End { status: response.status, sense: response.sense.to_vec(), data };
                }
                Some(TargetPdu::DataIn(part)) => {
                    assert_eq!(part.initiator_task_tag, tag);
                    data.extend_from_slice(&part.data.to_bytes());
                    if let Some(status) = part.status {
                        return End { status: status.status, sense: Vec::new(), data };
                    }
                }
                other => panic!("no response: {other:?}"),
            }
        }
    }

    /// Runs a command that moves nothing or reads, to its end.
    #[track_caller]
    pub fn run(&mut self, cdb: &[u8], read: u32) -> End {
        let tag = self.command(cdb, read);
        self.end(tag)
    }

    /// Runs a command with its data to its end.
    #[track_caller]
    pub fn run_with(&mut self, cdb: &[u8], data: &[u8]) -> End {
        let tag = self.command_with(cdb, data);
        self.end(tag)
    }

    /// Hears the unit attentions that are pending, one TEST UNIT READY for each; gives their ASC and ASCQ.
    #[track_caller]
    pub fn attentions(&mut self) -> Vec<(u8, u8)> {
        let mut told = Vec::new();
        loop {
            let end = self.run(&TEST_UNIT_READY, 0);
            match end.condition() {
                Some((0x06, asc, ascq)) => told.push((asc, ascq)),
                _ if end.status == GOOD => return told,
                _ => panic!("neither good nor a unit attention: {end:?}"),
            }
        }
    }

    /// Commands that may be sent now: after all have ended it has to be the whole window.
    #[track_caller]
    pub fn window(&mut self) -> u32 {
        self.send(InitiatorPdu::NopOut(NopOut {
            immediate: true,
            lun: LunAddress::default(),
            initiator_task_tag: 0,
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: self.heard.stat_sn,
            data: Bytes::new(),
        }));
        match self.receive() {
            Some(TargetPdu::NopIn(_)) => {}
            other => panic!("no answer to a ping: {other:?}"),
        }
        self.heard.max_cmd_sn.0.wrapping_sub(self.heard.exp_cmd_sn.0).wrapping_add(1)
    }

    /// Goes away with a TCP reset.
    pub fn vanish_by_reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO))
            .expect("a socket that does not linger");
    }

    /// Says that nothing more will come, and stays to hear the end.
    pub fn vanish_by_shutdown(&self) {
        // One that was closed already has heard it.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

/// What a session says of itself at login.
pub fn session_keys(target: &str) -> String {
    format!(
        "InitiatorName=iqn.2026-12.io.glint.test:raw\0SessionType=Normal\0TargetName={target}\0\
         InitialR2T=No\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0"
    )
}
