//! Whether any management daemon answers at all.

use std::{
    io,
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

use rustix::io::Errno;

use crate::{Error, Host};

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks for a host that accepts a connection.
///
/// libgfapi would find out too, but it takes long over hosts that do not answer, and never gives back the
/// threads of a client whose connection failed; so a caller that tries again and again must not even create
/// one.
///
/// # Errors
/// What the last address said, when none accepts; EINVAL without hosts.
pub(crate) fn any_of(hosts: &[Host]) -> Result<(), Error> {
    const NAME: &str = "connect";
    let mut last = Error::os(NAME, Errno::INVAL);
    for host in hosts {
        match connect(host) {
            Ok(()) => return Ok(()),
            // Names that cannot be resolved have no error number.
            Err(error) => {
                let errno = match error.kind() {
                    io::ErrorKind::TimedOut => Some(libc::ETIMEDOUT),
                    _ => error.raw_os_error(),
                };
                last = Error::Os { operation: NAME, errno: errno.unwrap_or(libc::EHOSTUNREACH) };
            }
        }
    }
    Err(last)
}

fn connect(host: &Host) -> io::Result<()> {
    let mut result = Err(io::ErrorKind::HostUnreachable.into());
    for address in (host.name.as_str(), host.port).to_socket_addrs()? {
        result = TcpStream::connect_timeout(&address, PATIENCE).map(drop);
        if result.is_ok() {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::Kind;

    #[test]
    fn one_host_that_answers_suffices() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = Host { name: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let not_there = Host { name: "127.0.0.1".to_owned(), port: 1 };
        assert!(any_of(&[not_there.clone(), there]).is_ok());
        assert_eq!(any_of(&[not_there]).unwrap_err().errno(), Some(libc::ECONNREFUSED));
    }

    #[test]
    fn names_that_nobody_has_are_unreachable() {
        let nobody = Host { name: "host.invalid".to_owned(), port: 1 };
        assert_eq!(any_of(&[nobody]).unwrap_err().kind(), Kind::NotConnected);
        assert_eq!(any_of(&[]).unwrap_err().kind(), Kind::Invalid);
    }
}
