//! A listener that bounds what HTTP peers can cost: so many connections at a time, none that is idle for long, and none that takes long
//! over a request.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Longer than the time between two scrapes, so that scrapers keep their connection.
const MOST_IDLE: Duration = Duration::from_secs(90);
/// From the first byte of a request until there is an answer.
const MOST_PER_REQUEST: Duration = Duration::from_secs(10);

/// Accepts no further connection while `most` are open; they wait in the system's queue.
pub(super) struct BoundedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    most_idle: Duration,
}

impl BoundedListener {
    pub(super) fn new(listener: TcpListener, most: usize) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(most)), most_idle: MOST_IDLE }
    }

    #[cfg(test)]
    pub(super) fn with_most_idle(self, most_idle: Duration) -> Self {
        Self { most_idle, ..self }
    }
}

impl axum::serve::Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // The semaphore is closed never, so there is always a place in the end.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, peer) = axum::serve::Listener::accept(&mut self.listener).await;
        let (patience, most_idle) = (Box::pin(tokio::time::sleep(self.most_idle)), self.most_idle);
        (BoundedStream { stream, patience, most_idle, is_asking: false, _place: place }, peer)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when nothing has come or gone for too long, or a request has not been answered for too long: whoever sends it
/// byte by byte would keep the place for ever.
pub(super) struct BoundedStream {
    stream: TcpStream,
    patience: Pin<Box<Sleep>>,
    most_idle: Duration,
    /// Something has come since the last answer.
    is_asking: bool,
    _place: Option<OwnedSemaphorePermit>,
}

impl BoundedStream {
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.patience.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Before there is anything to read as well: there may always be something.
        if let over @ Poll::Ready(_) = self.wait(cx) {
            return over;
        }
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if result.is_ready() && !std::mem::replace(&mut self.is_asking, true) {
            self.patience.as_mut().reset(Instant::now() + MOST_PER_REQUEST);
        }
        result
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, data);
        if result.is_pending() {
            return self.wait(cx);
        }
        self.is_asking = false;
        let most_idle = self.most_idle;
        self.patience.as_mut().reset(Instant::now() + most_idle);
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::serve::Listener;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn listener(most: usize) -> (BoundedListener, SocketAddr) {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        (BoundedListener::new(socket, most), address)
    }

    #[tokio::test]
    async fn places_are_bounded_and_given_back_by_the_idle() {
        let (listener, address) = listener(1).await;
        let mut listener = listener.with_most_idle(Duration::from_millis(50));
        let _first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let (mut stream, _) = listener.accept().await;
        let wait = Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, listener.accept()).await.is_err(), "there is one place");
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        listener.accept().await;
    }

    /// Whoever sends a little now and then is not idle, but must not keep a place for ever.
    #[tokio::test(start_paused = true)]
    async fn a_request_has_to_come_to_its_end() {
        let (mut listener, address) = listener(1).await;
        let mut peer = TcpStream::connect(address).await.unwrap();
        let (mut stream, _) = listener.accept().await;
        let began = Instant::now();
        let error = loop {
            peer.write_all(b"G").await.unwrap();
            match stream.read_u8().await {
                Ok(_) => tokio::time::sleep(MOST_PER_REQUEST / 4).await,
                Err(error) => break error,
            }
            assert!(began.elapsed() < MOST_PER_REQUEST * 3, "it goes on for ever");
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_used_for_many_requests() {
        let (mut listener, address) = listener(1).await;
        let mut peer = TcpStream::connect(address).await.unwrap();
        let (mut stream, _) = listener.accept().await;
        for _ in 0..20 {
            peer.write_all(b"G").await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), b'G');
            stream.write_all(b"!").await.unwrap();
            assert_eq!(peer.read_u8().await.unwrap(), b'!');
            tokio::time::sleep(MOST_IDLE / 2).await;
        }
    }
}
