//! The socket of a connection: reading large, writing all that there is in one call, noticing a peer that takes nothing.

use super::stream::{Moving, Stream};
use bytes::{Buf, BytesMut};
use glint_target_core::pdu::transmit::TransmitQueue;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::io::{poll_read_buf, poll_write_buf};

/// Room that a read is given: the lesser for a connection that says little, so that thousands of them cost little.
const READ_LEAST: usize = 8 << 10;
const READ_MOST: usize = 256 << 10;
/// What a peer may still send after our last words before we close on it.
const LAST_READS: usize = 1 << 20;

/// ContentType of the record that a TLS client begins with.
pub(super) const TLS_HANDSHAKE: u8 = 22;

/// A socket with its receive buffer.
pub(super) struct Wire {
    socket: Stream,
    pub(super) input: BytesMut,
    read_room: usize,
    /// Bytes of buffers that were given up with room left in them, while parts of them were in use.
    pub(super) given_up: usize,
    /// Since when the peer has taken nothing of what there is to send.
    stalled_since: Option<Instant>,
}

impl Wire {
    pub(super) fn new(socket: Stream) -> Self {
        Self { socket, input: BytesMut::new(), read_room: READ_LEAST, given_up: 0, stalled_since: None }
    }

    /// A socket that another runtime had, with what was read there.
    pub(super) fn adopt(socket: Moving, input: BytesMut) -> io::Result<Self> {
        Ok(Self { input, ..Self::new(Stream::arrive(socket)?) })
    }

    /// The socket, for another runtime.
    pub(super) fn into_socket(self) -> io::Result<Moving> {
        self.socket.leave()
    }

    /// Reads once; 0 when the peer has closed.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.capacity() - self.input.len() < self.read_room / 2
            && !self.input.try_reclaim(self.read_room)
        {
            self.given_up += self.input.capacity();
            self.input.reserve(self.read_room);
        }
        let room = self.input.capacity() - self.input.len();
        let read = ready!(poll_read_buf(Pin::new(&mut self.socket), cx, &mut self.input))?;
        if read == room {
            self.read_room = (self.read_room * 4).min(READ_MOST);
        } else if read < self.read_room / 16 {
            self.read_room = (self.read_room / 2).max(READ_LEAST);
        }
        Poll::Ready(Ok(read))
    }

    /// Gives the receive buffer back when nothing is in it: for a connection that has gone quiet.
    pub(super) fn rest(&mut self) {
        if self.input.is_empty() && self.read_room == READ_LEAST {
            self.input = BytesMut::new();
        }
    }

    /// Writes all of `queue`, or as much as the socket takes now; tells whether it took anything.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        queue: &mut TransmitQueue,
    ) -> io::Result<bool> {
        let mut progress = false;
        while queue.has_remaining() {
            match poll_write_buf(Pin::new(&mut self.socket), cx, queue) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(_)) => progress = true,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    self.stalled(now, progress);
                    return Ok(progress);
                }
            }
        }
        // TLS may hold encrypted bytes that the socket did not take.
        match Pin::new(&mut self.socket).poll_flush(cx) {
            Poll::Ready(flushed) => {
                flushed?;
                self.stalled_since = None;
            }
            Poll::Pending => self.stalled(now, progress),
        }
        Ok(progress)
    }

    fn stalled(&mut self, now: Instant, progress: bool) {
        if progress || self.stalled_since.is_none() {
            self.stalled_since = Some(now);
        }
    }

    /// Whether what has been read begins with a TLS handshake record (RFC 8446 §5.1); no PDU of an initiator does.
    pub(super) fn holds_tls(&self) -> bool {
        self.input.starts_with(&[TLS_HANDSHAKE, 3])
    }

    /// When the peer will have stalled for `patience`.
    pub(super) fn stall_deadline(&self, patience: Duration) -> Option<Instant> {
        self.stalled_since.map(|since| since + patience)
    }

    /// Sends what is left, tells the peer that no more will come, and lets it read that: closing with unread input would have the
    /// system throw our last words away.
    pub(super) async fn goodbye(mut self, queue: &mut TransmitQueue, patience: Duration) {
        let farewell = async {
            while queue.has_remaining() {
                self.socket.write_buf(queue).await?;
            }
            self.socket.shutdown().await?;
            let mut left = LAST_READS;
            while left > 0 {
                self.input.clear();
                self.input.reserve(READ_LEAST);
                match self.socket.read_buf(&mut self.input).await? {
                    0 => break,
                    read => left = left.saturating_sub(read),
                }
            }
            io::Result::Ok(())
        };
        match tokio::time::timeout(patience, farewell).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the peer was gone before our last words"),
            Err(_) => tracing::debug!("the peer did not take our last words"),
        }
    }
}
