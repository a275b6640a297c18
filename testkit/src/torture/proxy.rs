//! A TCP proxy between two places that can be cut, in the ways in which networks are.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::namespace::Namespace;

/// How often those that wait look whether something has changed.
const LOOK: Duration = Duration::from_millis(10);

/// Where an address is.
#[derive(Clone, Debug)]
pub enum Place {
    /// Where this process is.
    Here,
    /// In a network of its own.
    Within(Arc<Namespace>),
}

impl Place {
    fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        match self {
            Self::Here => TcpListener::bind(address),
            Self::Within(namespace) => namespace.listen(address),
        }
    }

    fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match self {
            Self::Here => TcpStream::connect_timeout(&address, Duration::from_secs(2)),
            Self::Within(namespace) => namespace.connect(address),
        }
    }
}

/// What it does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Passes it on.
    Open,
    /// Keeps it back, connections too, without a word to either end. What was kept back is passed on later, as TCP sends again what
    /// was lost.
    Silent,
    /// Closes all connections, and new ones as they come.
    Closed,
}

/// Takes connections at one address and passes them on to another. It ends when dropped, with all its connections.
#[derive(Debug)]
pub struct Proxy {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    mode: AtomicU8,
    to: (Place, SocketAddr),
    /// Both ends of each connection: who connected, and whom it was passed on to.
    pairs: Mutex<Vec<(TcpStream, TcpStream)>>,
}

impl Proxy {
    /// Between `from`, where it listens, and `to`.
    pub fn start(from: (&Place, SocketAddr), to: (&Place, SocketAddr)) -> io::Result<Self> {
        let listener = from.0.listen(from.1)?;
        listener.set_nonblocking(true)?;
        let inner = Inner {
            mode: AtomicU8::new(Mode::Open as u8),
            to: (to.0.clone(), to.1),
            pairs: Mutex::default(),
        };
        let inner = Arc::new(inner);
        let weak = Arc::downgrade(&inner);
        thread::spawn(move || accept(&listener, &weak));
        Ok(Self { inner })
    }

    /// The same here, in front of what is here.
    pub fn here(from: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        Self::start((&Place::Here, from), (&Place::Here, to))
    }

    /// From now on does this with what comes.
    pub fn set(&self, mode: Mode) {
        self.inner.mode.store(mode as u8, Ordering::SeqCst);
        if mode == Mode::Closed {
            self.inner.close(true);
        }
    }

    /// Has those whom connections were passed on to see their end, as they do some time after a peer fell silent. Who connected hears
    /// of it when this is open again.
    pub fn close_far_ends(&self) {
        self.inner.close(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(Mode::Closed);
    }
}

impl Inner {
    fn mode(&self) -> Mode {
        match self.mode.load(Ordering::SeqCst) {
            0 => Mode::Open,
            1 => Mode::Silent,
            _ => Mode::Closed,
        }
    }

    fn close(&self, both: bool) {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        for (near, far) in pairs.iter() {
            // Those that have ended by themselves cannot be shut down.
            let _ = far.shutdown(Shutdown::Both);
            if both {
                let _ = near.shutdown(Shutdown::Both);
            }
        }
        if both {
            pairs.clear();
        }
    }
}

fn accept(listener: &TcpListener, proxy: &Weak<Inner>) {
    loop {
        let Some(inner) = proxy.upgrade() else { return };
        match listener.accept() {
            Ok((near, _)) if inner.mode() != Mode::Closed => {
                let weak = proxy.clone();
                thread::spawn(move || connect(near, &weak));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                drop(inner);
                thread::sleep(LOOK);
            }
            // A connection that was gone before it was taken.
            Err(_) => thread::sleep(LOOK),
        }
    }
}

/// Passes a new connection on, once it may.
fn connect(near: TcpStream, proxy: &Weak<Inner>) {
    let Some(inner) = wait_until_open(proxy) else { return };
    let Ok(far) = inner.to.0.connect(inner.to.1) else { return };
    let (Ok(near_2), Ok(far_2)) = (near.try_clone(), far.try_clone()) else { return };
    let (Ok(near_3), Ok(far_3)) = (near.try_clone(), far.try_clone()) else { return };
    let set = |stream: &TcpStream| {
        // It was not blocking where it was accepted.
        stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true)).is_ok()
    };
    if !set(&near) || !set(&far) {
        return;
    }
    let mut pairs = inner.pairs.lock().unwrap_or_else(PoisonError::into_inner);
    // Those that are over have no peer any more.
    pairs.retain(|(near, _)| near.peer_addr().is_ok());
    pairs.push((near_3, far_3));
    drop(pairs);
    if inner.mode() == Mode::Closed {
        // It was closed just before this was among those that are closed.
        inner.close(true);
        return;
    }
    drop(inner);
    let weak = proxy.clone();
    thread::spawn(move || pump(far_2, near_2, &weak));
    pump(near, far, proxy);
}

