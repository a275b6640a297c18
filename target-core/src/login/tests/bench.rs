//! A catalog, and an initiator in a few words.

use crate::login::catalog::{
    AuthPolicy, Catalog, ChapCredentials, InitiatorList, Secret, TargetEntry, Whereabouts,
};
use crate::login::parameters::Offer;
use crate::login::{Login, Step};
use crate::pdu::fields::{Isid, Serial};
use crate::pdu::initiator::LoginRequest;
use crate::pdu::target::LoginResponse;
use crate::session::event::{BindOutcome, SessionRequest};
use bytes::Bytes;
use std::sync::Arc;

pub(super) const OPEN: &str = "iqn.2026-12.lab:tgt";
pub(super) const CHAP: &str = "iqn.2026-12.lab:chap";
/// CHAP without a secret of the target's own.
pub(super) const ONE_WAY: &str = "iqn.2026-12.lab:one-way";
/// CHAP with the same secret both ways, as it must not be.
pub(super) const SHARED: &str = "iqn.2026-12.lab:shared";
/// Only for initiators of `iqn.2026-12.bar:`.
pub(super) const PRIVATE: &str = "iqn.2026-12.lab:private";

pub(super) fn credentials(name: &str, secret: &str) -> ChapCredentials {
    ChapCredentials { name: name.into(), secret: Secret::new(secret.into()) }
}

fn chap(mutual: Option<ChapCredentials>) -> AuthPolicy {
    let initiators = vec![credentials("bob", "a-different-one"), credentials("alice", "secret1234567")];
    AuthPolicy::Chap { initiators, mutual }
}

pub(super) struct Lab {
    targets: Vec<Arc<TargetEntry>>,
    discovery: AuthPolicy,
}

impl Lab {
    pub(super) fn new() -> Self {
        let entry = |name: &str, initiators: &[&str], auth| {
            Arc::new(TargetEntry {
                name: name.into(),
                alias: (name == OPEN).then(|| "the open one".into()),
                portal_group_tag: 3,
                relative_port: 7,
                addresses: vec![("192.0.2.1:3260".into(), 1), ("[2001:db8::1]:3260".into(), 3)],
                initiators: InitiatorList(initiators.iter().map(|name| (*name).into()).collect()),
                lets_in_network: true,
                served_here: true,
                whereabouts: Whereabouts::Here,
                auth,
            })
        };
        let targets = vec![
            entry(OPEN, &[], AuthPolicy::Open),
            entry(CHAP, &[], chap(Some(credentials("target", "tsecret7654321")))),
            entry(ONE_WAY, &[], chap(None)),
            entry(SHARED, &[], chap(Some(credentials("target", "secret1234567")))),
            entry(PRIVATE, &["iqn.2026-12.bar:*"], AuthPolicy::Open),
        ];
        Self { targets, discovery: AuthPolicy::Open }
    }

    pub(super) fn with_discovery_auth() -> Self {
        Self { discovery: chap(None), ..Self::new() }
    }

    /// With one target changed.
    pub(super) fn changed(name: &str, change: impl Fn(&mut TargetEntry)) -> Self {
        let mut lab = Self::new();
        for target in lab.targets.iter_mut().filter(|target| &*target.name == name) {
            change(Arc::make_mut(target));
        }
        lab
    }

    pub(super) fn with_targets(count: usize) -> Self {
        let lab = Self::new();
        let template = &lab.targets[0];
        let targets = (0..count)
            .map(|n| Arc::new(TargetEntry { name: format!("{OPEN}-{n}").into(), ..(**template).clone() }))
            .collect();
        Self { targets, ..lab }
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

/// "Entropy" that can be foreseen: identifier 90, challenge 32 times 5Ah.
pub(super) fn entropy(buffer: &mut [u8]) {
    buffer.fill(0x5a);
}

/// Pairs, written with spaces between them, as they are on the wire.
pub(super) fn text(pairs: &str) -> String {
    pairs.split_whitespace().map(|pair| format!("{pair}\0")).collect()
}

/// Text of the wire with spaces for zero bytes.
pub(super) fn pairs(text: &[u8]) -> String {
    String::from_utf8(text.to_vec()).expect("UTF-8").trim_end_matches('\0').replace('\0', " ")
}

/// A Login Request: `csg`, `nsg` if it wants to go on, and its pairs.
pub(super) fn request(csg: u8, nsg: Option<u8>, said: &str) -> LoginRequest {
    LoginRequest {
        transit: nsg.is_some(),
        continues: false,
        current_stage: csg,
        next_stage: nsg.unwrap_or(0),
        version_max: 0,
        version_min: 0,
        isid: Isid([0x80, 1, 2, 3, 4, 5]),
        tsih: 0,
        initiator_task_tag: 0x1234,
        cid: 9,
        cmd_sn: Serial(1),
        exp_stat_sn: Serial(0),
        data: text(said).into(),
    }
}

pub(super) fn login() -> Login {
    login_to(Lab::new(), Offer::default())
}

pub(super) fn login_to(lab: Lab, offer: Offer) -> Login {
    Login::new(Arc::new(lab), offer, entropy)
}

/// An initiator's side of a login, checked on the way.
pub(super) struct Play {
    pub(super) login: Login,
}

impl Play {
    pub(super) fn new() -> Self {
        Self { login: login() }
    }

    /// Says something and gets an answer that is not a failure.
    pub(super) fn say(&mut self, csg: u8, nsg: Option<u8>, said: &str) -> LoginResponse {
        self.send(request(csg, nsg, said))
    }

    pub(super) fn send(&mut self, request: LoginRequest) -> LoginResponse {
        match self.login.handle(request) {
            Step::Reply(response) => {
                assert_eq!((response.status_class, response.status_detail), (0, 0));
                assert_eq!(response.initiator_task_tag, 0x1234);
                assert_eq!(response.isid, Isid([0x80, 1, 2, 3, 4, 5]));
                response
            }
            other => panic!("expected a reply, not {other:?} ({:?})", self.login.failure()),
        }
    }

    /// Says the last thing, has the session bound, and gets the final answer's pairs.
    pub(super) fn finish(&mut self, csg: u8, said: &str) -> (SessionRequest, String) {
        let session = match self.login.handle(request(csg, Some(3), said)) {
            Step::Bind(session) => session,
            other => panic!("expected to bind, not {other:?} ({:?})", self.login.failure()),
        };
        match self.login.bound(BindOutcome::Bound { tsih: 77 }) {
            Some(Step::Reply(response)) => {
                assert_eq!((response.status_class, response.status_detail), (0, 0));
                assert!(response.transit && !response.continues);
                assert_eq!((response.current_stage, response.next_stage, response.tsih), (csg, 3, 77));
                (session, pairs(&response.data))
            }
            other => panic!("expected the last reply, not {other:?}"),
        }
    }

    /// Says something that ends the login; gives class and detail.
    pub(super) fn fail(&mut self, csg: u8, nsg: Option<u8>, said: &str) -> (u8, u8) {
        self.fail_with(request(csg, nsg, said))
    }

    pub(super) fn fail_with(&mut self, request: LoginRequest) -> (u8, u8) {
        match self.login.handle(request) {
            Step::Fail(response) => {
                assert!(!response.transit);
                assert_eq!(response.data, Bytes::new());
                let status = (response.status_class, response.status_detail);
                assert_eq!(self.login.failure().map(|failure| failure.status()), Some(status));
                status
            }
            other => panic!("expected a failure, not {other:?}"),
        }
    }
}
