//! One TCP connection: PDUs over a socket, with its StatSN, which has to come without a gap.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{RESERVED_TAG, Serial};
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::InitiatorPdu;
use glint_target_core::pdu::target::{Numbering, TargetPdu};

/// Long enough for a busy machine; no test that goes well waits for it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
pub struct Line {
    socket: TcpStream,
    decoder: FrameDecoder,
    input: BytesMut,
    /// What comes is taken while something is sent.
    takes_meanwhile: bool,
    /// StatSN of the next status.
    pub exp_stat_sn: Serial,
    /// The numbers of the last PDU.
    pub heard: Numbering,
}

impl Line {
    /// A connection on which nothing was said.
    #[track_caller]
    pub fn connect(portal: SocketAddr) -> Self {
        Self::adopt(TcpStream::connect(portal).expect("glint takes connections"))
    }

    /// The same, if there is one to be had within this time.
    pub fn try_connect(portal: SocketAddr, limit: Duration) -> io::Result<Self> {
        TcpStream::connect_timeout(&portal, limit).map(Self::adopt)
    }

    /// The same from an address of this machine.
    #[track_caller]
    pub fn connect_from(source: IpAddr, portal: SocketAddr) -> Self {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &SocketAddr::new(source, 0)).expect("an address of this machine");
        connect(&socket, &portal).expect("glint takes connections");
        Self::adopt(socket.into())
    }

    /// The same over a socket that is connected.
    pub fn adopt(socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("no delay");
        socket.set_write_timeout(Some(PATIENCE)).expect("a write time limit");
        Self {
            socket,
            decoder: FrameDecoder::new((1 << 24) - 1),
            input: BytesMut::new(),
            takes_meanwhile: false,
            exp_stat_sn: Serial(0),
            heard: Numbering::default(),
        }
    }

    /// The socket, for what is to be done to it.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("glint takes what it is sent");
    }

    /// Sends a PDU, if the target takes it.
    pub fn try_send(&mut self, pdu: &InitiatorPdu) -> io::Result<()> {
        let mut out = BytesMut::new();
        pdu.encode(Digest::None, Digest::None, &mut out);
        if self.takes_meanwhile { self.exchange(&out) } else { self.socket.write_all(&out) }
    }

    /// From now on takes what comes while it sends, as initiators do that have much under way both ways: otherwise both ends may wait for
    /// each other to take something.
    pub fn take_meanwhile(&mut self) {
        self.takes_meanwhile = true;
    }

    fn exchange(&mut self, mut out: &[u8]) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::net::{SendFlags, send};
        while !out.is_empty() {
            match send(&self.socket, out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => out = out.get(sent..).unwrap_or_default(),
                Err(rustix::io::Errno::AGAIN) => {
                    let mut either = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::OUT)];
                    poll(&mut either, None)?;
                    if either.iter().any(|socket| socket.revents().contains(PollFlags::IN)) {
                        self.read()?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes some of what has come; 0 when the target has closed.
    fn read(&mut self) -> io::Result<usize> {
        let mut piece = [0; 1 << 16];
        let read = self.socket.read(&mut piece)?;
        self.input.extend_from_slice(piece.get(..read).unwrap_or_default());
        Ok(read)
    }

    /// The next PDU; none when the target has closed.
    #[track_caller]
    pub fn receive(&mut self) -> Option<TargetPdu> {
        match self.receive_within(PATIENCE) {
            Some(came) => came,
            None => panic!("nothing came within {PATIENCE:?}"),
        }
    }

    /// The next PDU, or the end of the connection, if there is either within this time.
    #[track_caller]
    pub fn receive_within(&mut self, limit: Duration) -> Option<Option<TargetPdu>> {
        match self.try_receive_within(limit) {
            Ok(came) => came,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(None),
            Err(error) => panic!("the connection broke: {error}"),
        }
    }

    /// The same where the connection may break in any way.
    pub fn try_receive_within(&mut self, limit: Duration) -> io::Result<Option<Option<TargetPdu>>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(frame) = self.decoder.decode(&mut self.input).expect("a good frame") {
                let (pdu, numbers) = TargetPdu::parse(frame).expect("a good PDU");
                self.count(&pdu, numbers);
                return Ok(Some(Some(pdu)));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left)).expect("a read time limit");
            match self.read() {
                Ok(0) => return Ok(Some(None)),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(None),
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
    }

    /// StatSN is the connection's own, whatever happens on others.
    fn count(&mut self, pdu: &TargetPdu, numbers: Numbering) {
        self.heard = numbers;
        let is_status = match pdu {
            TargetPdu::DataIn(data) => data.status.is_some(),
            TargetPdu::ReadyToTransfer(_) => false,
            TargetPdu::NopIn(nop) => nop.initiator_task_tag != RESERVED_TAG,
            _ => true,
        };
        if is_status {
            assert_eq!(self.exp_stat_sn, numbers.stat_sn, "a StatSN is missing before {pdu:?}");
            self.exp_stat_sn = numbers.stat_sn.plus(1);
        }
    }

    /// Whether something has come, be it the end of the connection.
    pub fn has_news(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !self.input.is_empty() || poll(&mut socket, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Whether the target says nothing for a while.
    pub fn is_silent(&mut self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(150))).expect("a read time limit");
        self.input.is_empty() && self.socket.peek(&mut [0]).is_err()
    }

    /// Reads until the target closes.
    #[track_caller]
    pub fn expect_close(&mut self) {
        while self.receive().is_some() {}
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
