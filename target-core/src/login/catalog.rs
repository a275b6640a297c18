//! What login asks of the outside: which targets there are, who may see them and with which proof.

use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A CHAP secret. Never printed, wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the secret's bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for hashing only.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A CHAP name and its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ChapCredentials {
    pub name: String,
    pub secret: Secret,
}

/// What an initiator has to prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AuthPolicy {
    /// Nothing: AuthMethod=None is taken.
    #[default]
    Open,
    /// CHAP; with `mutual` the target proves itself too when the initiator asks for it.
    Chap {
        /// Accepted from the initiator: any of these.
        initiators: Vec<ChapCredentials>,
        /// The target's own proof.
        mutual: Option<ChapCredentials>,
    },
}

/// Which initiators are let in, by iSCSI name; empty means any. A trailing `*` in a pattern matches any rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitiatorList(pub Vec<String>);

impl InitiatorList {
    /// Whether the initiator of this name is let in. iSCSI names compare in lower case (RFC 3722).
    pub fn admits(&self, initiator: &str) -> bool {
        self.0.is_empty()
            || self.0.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => {
                    initiator.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
                }
                None => pattern.eq_ignore_ascii_case(initiator),
            })
    }
}

/// Where initiators are sent to instead of being logged in (RFC 7143 §11.13.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// `host:port`, IPv6 in brackets, without a portal group tag (RFC 7143 §13.8).
    pub address: Arc<str>,
    /// Whether the target has moved for good, so that the initiator may forget this portal.
    pub permanent: bool,
}

/// Where a target is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Whereabouts {
    /// Here.
    #[default]
    Here,
    /// It is about to move, here or away: its units are not open yet, or not closed. Initiators are to try again.
    Moving,
    /// Elsewhere.
    Moved(Redirect),
}

/// One target as login and SendTargets see it on one connection.
#[derive(Clone, Debug)]
pub struct TargetEntry {
    /// iSCSI name.
    pub name: Arc<str>,
    /// TargetAlias.
    pub alias: Option<Arc<str>>,
    /// Tag of the portal group through which the asking connection came.
    pub portal_group_tag: u16,
    /// RELATIVE TARGET PORT IDENTIFIER of that group's port.
    pub relative_port: u16,
    /// Advertised addresses with their portal group tags: `host:port`, IPv6 in brackets. A target without any is not told of.
    pub addresses: Vec<(String, u16)>,
    /// Who may log in.
    pub initiators: InitiatorList,
    /// Whether the connection comes from a network that the target lets in; to others it is not told, and refused.
    pub lets_in_network: bool,
    /// Whether it can be logged in to through the connection's portal group.
    pub served_here: bool,
    /// Where it is to be found.
    pub whereabouts: Whereabouts,
    /// What initiators have to prove.
    pub auth: AuthPolicy,
}

impl TargetEntry {
    /// Whether an initiator of this name may know of the target.
    pub fn admits(&self, initiator: &str) -> bool {
        self.lets_in_network && self.initiators.admits(initiator)
    }
}

/// The targets that a connection can reach through its portal: a snapshot, cheap to ask.
pub trait Catalog: Send + Sync {
    /// The target of this name (compared without regard to ASCII case).
    fn target(&self, name: &str) -> Option<Arc<TargetEntry>>;

    /// All targets, in the order in which they are told; those that do not admit the initiator are left out by the caller.
    fn targets(&self) -> Vec<Arc<TargetEntry>>;

    /// What a discovery session has to prove.
    fn discovery_auth(&self) -> AuthPolicy;
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
