//! A plain initiator over a blocking socket, which does what a test tells it and nothing by itself.

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{DataOut, InitiatorPdu, LoginRequest, LogoutRequest, ScsiCommand};
use glint_target_core::pdu::target::{LoginResponse, TargetPdu};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Long enough for a busy machine; no test that goes well waits for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Initiator {
    pub(super) socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    pub(super) cmd_sn: u32,
    pub(super) next_tag: u32,
    /// The names have been sent.
    named: bool,
    /// What the login asks for.
    pub(super) tsih: u16,
    pub(super) cid: u16,
    pub(super) max_connections: u16,
}

impl Initiator {
    pub(super) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        let decoder = FrameDecoder::new(1 << 24);
        Self {
            socket,
            decoder,
            input: BytesMut::new(),
            cmd_sn: 1,
            next_tag: 1,
            named: false,
            tsih: 0,
            cid: 0,
            max_connections: 8,
        }
    }

    /// A session that is logged in.
    pub(super) fn session(address: SocketAddr, isid: u8) -> Self {
        let mut initiator = Self::connect(address);
        let answer = initiator.login(isid);
        assert_eq!((answer.status_class, answer.status_detail), (0, 0), "login refused");
        assert_ne!(answer.tsih, 0);
        initiator
    }

    pub(super) fn login(&mut self, isid: u8) -> LoginResponse {
        self.send_login(isid, true);
        match self.receive() {
            Some(TargetPdu::Login(answer)) => answer,
            other => panic!("no login response: {other:?}"),
        }
    }

    pub(super) fn send_login(&mut self, isid: u8, transit: bool) {
        let login = self.login_request(isid, transit);
        self.send(login);
    }

    /// Asks once more without coming to an end; tells whether the target still answers.
    pub(super) fn negotiate_on(&mut self, isid: u8) -> bool {
        let mut out = BytesMut::new();
        let mut login = self.login_request(isid, false);
        if std::mem::replace(&mut self.named, true)
            && let InitiatorPdu::Login(request) = &mut login
        {
            request.data = Bytes::new();
        }
        login.encode(Digest::None, Digest::None, &mut out);
        self.socket.write_all(&out).is_ok() && self.receive().is_some()
    }

    fn login_request(&self, isid: u8, transit: bool) -> InitiatorPdu {
        let text = format!(
            "InitiatorName=iqn.2026-12.test:initiator\0SessionType=Normal\0TargetName=iqn.2026-12.test:target\0\
             InitialR2T=No\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0MaxConnections={}\0",
            self.max_connections
        );
        InitiatorPdu::Login(LoginRequest {
            transit,
            continues: false,
            current_stage: 1,
            next_stage: if transit { 3 } else { 0 },
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 0, 0, 0, 0, isid]),
            tsih: self.tsih,
            initiator_task_tag: 0,
            cid: self.cid,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: text.into(),
        })
    }

    /// Sends a command without data-out; gives its tag.
    pub(super) fn command(&mut self, cdb: [u8; 16], read_length: u32) -> u32 {
        let tag = self.next_tag;
        self.next_tag += 1;
        let cmd_sn = Serial(self.cmd_sn);
        self.cmd_sn += 1;
        self.send(InitiatorPdu::ScsiCommand(ScsiCommand {
            immediate: false,
            is_final: true,
            read: read_length > 0,
            write: false,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: tag,
            expected_data_transfer_length: read_length,
            bidirectional_read_length: 0,
            cmd_sn,
            exp_stat_sn: Serial(0),
            cdb: cdb.into(),
            immediate_data: Bytes::new(),
        }));
        tag
    }

    /// Sends a write command and its unsolicited data without the last byte; tells whether the target takes it.
    pub(super) fn begin_write(&mut self, length: u32) -> std::io::Result<()> {
        let tag = self.next_tag;
        self.send_write(length);
        let data = vec![0; length as usize - 1];
        self.try_send(data_out(tag, 0, data, false))
    }

    /// Writes with unsolicited data; gives the status.
    pub(super) fn write(&mut self, length: u32) -> u8 {
        let tag = self.next_tag;
        self.send_write(length);
        self.send(data_out(tag, 0, vec![0; length as usize], true));
        self.status(tag).0
    }

    /// Writes what the target asks for; gives the status.
    pub(super) fn write_as_asked(&mut self, length: u32) -> u8 {
        let tag = self.next_tag;
        self.send_write_command(length, true);
        loop {
            match self.receive() {
                Some(TargetPdu::ReadyToTransfer(r2t)) => {
                    assert_eq!(r2t.initiator_task_tag, tag);
                    let data = vec![0; r2t.desired_length as usize];
                    let InitiatorPdu::DataOut(pdu) = data_out(tag, r2t.buffer_offset, data, true) else {
                        continue;
                    };
                    let target_transfer_tag = r2t.target_transfer_tag;
                    self.send(InitiatorPdu::DataOut(DataOut { target_transfer_tag, ..pdu }));
                }
                Some(TargetPdu::ScsiResponse(response)) => {
                    assert_eq!(response.initiator_task_tag, tag);
                    return response.status;
                }
                other => panic!("neither R2T nor response: {other:?}"),
            }
        }
    }

    fn send_write(&mut self, length: u32) {
        self.send_write_command(length, false);
    }

    fn send_write_command(&mut self, length: u32, is_final: bool) {
        let (tag, cmd_sn) = (self.next_tag, Serial(self.cmd_sn));
        self.next_tag += 1;
        self.cmd_sn += 1;
        // A connection that is closed is noticed by what follows.
        let _ = self.try_send(InitiatorPdu::ScsiCommand(ScsiCommand {
            immediate: false,
            is_final,
            read: false,
            write: true,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: tag,
            expected_data_transfer_length: length,
            bidirectional_read_length: 0,
            cmd_sn,
            exp_stat_sn: Serial(0),
            cdb: [0; 16].into(),
            immediate_data: Bytes::new(),
        }));
    }

    fn try_send(&mut self, pdu: InitiatorPdu) -> std::io::Result<()> {
        let mut out = BytesMut::new();
        pdu.encode(Digest::None, Digest::None, &mut out);
        self.socket.write_all(&out)
    }

    pub(super) fn logout(&mut self) {
        self.log_out(0, self.cid);
    }

    /// With a reason, of the connection with this CID if it is for one.
    pub(super) fn log_out(&mut self, reason: u8, cid: u16) {
        let cmd_sn = Serial(self.cmd_sn);
        self.cmd_sn += 1;
        self.send(InitiatorPdu::Logout(LogoutRequest {
            immediate: false,
            reason,
            initiator_task_tag: 0xffff,
            cid,
            cmd_sn,
            exp_stat_sn: Serial(0),
        }));
    }

    pub(super) fn send(&mut self, pdu: InitiatorPdu) {
        let mut out = BytesMut::new();
        pdu.encode(Digest::None, Digest::None, &mut out);
        self.socket.write_all(&out).unwrap();
    }

    /// The next PDU; none when the target has closed.
    pub(super) fn receive(&mut self) -> Option<TargetPdu> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                return Some(TargetPdu::parse(frame).unwrap().0);
            }
            let mut piece = vec![0; 1 << 16];
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.input.extend_from_slice(piece.get(..read).unwrap()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    /// Status and sense of the command with this tag, which must be the next to end.
    pub(super) fn status(&mut self, tag: u32) -> (u8, Vec<u8>) {
        loop {
            match self.receive() {
                Some(TargetPdu::ScsiResponse(response)) => {
                    assert_eq!(response.initiator_task_tag, tag);
                    return (response.status, response.sense.to_vec());
                }
                Some(TargetPdu::DataIn(data)) => {
                    assert_eq!(data.initiator_task_tag, tag);
                    if let Some(status) = data.status {
                        return (status.status, Vec::new());
                    }
                }
                other => panic!("no response: {other:?}"),
            }
        }
    }

    /// Runs a command to its end.
    pub(super) fn run(&mut self, cdb: [u8; 16], read_length: u32) -> (u8, Vec<u8>) {
        let tag = self.command(cdb, read_length);
        self.status(tag)
    }

    /// Reads until the target closes.
    pub(super) fn expect_close(&mut self) {
        while self.receive().is_some() {}
    }
}

fn data_out(tag: u32, offset: u32, data: Vec<u8>, is_final: bool) -> InitiatorPdu {
    InitiatorPdu::DataOut(DataOut {
        is_final,
        lun: LunAddress::from_number(0),
        initiator_task_tag: tag,
        target_transfer_tag: RESERVED_TAG,
        exp_stat_sn: Serial(0),
        data_sn: 0,
        buffer_offset: offset,
        data: data.into(),
    })
}
