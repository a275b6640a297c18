//! A listener that bounds what HTTP peers can cost: so many connections at a time, and none that is idle for long.

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
        let idle = Box::pin(tokio::time::sleep(self.most_idle));
        (BoundedStream { stream, idle, most_idle: self.most_idle, _place: place }, peer)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when nothing has come or gone for too long.
pub(super) struct BoundedStream {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    most_idle: Duration,
    _place: Option<OwnedSemaphorePermit>,
}

impl BoundedStream {
    /// Passes on what came of reading or writing, and sees to the time.
    fn watch<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.idle.as_mut().reset(Instant::now() + self.most_idle);
            return result;
        }
        self.idle.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.watch(cx, result)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, data);
        self.watch(cx, result)
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
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn places_are_bounded_and_given_back_by_the_idle() {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let mut listener = BoundedListener::new(socket, 1).with_most_idle(Duration::from_millis(50));
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
}
