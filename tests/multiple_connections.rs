//! An initiator with several connections in one session (MC/S), against the real process over TCP.

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{
    DataOut, InitiatorPdu, LoginRequest, LogoutRequest, ScsiCommand, TextRequest,
};
use glint_target_core::pdu::target::{LoginResponse, ReadyToTransfer, TargetPdu};
use glint_target_core::scsi::command::TaskAttribute;
use glint_target_core::scsi::lun_address::LunAddress;
use glint_testkit::data;
use glint_testkit::glint::Glint;
use glint_testkit::http::{get, metric};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const TARGET: &str = "iqn.2026-12.io.glint:disk";
const BLOCK: usize = 512;
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection of the session.
struct Leg {
    socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    /// ExpStatSN, once there was a status.
    exp_stat_sn: Serial,
}

/// The session: what its connections have in common.
struct Session {
    portal: SocketAddr,
    tsih: u16,
    cmd_sn: u32,
    tag: u32,
    legs: Vec<Leg>,
}

impl Leg {
    fn connect(portal: SocketAddr) -> Self {
        let socket = TcpStream::connect(portal).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, decoder: FrameDecoder::new(1 << 24), input: BytesMut::new(), exp_stat_sn: Serial(0) }
    }

    fn send(&mut self, pdu: impl Into<InitiatorPdu>) {
        let mut bytes = BytesMut::new();
        pdu.into().encode(Digest::None, Digest::None, &mut bytes);
        self.socket.write_all(&bytes).unwrap();
    }

    /// The next PDU; none when the target has closed.
    fn receive(&mut self) -> Option<TargetPdu> {
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

    fn r2t(&mut self) -> ReadyToTransfer {
        match self.receive() {
            Some(TargetPdu::ReadyToTransfer(r2t)) => r2t,
            other => panic!("expected an R2T, not {other:?}"),
        }
    }

    /// Sends what is asked for until the command has ended.
    fn serve(&mut self, tag: u32, data: &[u8]) {
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

    fn answer(&mut self, r2t: &ReadyToTransfer, data: &[u8]) {
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
    fn data(&mut self, tag: u32) -> Vec<u8> {
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

    fn is_silent(&mut self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        let nothing = self.input.is_empty() && self.socket.peek(&mut [0]).is_err();
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        nothing
    }

    fn expect_close(&mut self) {
        while self.receive().is_some() {}
    }
}

impl Session {
    fn begin(glint: &Glint, connections: u16) -> Self {
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
    fn take_attention(&mut self) {
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

    fn log_in(&self, cid: u16) -> (Leg, LoginResponse) {
        let mut leg = Leg::connect(self.portal);
        leg.send(InitiatorPdu::Login(self.login_request(cid)));
        match leg.receive() {
            Some(TargetPdu::Login(answer)) => (leg, answer),
            other => panic!("no login response: {other:?}"),
        }
    }

    fn login_request(&self, cid: u16) -> LoginRequest {
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
    fn command(&mut self, opcode: u8, block: u32, bytes: usize) -> ScsiCommand {
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

    fn send(&mut self, leg: usize, command: &ScsiCommand) {
        let leg = &mut self.legs[leg];
        let command = ScsiCommand { exp_stat_sn: leg.exp_stat_sn, ..command.clone() };
        leg.send(InitiatorPdu::ScsiCommand(command));
    }

    fn write(&mut self, leg: usize, block: u32, data: &[u8]) {
        let command = self.command(0x2a, block, data.len());
        self.send(leg, &command);
        self.legs[leg].serve(command.initiator_task_tag, data);
    }

    fn read(&mut self, leg: usize, block: u32, bytes: usize) -> Vec<u8> {
        let command = self.command(0x28, block, bytes);
        self.send(leg, &command);
        self.legs[leg].data(command.initiator_task_tag)
    }

    /// What the target answers to a logout.
    fn log_out(&mut self, leg: usize, reason: u8, cid: u16) -> u8 {
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

fn wait_for_connections(glint: &Glint, count: f64) {
    let start = Instant::now();
    loop {
        let text = get(glint.api(), "/metrics").1;
        if metric(&text, "glint_connections", &[]) == count {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "never {count} connections:\n{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn glint() -> Glint {
    Glint::with_volume("disk=ram:,size=64MiB")
}

#[test]
fn writes_and_reads_on_all_connections_of_a_session() {
    let glint = glint();
    let mut session = Session::begin(&glint, 4);
    let text = get(glint.api(), "/metrics").1;
    assert_eq!(metric(&text, "glint_connections", &[]), 4.0, "{text}");
    assert_eq!(metric(&text, "glint_sessions", &[]), 1.0, "{text}");
    // Sent in the reverse of their order, a connection each: nothing has its turn before the first has come.
    let image = data::noise(7, 16 << 20);
    let pieces: Vec<_> = image.chunks(1 << 20).collect();
    for (round, four) in pieces.chunks(4).enumerate() {
        let commands: Vec<_> =
            (0..4).map(|nth| session.command(0x2a, ((round * 4 + nth) << 11) as u32, 1 << 20)).collect();
        for leg in [3, 2, 1] {
            session.send(leg, &commands[leg]);
        }
        assert!((1..4).all(|leg| session.legs[leg].is_silent()), "before its turn");
        session.send(0, &commands[0]);
        // Each connection has its R2T before any of them is answered.
        let r2ts: Vec<_> = session.legs.iter_mut().map(Leg::r2t).collect();
        for leg in (0..4).rev() {
            assert_eq!(r2ts[leg].initiator_task_tag, commands[leg].initiator_task_tag);
            session.legs[leg].answer(&r2ts[leg], four[leg]);
            session.legs[leg].serve(commands[leg].initiator_task_tag, four[leg]);
        }
    }
    // What one connection wrote another reads, all at a time.
    for (round, four) in pieces.chunks(4).enumerate() {
        let commands: Vec<_> =
            (0..4).map(|nth| session.command(0x28, ((round * 4 + nth) << 11) as u32, 1 << 20)).collect();
        for (nth, command) in commands.iter().enumerate() {
            session.send((nth + 1) % 4, command);
        }
        for (nth, command) in commands.iter().enumerate() {
            let data = session.legs[(nth + 1) % 4].data(command.initiator_task_tag);
            assert!(data == four[nth], "piece {nth} of round {round}");
        }
    }
    // Talk beside the commands.
    for leg in &mut session.legs {
        session.tag += 1;
        leg.send(InitiatorPdu::Text(TextRequest {
            immediate: true,
            is_final: true,
            continues: false,
            lun: LunAddress::default(),
            initiator_task_tag: session.tag,
            target_transfer_tag: RESERVED_TAG,
            cmd_sn: Serial(session.cmd_sn),
            exp_stat_sn: leg.exp_stat_sn,
            data: Bytes::from_static(b"SendTargets=\0"),
        }));
        let answer = leg.receive();
        let expected = format!("TargetName={TARGET}\0");
        assert!(
            matches!(&answer, Some(TargetPdu::Text(text)) if text.data.starts_with(expected.as_bytes())),
            "{answer:?}"
        );
    }
    assert_eq!(session.log_in(4).1.status_detail, 0x06, "more than connections_per_session");
    assert_eq!(session.log_out(1, 0, 0), 0);
    session.legs.iter_mut().for_each(Leg::expect_close);
    wait_for_connections(&glint, 0.0);
}

#[test]
fn connections_come_and_go_while_others_work() {
    let glint = glint();
    let mut session = Session::begin(&glint, 3);
    let image = data::noise(8, 1 << 20);
    session.write(2, 0, &image);
    // Logged out on another connection.
    assert_eq!(session.log_out(0, 2, 2), 2, "there is no recovery");
    assert_eq!(session.log_out(0, 1, 2), 0);
    session.legs.pop().expect("the third").expect_close();
    assert_eq!(session.log_out(0, 1, 2), 1, "it has gone");
    assert!(session.read(0, 0, 1 << 20) == image);
    // Replaced in the midst of a write, which ends without a word.
    let doomed = session.command(0x2a, 4096, 1 << 20);
    session.send(1, &doomed);
    session.legs[1].r2t();
    let (again, answer) = session.log_in(1);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs[1].expect_close();
    session.legs[1] = again;
    session.write(1, 2048, &image);
    assert!(session.read(0, 2048, 1 << 20) == image);
    assert!(session.read(0, 4096, 4096).iter().all(|byte| *byte == 0), "the write was not whole");
    // Lost in the midst of a write.
    let doomed = session.command(0x2a, 4096, 1 << 20);
    session.send(0, &doomed);
    session.legs[0].r2t();
    session.legs.remove(0);
    wait_for_connections(&glint, 1.0);
    assert!(session.read(0, 2048, 1 << 20) == image);
    let (back, answer) = session.log_in(0);
    assert_eq!((answer.status_class, answer.tsih), (0, session.tsih));
    session.legs.push(back);
    session.write(1, 8192, &image);
    assert!(session.read(0, 8192, 1 << 20) == image);
    // The last connection takes the session with it.
    session.legs.clear();
    wait_for_connections(&glint, 0.0);
    assert_eq!(session.log_in(0).1.status_detail, 0x0a);
}
