//! Targets to log in to, and randomness that can be foreseen, so that inputs mean the same for ever.

use glint_target_core::login::catalog::{
    AuthPolicy, Catalog, ChapCredentials, InitiatorList, Redirect, Secret, TargetEntry, Whereabouts,
};
use std::sync::Arc;

/// Fills CHAP identifiers and challenges.
pub(crate) fn entropy(buffer: &mut [u8]) {
    buffer.fill(0x5a);
}

fn credentials(name: &str, secret: &str) -> ChapCredentials {
    ChapCredentials { name: name.into(), secret: Secret::new(secret.into()) }
}

/// A catalog of an open target, one with mutual CHAP, and one for other initiators.
pub(crate) struct Lab {
    targets: Vec<Arc<TargetEntry>>,
    discovery: AuthPolicy,
}

impl Lab {
    /// With or without CHAP for discovery.
    pub(crate) fn new(discovery_auth: bool) -> Self {
        let chap = AuthPolicy::Chap {
            initiators: vec![credentials("alice", "secret1234567")],
            mutual: Some(credentials("target", "tsecret7654321")),
        };
        let entry = |name: &str, initiators: &[&str], auth| {
            Arc::new(TargetEntry {
                name: name.into(),
                alias: None,
                portal_group_tag: 1,
                relative_port: 1,
                addresses: vec![("192.0.2.1:3260".into(), 1), ("[2001:db8::1]:3260".into(), 2)],
                initiators: InitiatorList(initiators.iter().map(|name| (*name).into()).collect()),
                lets_in_network: true,
                served_here: true,
                whereabouts: Whereabouts::Here,
                auth,
            })
        };
        let moved = |mut target: Arc<TargetEntry>| {
            let redirect = Redirect { address: "[2001:db8::2]:3260".into(), permanent: false };
            Arc::make_mut(&mut target).whereabouts = Whereabouts::Moved(redirect);
            target
        };
        let targets = vec![
            entry("iqn.2026-12.lab:tgt", &[], AuthPolicy::Open),
            entry("iqn.2026-12.lab:chap", &[], chap.clone()),
            entry("iqn.2026-12.lab:private", &["iqn.2026-12.bar:*"], AuthPolicy::Open),
            moved(entry("iqn.2026-12.lab:moved", &[], AuthPolicy::Open)),
        ];
        Self { targets, discovery: if discovery_auth { chap } else { AuthPolicy::Open } }
    }
}

impl Catalog for Lab {
    fn target(&self, name: &str) -> Option<Arc<TargetEntry>> {
        self.targets.iter().find(|target| target.name.eq_ignore_ascii_case(name)).cloned()
    }

    fn targets(&self) -> Vec<Arc<TargetEntry>> {
        self.targets.clone()
    }

    fn discovery_auth(&self) -> AuthPolicy {
        self.discovery.clone()
    }
}
