//! From configured portals to addresses to bind and addresses to tell.

use crate::cluster::Neighbour;
use crate::config::Portal;
use crate::server::Binding;
use crate::server::catalog::{PortalAddress, PortalGroup, Told};
use crate::server::door::{Door, TlsDoor};
use glint_cluster_core::membership::Portal as Record;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A portal whose names have been looked up.
pub(super) struct ResolvedPortal<'a> {
    portal: &'a Portal,
    listen: Vec<SocketAddr>,
}

/// Looks names up; tells those that have no address.
pub(super) async fn resolve(portals: &[Portal]) -> (Vec<ResolvedPortal<'_>>, Vec<(String, io::Error)>) {
    let (mut resolved, mut failed) = (Vec::new(), Vec::new());
    for portal in portals {
        let mut listen = Vec::new();
        for endpoint in &portal.listen {
            match endpoint.resolve().await {
                Ok(addresses) => listen.extend(addresses),
                Err(error) => failed.push((endpoint.to_string(), error)),
            }
        }
        resolved.push(ResolvedPortal { portal, listen });
    }
    (resolved, failed)
}

/// What to bind, and what is behind it; `number` tells what the portal group of a tag is called.
pub(super) fn to_bind(portals: &[ResolvedPortal<'_>], number: impl Fn(u16) -> u16) -> Vec<Binding> {
    let mut all: Vec<Binding> = Vec::new();
    for ResolvedPortal { portal, listen } in portals {
        let tls = portal.tls.as_ref().map(|tls| TlsDoor {
            server: Arc::clone(&tls.server),
            client_names: tls.client_names.as_slice().into(),
        });
        for address in listen {
            if !all.iter().any(|other| other.address == *address) {
                all.push(Binding {
                    address: *address,
                    door: Door { tag: number(portal.group_tag), tls: tls.clone() },
                });
            }
        }
    }
    all
}

/// The portal groups in ascending order of what they are called, which `number` tells by their tags; `bound` tells which address was bound for one that was wanted, if it could be.
pub(super) fn groups(
    portals: &[ResolvedPortal<'_>],
    number: impl Fn(u16) -> u16,
    bound: impl Fn(SocketAddr) -> Option<SocketAddr>,
) -> Vec<PortalGroup> {
    let mut by_tag: BTreeMap<u16, Vec<PortalAddress>> = BTreeMap::new();
    for portal in portals {
        let ResolvedPortal { portal, listen } = portal;
        let told: Vec<Told> = match portal.advertise.as_slice() {
            [] => listen.iter().filter_map(|wanted| bound(*wanted)).map(as_told).collect(),
            advertised => advertised.iter().map(|told| Told::Fixed(told.to_string())).collect(),
        };
        let tls = portal.tls.is_some();
        let addresses = told.into_iter().map(|told| PortalAddress { told, tls });
        by_tag.entry(number(portal.group_tag)).or_default().extend(addresses);
    }
    // Persistent registrations name a port by its RELATIVE TARGET PORT IDENTIFIER. So that is the tag, which stays when groups come and go:
    // counted, a group that is added would take the place of another in what was registered before.
    by_tag.into_iter().map(|(tag, addresses)| PortalGroup { tag, addresses }).collect()
}

/// The portals, for the other nodes.
pub(super) fn records(
    portals: &[ResolvedPortal<'_>],
    bound: impl Fn(SocketAddr) -> Option<SocketAddr>,
) -> Vec<Record> {
    let records = portals.iter().flat_map(|ResolvedPortal { portal, listen }| {
        let advertised: Vec<_> = portal.advertise.iter().map(ToString::to_string).collect();
        let bound = listen.iter().filter_map(|wanted| bound(*wanted));
        bound.map(move |bound| Record {
            tag: portal.group_tag,
            bound: bound.to_string(),
            advertised: advertised.clone(),
        })
    });
    records.collect()
}

/// A portal group of another node, for initiators. TLS is told as there is none: what another node has is behind its own door.
pub(super) fn neighbour(of: &Neighbour) -> PortalGroup {
    let addresses =
        of.addresses.iter().map(|address| PortalAddress { told: Told::Fixed(address.clone()), tls: false });
    PortalGroup { tag: of.number, addresses: addresses.collect() }
}

fn as_told(bound: SocketAddr) -> Told {
    match bound.ip() {
        ip if ip.is_unspecified() => Told::Local(bound),
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Told::Link(bound),
        // Mapped IPv4 is for us alone; initiators are told IPv4.
        ip => Told::Fixed(SocketAddr::new(ip.to_canonical(), bound.port()).to_string()),
    }
}

#[cfg(test)]
#[path = "portals_tests.rs"]
mod tests;
