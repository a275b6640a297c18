//! An initiator that has several connections in one session and does what a test tells it.

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{DataOut, InitiatorPdu, LoginRequest, LogoutRequest, ScsiCommand};
use glint_target_core::pdu::target::{LoginResponse, ReadyToTransfer, TargetPdu};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;
use glint_testkit::glint::Glint;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(super) const TARGET: &str = "iqn.2026-12.io.glint:disk";
const BLOCK: usize = 512;
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One connection of the session.
pub(super) struct Leg {
    pub(super) socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    /// ExpStatSN, once there was a status.
    pub(super) exp_stat_sn: Serial,
}

/// The session: what its connections have in common.
pub(super) struct Session {
    portal: SocketAddr,
    pub(super) tsih: u16,
    pub(super) cmd_sn: u32,
    pub(super) tag: u32,
    pub(super) legs: Vec<Leg>,
}

impl Leg {
    pub(super) fn connect(portal: SocketAddr) -> Self {
        let socket = TcpStream::connect(portal).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, decoder: FrameDecoder::new(1 << 24), input: BytesMut::new(), exp_stat_sn: Serial(0) }
    }

    pub(super) fn send(&mut self, pdu: impl Into<InitiatorPdu>) {
        let mut bytes = BytesMut::new();
        pdu.into().encode(Digest::None, Digest::None, &mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    /// The next PDU; none when the target has closed.
    pub(super) fn receive(&mut self) -> Option<TargetPdu> {
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).unwrap() {
                let (pdu, numbers) = TargetPdu::parse(frame).unwrap();
                let is_status = match &pdu {
                    TargetPdu::DataIn(data) => data.status.is_some(),
                    TargetPdu::ReadyToTransfer(_) => false,
                    TargetPdu::NopIn(nop) => nop.initiator_task_tag != RESERVED_TAG,
                    _ => true,
                };
                if is_status {
                    // StatSN is the connection's own, whatever happens on others.
                    assert!(self.exp_stat_sn == Serial(0) || self.exp_stat_sn == numbers.stat_sn);
                    self.exp_stat_sn = numbers.stat_sn.plus(1);
                }
                return Some(pdu);
            }
            let mut piece = vec![0; 1 << 18];
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(read) => self.input.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    pub(super) fn r2t(&mut self) -> ReadyToTransfer {
        match self.receive() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => r2t,
            other => panic!("expected an R2T, not {other:?}"),
        }
    }

    /// Sends what is asked for until the command has ended.
    pub(super) fn serve(&mut self, tag: u32, data: &[u8]) {
        loop {
            match self.receive() {
                Some(TargetPdu::ReadyToTransfer(r2t)) => self.answer(&r2t, data),
                Some(TargetPdu::ScsiResponse(response)) => {
                    assert_eq!((response.initiator_task_tag, response.status), (tag, 0), "{response:?}");
                    return;
                }
                other => panic!("neither R2T nor response: {other:?}"),
            }
        }
    }

    pub(super) fn answer(&mut self, r2t: &ReadyToTransfer, data: &[u8]) {
        let start = r2t.buffer_offset as usize;
        let burst = &data[start..start + r2t.desired_length as usize];
        let count = burst.chunks(8192).len();
        for (nth, piece) in burst.chunks(8192).enumerate() {
            let pdu = DataOut {
                is_final: nth + 1 == count,
                lun: r2t.lun,
                initiator_task_tag: r2t.initiator_task_tag,
                target_transfer_tag: r2t.target_transfer_tag,
                exp_stat_sn: self.exp_stat_sn,
                data_sn: nth as u32,
                buffer_offset: (start + nth * 8192) as u32,
                data: Bytes::copy_from_slice(piece),
            };
            self.send(InitiatorPdu::DataOut(pdu));
        }
    }

    /// The data of a read, and nothing else.
    pub(super) fn data(&mut self, tag: u32) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.receive() {
                Some(TargetPdu::DataIn(data)) => {
                    assert_eq!((data.initiator_task_tag, data.buffer_offset as usize), (tag, all.len()));
                    all.extend_from_slice(&data.data.to_bytes());
                    if let Some(status) = data.status {
                        assert_eq!(status.status, 0);
                        return all;
                    }
                }
                other => panic!("expected data, not {other:?}"),
            }
        }
    }

    pub(super) fn is_silent(&mut self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        let nothing = self.input.is_empty() && self.socket.peek(&mut [0]).is_err();
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        nothing
    }

    pub(super) fn expect_close(&mut self) {
        while self.receive().is_some() {}
    }
}

