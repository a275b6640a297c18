//! A connection between two nodes: how it is made, and how it goes on until one of them falls silent.

use super::codec::{Codec, Frame, FrameError};
use super::identity::{Fingerprint, Identity, IdentityError, fingerprint_of};
use super::message::{Hello, Message, PROTOCOL};
use futures_util::{SinkExt, StreamExt};
use glint_cluster_core::membership::{BootId, Incarnation, NodeId};
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tokio_util::codec::Framed;

/// The oldest version of the messages that is spoken here.
const LEAST: u16 = 1;

/// Times of connections.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// For TCP, TLS and the first message, all together.
    pub handshake: Duration,
    /// The own time is told so often.
    pub time: Duration,
    /// A peer that has said nothing for so long is gone.
    pub silence: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(2),
            time: Duration::from_millis(250),
            silence: Duration::from_millis(1500),
        }
    }
}

/// Why there is no connection, or no more.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Nothing came for too long.
    #[error("the other node has been silent for too long")]
    Silent,
    /// It took too long to come about.
    #[error("the other node did not answer in time")]
    Late,
    /// The other end is not who it ought to be.
    #[error("{0}")]
    Stranger(String),
    /// The other end speaks versions that this one does not.
    #[error(
        "the other node speaks versions {least} to {newest} of the internal protocol, this one {LEAST} to {PROTOCOL}: update the older"
    )]
    Version {
        /// Its oldest.
        least: u16,
        /// Its newest.
        newest: u16,
    },
    /// The certificate of this node.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// What came was no message, or nothing comes any more.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        Self::Frame(error.into())
    }
}

/// This end of all connections.
pub struct End {
    /// Who this is.
    pub me: Incarnation,
    /// What proves it.
    pub identity: Identity,
    /// The most data that goes with a message.
    pub most_data: usize,
    /// Times.
    pub pace: Pace,
}

/// A connection whose ends know each other.
pub struct Connection {
    /// Who is at the other end.
    pub peer: Incarnation,
    stream: Framed<TlsStream<TcpStream>, Codec>,
    pace: Pace,
}

impl End {
    /// Connects to a node, as its record has it.
    pub async fn connect(
        &self,
        address: &str,
        peer: &Incarnation,
        shown: Fingerprint,
    ) -> Result<Connection, LinkError> {
        self.in_time(async {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            let name = Identity::server_name().ok_or(FrameError::Malformed("the name of certificates"))?;
            let stream = TlsConnector::from(self.identity.connects_to(shown)?).connect(name, socket).await?;
            let mut stream = self.framed(stream.into());
            stream.send(Message::Hello(self.hello(peer)).into()).await?;
            let (hello, found) = self.greeted(&mut stream).await?;
            if found != *peer {
                return Err(LinkError::Stranger(format!("{found} answers where {peer} was expected")));
            }
            spoken(&hello)?;
            Ok(Connection { peer: found, stream, pace: self.pace })
        })
        .await
    }

    /// Takes a connection. `shown` tells the fingerprint of the certificate in the record of the node that the other end says it is; none where there is no
    /// such node, or another start of it.
    pub async fn accept<F: Future<Output = Option<Fingerprint>>>(
        &self,
        socket: TcpStream,
        shown: impl FnOnce(Incarnation) -> F,
    ) -> Result<Connection, LinkError> {
        self.in_time(async {
            socket.set_nodelay(true)?;
            let stream = TlsAcceptor::from(self.identity.accepts()?).accept(socket).await?;
            let seen = fingerprint_of(stream.get_ref().1.peer_certificates());
            let mut stream = self.framed(stream.into());
            let (hello, peer) = self.greeted(&mut stream).await?;
            if seen.is_none() || shown(peer.clone()).await != seen {
                return Err(LinkError::Stranger(format!("the other end is not {peer}, as it says")));
            }
            // Also to one that looked for another: it learns who is here.
            stream.send(Message::Hello(self.hello(&peer)).into()).await?;
            if (hello.to_node.as_str(), hello.to_boot) != (self.me.node.as_str(), self.me.boot.0) {
                return Err(LinkError::Stranger(format!("{peer} looks for another process")));
            }
            spoken(&hello)?;
            Ok(Connection { peer, stream, pace: self.pace })
        })
        .await
    }

    async fn in_time<T>(&self, make: impl Future<Output = Result<T, LinkError>>) -> Result<T, LinkError> {
        timeout(self.pace.handshake, make).await.unwrap_or(Err(LinkError::Late))
    }

    fn framed(&self, stream: TlsStream<TcpStream>) -> Framed<TlsStream<TcpStream>, Codec> {
        Framed::new(stream, Codec::new(self.most_data))
    }

    fn hello(&self, to: &Incarnation) -> Hello {
        Hello {
            newest: PROTOCOL,
            least: LEAST,
            node: self.me.node.to_string(),
            boot: self.me.boot.0,
            to_node: to.node.to_string(),
            to_boot: to.boot.0,
        }
    }

    async fn greeted(
        &self,
        stream: &mut Framed<TlsStream<TcpStream>, Codec>,
    ) -> Result<(Hello, Incarnation), LinkError> {
        let first = stream.next().await.ok_or_else(closed)??;
        let Frame { message: Message::Hello(hello), .. } = first else {
            return Err(FrameError::Malformed("something came before the greeting").into());
        };
        let node = NodeId::new(hello.node.as_str()).ok_or(FrameError::Malformed("its name is none"))?;
        let peer = Incarnation { node, boot: BootId(hello.boot) };
        Ok((hello, peer))
    }
}

fn closed() -> LinkError {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other node has closed the connection").into()
}

/// The version that both speak.
fn spoken(hello: &Hello) -> Result<u16, LinkError> {
    let version = hello.newest.min(PROTOCOL);
    match version >= LEAST.max(hello.least) {
        true => Ok(version),
        false => Err(LinkError::Version { least: hello.least, newest: hello.newest }),
    }
}

impl Connection {
    /// Sends what comes out of `outbox` and gives what arrives to `inbox`, until the other end has gone, or nobody can put anything into `outbox` any more.
    /// `time` gives the own time in milliseconds.
    pub async fn run(
        self,
        mut outbox: mpsc::UnboundedReceiver<Frame>,
        time: impl Fn() -> u64,
        mut inbox: impl FnMut(Frame),
    ) -> Result<(), LinkError> {
        let Self { stream, pace, .. } = self;
        let (mut output, mut input) = stream.split();
        let sends = async {
            let mut ticks = interval(pace.time);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let frame = tokio::select! {
                    biased;
                    _ = ticks.tick() => Message::Time(time()).into(),
                    frame = outbox.recv() => match frame {
                        Some(frame) => frame,
                        None => return Ok(()),
                    },
                };
                output.feed(frame).await?;
                // All that is there in one write.
                while let Ok(frame) = outbox.try_recv() {
                    output.feed(frame).await?;
                }
                output.flush().await?;
            }
        };
        let receives = async {
            let mut heard = Instant::now();
            loop {
                let frame = tokio::time::timeout_at(heard + pace.silence, input.next());
                match frame.await.map_err(|_| LinkError::Silent)?.ok_or_else(closed)?? {
                    Frame { message: Message::Hello(_), .. } => {
                        return Err(FrameError::Malformed("it greets twice").into());
                    }
                    frame => inbox(frame),
                }
                heard = Instant::now();
            }
        };
        tokio::select! {
            sent = sends => sent,
            received = receives => received,
        }
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
