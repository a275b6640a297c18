//! From configured portals to addresses to bind and addresses to tell.

use crate::config::Portal;
use crate::server::catalog::{PortalAddress, PortalGroup};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

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

/// What to bind, with portal group tags.
pub(super) fn to_bind(portals: &[ResolvedPortal<'_>]) -> Vec<(SocketAddr, u16)> {
    let mut all = Vec::new();
    for portal in portals {
        for address in &portal.listen {
            if !all.iter().any(|(other, _)| other == address) {
                all.push((*address, portal.portal.group_tag));
            }
        }
    }
    all
}

/// The portal groups in ascending order of their tags; `bound` tells which address was bound for one that was wanted, if it could be.
pub(super) fn groups(
    portals: &[ResolvedPortal<'_>],
    bound: impl Fn(SocketAddr) -> Option<SocketAddr>,
) -> Vec<PortalGroup> {
    let mut by_tag: BTreeMap<u16, Vec<PortalAddress>> = BTreeMap::new();
    for portal in portals {
        let addresses = by_tag.entry(portal.portal.group_tag).or_default();
        if portal.portal.advertise.is_empty() {
            addresses.extend(portal.listen.iter().filter_map(|wanted| bound(*wanted)).map(as_told));
        } else {
            addresses
                .extend(portal.portal.advertise.iter().map(|told| PortalAddress::Fixed(told.to_string())));
        }
    }
    // Persistent registrations name a port by its RELATIVE TARGET PORT IDENTIFIER. So it is the tag, which stays when groups come and go:
    // counted, a group that is added would take the place of another in what was registered before.
    by_tag.into_iter().map(|(tag, addresses)| PortalGroup { tag, relative_port: tag, addresses }).collect()
}

fn as_told(bound: SocketAddr) -> PortalAddress {
    match bound.ip().is_unspecified() {
        true => PortalAddress::Local(bound),
        false => PortalAddress::Fixed(bound.to_string()),
    }
}

#[cfg(test)]
#[path = "portals_tests.rs"]
mod tests;
