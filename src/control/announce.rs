//! What is written on standard output when the node is ready: where the volumes are, and how to connect.

use crate::config::{Config, Host, Portal, TargetConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One `ready` line for each LUN, then how to connect to the first.
pub(super) fn lines(config: &Config, bound: impl Fn(SocketAddr) -> Option<SocketAddr>) -> Vec<String> {
    // Plain portals first: what is printed can be tried as it is.
    let (tls, plain): (Vec<_>, Vec<_>) = config.portals.iter().partition(|portal| portal.tls.is_some());
    let place = |target: &TargetConfig| {
        let mut portals = plain.iter().chain(&tls).filter(|portal| target.serves_group(portal.group_tag));
        portals.find_map(|portal| address(portal, &bound))
    };
    let placed = config.targets.iter().filter_map(|target| Some((target, place(target)?)));
    let luns = placed.flat_map(|(target, portal)| {
        target.luns.iter().map(move |lun| (target, portal.clone(), format!("{}/{}", target.iqn, lun.number)))
    });
    let urls: Vec<_> =
        luns.map(|(target, portal, lun)| (target, format!("iscsi://{portal}/{lun}"), portal)).collect();
    let mut lines: Vec<_> = urls.iter().map(|(_, url, _)| format!("ready {url}")).collect();
    if let Some((target, url, portal)) = urls.first() {
        let iqn = &target.iqn;
        lines.push(format!(
            "iscsiadm -m discovery -t sendtargets -p {portal} && iscsiadm -m node -T {iqn} -p {portal} --login"
        ));
        lines.push(format!("qemu-system-x86_64 -drive file={url},format=raw,if=virtio"));
        lines.push(format!("iscsi-inq {url}"));
    }
    lines
}

/// How an initiator reaches a portal: as it is advertised, or as it was bound; a wildcard is surely reached from this machine.
fn address(portal: &Portal, bound: impl Fn(SocketAddr) -> Option<SocketAddr>) -> Option<String> {
    if let Some(advertised) = portal.advertise.first() {
        return Some(advertised.to_string());
    }
    portal.listen.iter().find_map(|endpoint| match &endpoint.host {
        Host::Ip(ip) => {
            bound(SocketAddr::new(*ip, endpoint.port)).map(|address| loopback(address).to_string())
        }
        Host::Name(_) | Host::Zoned(..) => Some(endpoint.to_string()),
    })
}

fn loopback(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