/// Passes on what comes from one end to the other.
fn pump(mut from: TcpStream, mut to: TcpStream, proxy: &Weak<Inner>) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer);
        // What was read while it was open may be passed on only if it still is.
        let Some(inner) = wait_until_open(proxy) else { break };
        drop(inner);
        match read {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                if to.write_all(buffer.get(..read).unwrap_or_default()).is_err() {
                    break;
                }
            }
        }
    }
    // Half of a connection is none to iSCSI, nor to RPC.
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// None when it is closed, or gone.
fn wait_until_open(proxy: &Weak<Inner>) -> Option<Arc<Inner>> {
    loop {
        let inner = proxy.upgrade()?;
        match inner.mode() {
            Mode::Open => return Some(inner),
            Mode::Closed => return None,
            Mode::Silent => {}
        }
        drop(inner);
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glint::loopback;

    /// Sends back what comes.
    fn echo() -> SocketAddr {
        let address = loopback();
        let listener = TcpListener::bind(address).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
                thread::spawn(move || io::copy(&mut from, &mut to));
            }
        });
        address
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream
    }

    /// The far end of a new connection; one that does not come through in a second is tried again.
    fn through(address: SocketAddr, listener: &TcpListener) -> (TcpStream, TcpStream) {
        listener.set_nonblocking(true).unwrap();
        for _ in 0..10 {
            let near = connect(address);
            for _ in 0..100 {
                if let Ok((far, _)) = listener.accept() {
                    far.set_nonblocking(false).unwrap();
                    far.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                    return (near, far);
                }
                thread::sleep(LOOK);
            }
        }
        panic!("no connection comes through");
    }

    /// A proxy before a place. Another test may have taken the address that was free a moment ago.
    fn before(target: SocketAddr) -> (Proxy, SocketAddr) {
        let mut tries = std::iter::repeat_with(loopback).take(20);
        tries.find_map(|address| Some((Proxy::here(address, target).ok()?, address))).unwrap()
    }

    fn has_ended(stream: &mut TcpStream) -> bool {
        match hear(stream) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn hear(stream: &mut TcpStream) -> io::Result<usize> {
        stream.read(&mut [0; 16])
    }

    #[test]
    fn silence_keeps_back_and_passes_on_later() {
        let (proxy, address) = before(echo());
        let mut stream = connect(address);
        stream.write_all(b"one").unwrap();
        assert_eq!(hear(&mut stream).unwrap(), 3);
        proxy.set(Mode::Silent);
        stream.write_all(b"three").unwrap();
        let mut second = connect(address);
        second.write_all(b"two").unwrap();
        for stream in [&mut stream, &mut second] {
            assert_eq!(hear(stream).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        proxy.set(Mode::Open);
        assert_eq!(hear(&mut stream).unwrap(), 5);
        assert_eq!(hear(&mut second).unwrap(), 3);
    }

    #[test]
    fn closing_is_noticed_at_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = before(listener.local_addr().unwrap());
        let (mut near, mut far) = through(address, &listener);
        proxy.set(Mode::Closed);
        assert!(has_ended(&mut near) && has_ended(&mut far));
        assert!(matches!(hear(&mut connect(address)), Ok(0) | Err(_)));
        proxy.set(Mode::Open);
        through(address, &listener);
    }

    #[test]
    fn the_far_end_may_notice_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (proxy, address) = before(listener.local_addr().unwrap());
        let (mut near, mut far) = through(address, &listener);
        proxy.set(Mode::Silent);
        proxy.close_far_ends();
        assert_eq!(hear(&mut far).unwrap_or(0), 0);
        assert_eq!(hear(&mut near).unwrap_err().kind(), ErrorKind::WouldBlock);
        proxy.set(Mode::Open);
        assert_eq!(hear(&mut near).unwrap_or(0), 0);
    }

    #[test]
    fn it_leads_into_a_network_of_its_own_and_out_of_it() {
        let inside = Place::Within(Arc::new(Namespace::new().unwrap()));
        let (outer, inner, server) = (loopback(), loopback(), echo());
        let _out = Proxy::start((&inside, inner), (&Place::Here, server)).unwrap();
        let _in = Proxy::start((&Place::Here, outer), (&inside, inner)).unwrap();
        let mut stream = connect(outer);
        stream.write_all(b"there and back").unwrap();
        assert_eq!(hear(&mut stream).unwrap(), 14);
    }
}
