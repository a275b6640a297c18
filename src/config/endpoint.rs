//! `host:port` in its three forms: name, IPv4, IPv6 in brackets.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A host as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Ip(IpAddr),
    /// A name, in lower case, that is looked up when it is used.
    Name(String),
}

/// A TCP address to bind or to tell to initiators. Prints as `host:port`, IPv6 in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The port; 0 only where a free one may be picked.
    pub port: u16,
}

impl Endpoint {
    /// Reads `host:port`, or `host` alone where a default port is known. `0` as port lets the system pick one.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, String> {
        let (host, port) = split_port(text)?;
        let port = match (port, default_port) {
            (Some(port), _) => port
                .parse::<u16>()
                .ok()
                .filter(|_| port.bytes().all(|b| b.is_ascii_digit()))
                .ok_or_else(|| format!("{port:?} in {text:?} is no port; ports run from 0 to 65535"))?,
            (None, Some(port)) => port,
            (None, None) => return Err(format!("{text:?} lacks its port; write HOST:PORT")),
        };
        Ok(Self { host: parse_host(host)?, port })
    }

    /// Whether nothing but this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Ip(ip) => ip.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }

    /// Whether it stands for all addresses of the machine, so that it cannot be told to anyone.
    pub fn is_unspecified(&self) -> bool {
        matches!(&self.host, Host::Ip(ip) if ip.is_unspecified())
    }

    /// The socket addresses to bind; a name is looked up and may have several.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, self.port)]),
            Host::Name(name) => Ok(tokio::net::lookup_host((name.as_str(), self.port)).await?.collect()),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { host: Host::Ip(address.ip()), port: address.port() }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Splits off the port; a bare IPv6 address is refused, as its last group could be a port.
fn split_port(text: &str) -> Result<(&str, Option<&str>), String> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or_else(|| format!("{text:?} lacks its closing bracket"))?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(format!("{rest:?} after the bracket in {text:?}; write [ADDRESS]:PORT")),
        };
    }
    if text.matches(':').count() > 1 {
        return Err(format!("put the IPv6 address in {text:?} in brackets, as in [::1]:3260"));
    }
    Ok(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

/// Reads a host: an IPv4 address, an IPv6 address in brackets, or a name.
pub(super) fn parse_host(text: &str) -> Result<Host, String> {
    if let Some(inner) = text.strip_prefix('[') {
        let address = inner.strip_suffix(']').unwrap_or(inner);
        return match address.parse::<Ipv6Addr>() {
            Ok(ip) => Ok(Host::Ip(IpAddr::V6(ip))),
            Err(_) => Err(format!("{address:?} is no IPv6 address")),
        };
    }
    if text.is_empty() {
        return Err("the host is missing; write HOST:PORT, with 0.0.0.0 or [::] for all addresses".into());
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(Host::Ip(ip));
    }
    // All digits and dots but no address: surely a mistyped one.
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(format!("{text:?} is no IPv4 address"));
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if text.len() > 253 || !text.strip_suffix('.').unwrap_or(text).split('.').all(label) {
        return Err(format!("{text:?} is neither an address nor a host name"));
    }
    Ok(Host::Name(text.to_ascii_lowercase()))
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