impl Session {
    pub(super) fn begin(glint: &Glint, connections: u16) -> Self {
        let mut session =
            Self { portal: glint.portal(), tsih: 0, cmd_sn: 0xffff_fff0, tag: 0, legs: Vec::new() };
        for cid in 0..connections {
            let (leg, answer) = session.log_in(cid);
            assert_eq!((answer.status_class, answer.status_detail), (0, 0), "connection {cid}");
            session.tsih = answer.tsih;
            session.legs.push(leg);
        }
        session.take_attention();
        session
    }

    /// Takes what the unit has to tell first.
    pub(super) fn take_attention(&mut self) {
        for _ in 0..8 {
            let command = self.command(0, 0, 0);
            self.send(0, &command);
            match self.legs[0].receive() {
                Some(TargetPdu::ScsiResponse(response)) if response.status == 0 => return,
                Some(TargetPdu::ScsiResponse(_)) => {}
                other => panic!("expected a response, not {other:?}"),
            }
        }
        panic!("the unit does not become ready");
    }

    pub(super) fn log_in(&self, cid: u16) -> (Leg, LoginResponse) {
        let mut leg = Leg::connect(self.portal);
        leg.send(InitiatorPdu::Login(self.login_request(cid)));
        match leg.receive() {
            Some(TargetPdu::Login(answer)) => (leg, answer),
            other => panic!("no login response: {other:?}"),
        }
    }

    pub(super) fn login_request(&self, cid: u16) -> LoginRequest {
        let keys = [
            "InitiatorName=iqn.2026-12.test:windows",
            "SessionType=Normal",
            &format!("TargetName={TARGET}"),
            "InitialR2T=Yes",
            "ImmediateData=No",
            "MaxOutstandingR2T=1",
            "MaxConnections=16",
            "ErrorRecoveryLevel=2",
        ];
        let keys = if self.tsih == 0 { &keys[..] } else { &keys[..3] };
        LoginRequest {
            transit: true,
            continues: false,
            current_stage: 1,
            next_stage: 3,
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 0, 0, 0, 0, 1]),
            tsih: self.tsih,
            initiator_task_tag: 0,
            cid,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: Serial(0),
            data: keys.iter().map(|key| format!("{key}\0")).collect::<String>().into(),
        }
    }

    /// A command in the order of the session, to be sent on any connection.
    pub(super) fn command(&mut self, opcode: u8, block: u32, bytes: usize) -> ScsiCommand {
        self.tag += 1;
        let cmd_sn = Serial(self.cmd_sn);
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        let mut cdb = [0; 16];
        cdb[0] = opcode;
        cdb[2..6].copy_from_slice(&block.to_be_bytes());
        cdb[7..9].copy_from_slice(&((bytes / BLOCK) as u16).to_be_bytes());
        ScsiCommand {
            immediate: false,
            is_final: true,
            read: opcode == 0x28,
            write: opcode == 0x2a,
            attribute: TaskAttribute::Simple,
            priority: 0,
            lun: LunAddress::from_number(0),
            initiator_task_tag: self.tag,
            expected_data_transfer_length: bytes as u32,
            bidirectional_read_length: 0,
            cmd_sn,
            exp_stat_sn: Serial(0),
            cdb: cdb.into(),
            immediate_data: Bytes::new(),
        }
    }

    pub(super) fn send(&mut self, leg: usize, command: &ScsiCommand) {
        let leg = &mut self.legs[leg];
        let command = ScsiCommand { exp_stat_sn: leg.exp_stat_sn, ..command.clone() };
        leg.send(InitiatorPdu::ScsiCommand(command));
    }

    pub(super) fn write(&mut self, leg: usize, block: u32, data: &[u8]) {
        let command = self.command(0x2a, block, data.len());
        self.send(leg, &command);
        self.legs[leg].serve(command.initiator_task_tag, data);
    }

    pub(super) fn read(&mut self, leg: usize, block: u32, bytes: usize) -> Vec<u8> {
        let command = self.command(0x28, block, bytes);
        self.send(leg, &command);
        self.legs[leg].data(command.initiator_task_tag)
    }

    /// What the target answers to a logout.
    pub(super) fn log_out(&mut self, leg: usize, reason: u8, cid: u16) -> u8 {
        self.tag += 1;
        let request = LogoutRequest {
            immediate: true,
            reason,
            initiator_task_tag: self.tag,
            cid,
            cmd_sn: Serial(self.cmd_sn),
            exp_stat_sn: self.legs[leg].exp_stat_sn,
        };
        self.legs[leg].send(InitiatorPdu::Logout(request));
        match self.legs[leg].receive() {
            Some(TargetPdu::Logout(answer)) => answer.response,
            other => panic!("no logout response: {other:?}"),
        }
    }
}
