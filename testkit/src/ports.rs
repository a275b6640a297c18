//! Free TCP ports on loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the kernel's ephemeral range. A client that keeps on connecting to a port nobody listens on, while glint is
/// restarted, could otherwise be given that port as its own and be connected to itself.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port that nobody listens on now and that this process is not given again soon. Processes start at different places.
pub fn free_port() -> u16 {
    let start = (process::id().wrapping_mul(61) % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let port = FIRST + start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port in {FIRST}..{}", FIRST + COUNT);
}
