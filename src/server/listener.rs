//! Binding portals and accepting connections.

use super::connection::{self, Accepted};
use super::door::Door;
use super::node::Node;
use super::workers::Workers;
use arc_swap::ArcSwap;
use glint_target_core::scsi::command::DeviceServer;
use rustix::net::sockopt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Connections that the system may hold for us until they are accepted.
const BACKLOG: u32 = 1024;
/// After this long without traffic the system asks whether the peer is there still, and how often until it gives up.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;
/// Pause after an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A portal could not be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    /// The address wanted.
    pub address: SocketAddr,
    /// What the system says.
    pub error: io::Error,
}

/// An address to bind, and what is behind it.
#[derive(Clone)]
pub struct Binding {
    /// Where to listen.
    pub address: SocketAddr,
    /// Whom connections to it meet.
    pub door: Door,
}

struct Listener {
    wanted: SocketAddr,
    bound: SocketAddr,
    only_v6: bool,
    door: Arc<ArcSwap<Door>>,
    /// Until connections are accepted they queue up in the system.
    socket: Option<TcpListener>,
    task: Option<JoinHandle<()>>,
}

impl Listener {
    /// Gives the address back; ready when it can be bound again.
    async fn close(mut self) {
        self.socket = None;
        if let Some(task) = self.task.take() {
            task.abort();
            // That it was aborted is what is waited for.
            let _ = task.await;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The portals that are bound. Dropping it stops listening and leaves connections alone.
pub struct Listeners<S> {
    node: Arc<Node<S>>,
    workers: Workers,
    listeners: Vec<Listener>,
}

impl<S: DeviceServer> Listeners<S> {
    /// None yet.
    pub fn new(node: Arc<Node<S>>, workers: Workers) -> Self {
        Self { node, workers, listeners: Vec::new() }
    }

    /// Binds those of `portals` that are not bound, and gives up those that are not among them. What could not be bound is told.
    /// Connections wait until [`accept`](Self::accept).
    pub async fn apply(&mut self, portals: &[Binding]) -> Vec<ListenError> {
        let stays = |listener: &mut Listener| {
            let wanted = portals.iter().any(|portal| portal.address == listener.wanted);
            wanted && only_v6(listener.wanted, portals) == listener.only_v6
        };
        // Closed before anything is bound: a wildcard keeps its port from every address, and every address from it.
        for gone in self.listeners.extract_if(.., |listener| !stays(listener)).collect::<Vec<_>>() {
            gone.close().await;
        }
        let mut failed = Vec::new();
        for Binding { address: wanted, door } in portals.iter().cloned() {
            if let Some(listener) = self.listeners.iter().find(|listener| listener.wanted == wanted) {
                listener.door.store(Arc::new(door));
                continue;
            }
            let only_v6 = only_v6(wanted, portals);
            match bind(wanted, only_v6) {
                Ok((socket, bound)) => {
                    let door = Arc::new(ArcSwap::from_pointee(door));
                    let socket = Some(socket);
                    self.listeners.push(Listener { wanted, bound, only_v6, door, socket, task: None });
                }
                Err(error) => failed.push(ListenError { address: wanted, error }),
            }
        }
        failed
    }

    /// Accepts connections on all portals that are bound. To be called inside the runtime that is to do it.
    pub fn accept(&mut self) {
        for listener in &mut self.listeners {
            if let Some(socket) = listener.socket.take() {
                let tls = listener.door.load().tls.is_some();
                tracing::info!(address = %listener.bound, tls, "listening");
                let door = Arc::clone(&listener.door);
                let accept = accept(socket, door, Arc::clone(&self.node), self.workers.clone());
                listener.task = Some(tokio::spawn(accept));
            }
        }
    }

    /// Gives all portals up.
    pub fn close(&mut self) {
        self.listeners.clear();
    }

    /// The address that is bound for one that was wanted: its port is known when port 0 was wanted.
    pub fn bound(&self, wanted: SocketAddr) -> Option<SocketAddr> {
        self.listeners.iter().find(|listener| listener.wanted == wanted).map(|listener| listener.bound)
    }
}

/// Whether an IPv6 wildcard must leave IPv4 to a wildcard of its own on the same port.
fn only_v6(address: SocketAddr, portals: &[Binding]) -> bool {
    let rival = |other: &SocketAddr| {
        matches!(other.ip(), IpAddr::V4(ip) if ip.is_unspecified()) && other.port() == address.port()
    };
    address.is_ipv6() && address.ip().is_unspecified() && portals.iter().any(|portal| rival(&portal.address))
}

fn bind(address: SocketAddr, only_v6: bool) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    // A process that was killed leaves connections in TIME-WAIT; they must not keep its successor from the port.
    socket.set_reuseaddr(true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, only_v6)?;
    }
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

async fn accept<S: DeviceServer>(
    listener: TcpListener,
    door: Arc<ArcSwap<Door>>,
    node: Arc<Node<S>>,
    workers: Workers,
) {
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => take_in(socket, peer, door.load_full(), &node, &workers),
            Err(error) if is_of_peer(&error) => {}
            Err(error) => {
                if let Some(held_back) = node.complaints.admit(Instant::now()) {
                    tracing::warn!(%error, held_back, "cannot accept connections");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Errors of a connection that was gone before it was accepted (accept(2)).
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | HostUnreachable | Interrupted | NetworkDown)
}

fn take_in<S: DeviceServer>(
    socket: TcpStream,
    peer: SocketAddr,
    door: Arc<Door>,
    node: &Arc<Node<S>>,
    workers: &Workers,
) {
    let limits = node.limits.load_full();
    let Some(enrolment) = node.roster.enter(peer.ip(), limits.max_connections) else {
        node.metrics.login_failed("too_many_connections");
        if let Some(held_back) = node.complaints.admit(Instant::now()) {
            tracing::warn!(%peer, limit = limits.max_connections, held_back, "too many connections: refused one");
        }
        return;
    };
    let (local, socket) = match prepare(socket) {
        Ok(prepared) => prepared,
        Err(error) => {
            tracing::debug!(%peer, %error, "a connection was gone before it began");
            return;
        }
    };
    let node = Arc::clone(node);
    workers.assign(move || connection::run(Accepted { node, socket, peer, local, door, enrolment, limits }));
}

/// Sets the socket's options and takes it out of this runtime.
fn prepare(socket: TcpStream) -> io::Result<(SocketAddr, std::net::TcpStream)> {
    socket.set_nodelay(true)?;
    sockopt::set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&socket, KEEPALIVE_COUNT)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    Ok((socket.local_addr()?, socket.into_std()?))
}
