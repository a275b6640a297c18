//! `host:port` in its three forms: name, IPv4, IPv6 in brackets.

use rustix::net::{AddressFamily, SocketType, netdevice};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// A host as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Ip(IpAddr),
    /// An IPv6 address and the zone that it belongs to: the name or number of an interface (RFC 4007 §11).
    Zoned(Ipv6Addr, String),
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
            Host::Ip(ip) => ip.to_canonical().is_loopback(),
            Host::Zoned(ip, _) => ip.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }

    /// Whether it stands for all addresses of the machine, so that it cannot be told to anyone.
    pub fn is_unspecified(&self) -> bool {
        matches!(&self.host, Host::Ip(ip) if ip.is_unspecified())
    }

    /// Why initiators cannot be told to connect to it, if they cannot.
    pub fn why_not_told(&self) -> Option<String> {
        match &self.host {
            _ if self.port == 0 || self.is_unspecified() => {
                Some(format!("initiators cannot connect to {self}"))
            }
            Host::Zoned(..) => Some(format!("the zone in {self} means nothing to others")),
            _ => None,
        }
    }

    /// Why it cannot be bound, as far as that can be told beforehand.
    pub fn why_not_bound(&self) -> Option<String> {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) if ip.is_unicast_link_local() => Some(format!(
                "{self} is there on every link: add the interface, as in [{ip}%eth0]:{}",
                self.port
            )),
            _ => None,
        }
    }

    /// The socket addresses to bind; a name is looked up and may have several.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, self.port)]),
            Host::Zoned(ip, zone) => Ok(vec![SocketAddrV6::new(*ip, self.port, 0, zone_index(zone)?).into()]),
            Host::Name(name) => Ok(tokio::net::lookup_host((name.as_str(), self.port)).await?.collect()),
        }
    }
}

/// The index of an interface, given its name or that index.
fn zone_index(zone: &str) -> io::Result<u32> {
    if let Ok(index) = zone.parse() {
        return Ok(index);
    }
    let any = rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None)?;
    let index = netdevice::name_to_index(any, zone);
    index.map_err(|_| io::Error::new(io::ErrorKind::NotFound, format!("there is no interface {zone:?}")))
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
            Host::Zoned(ip, zone) => write!(f, "[{ip}%{zone}]"),
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

/// Whether it can be the name of an interface, or its number.
fn is_zone(zone: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'%' | b'[' | b']' | b':');
    (1..16).contains(&zone.len()) && zone.bytes().all(good)
}

/// Reads a host: an IPv4 address, an IPv6 address in brackets, or a name.
pub(super) fn parse_host(text: &str) -> Result<Host, String> {
    if let Some(inner) = text.strip_prefix('[') {
        let address = inner.strip_suffix(']').unwrap_or(inner);
        let (ip, zone) = address.split_once('%').map_or((address, None), |(ip, zone)| (ip, Some(zone)));
        let ip = ip.parse::<Ipv6Addr>().map_err(|_| format!("{address:?} is no IPv6 address"))?;
        return match zone {
            None => Ok(Host::Ip(IpAddr::V6(ip))),
            Some(zone) if is_zone(zone) => Ok(Host::Zoned(ip, zone.to_owned())),
            Some(zone) => Err(format!("{zone:?} in {address:?} is no interface")),
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
