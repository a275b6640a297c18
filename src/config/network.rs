//! Networks that initiators may come from: `10.0.0.0/8`, `fd00::/8`, or one address.

use ipnet::IpNet;
use std::net::IpAddr;

/// One element of a `networks` list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network(pub(super) IpNet);

impl std::str::FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => text.parse::<IpNet>().map_err(|_| {
                format!("{text:?} is no network; write 10.0.0.0/8, fd00::/8 or one address such as 192.0.2.7")
            })?,
        };
        if network.trunc() != network {
            return Err(format!("{text:?} has bits beyond its prefix; write {}", network.trunc()));
        }
        // Connections over IPv4 count as IPv4, however they came.
        match network.addr() {
            IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
                Err(format!("{text:?}: write IPv4 networks as such"))
            }
            _ => Ok(Self(network)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_single_addresses() {
        for (text, shown) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("fd00::/8", "fd00::/8"),
            ("::1", "::1/128"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(text.parse::<Network>().map(|network| network.0.to_string()).as_deref(), Ok(shown));
        }
    }

    #[test]
    fn what_is_no_network_is_told() {
        for (text, told) in [
            ("10.0.0.1/8", "write 10.0.0.0/8"),
            ("fd00::1/64", "write fd00::/64"),
            ("10.0.0.0/33", "is no network"),
            ("10.0.0/8", "is no network"),
            ("", "is no network"),
            ("storage.example", "is no network"),
            ("10.0.0.0/", "is no network"),
            ("10.0.0.0/-1", "is no network"),
            ("[fd00::]/8", "is no network"),
            ("fe80::1%eth0", "is no network"),
            ("::ffff:10.0.0.0/104", "write IPv4"),
            ("::ffff:10.0.0.1", "write IPv4"),
        ] {
            let error = text.parse::<Network>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
