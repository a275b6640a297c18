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

/// One target as login and SendTargets see it.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct TargetEntry {
    pub name: Arc<str>,
    pub alias: Option<Arc<str>>,
    /// Tag of the portal group through which the asking connection came.
    pub portal_group_tag: u16,
    pub relative_port: u16,
    /// Advertised addresses with their portal group tags: `host:port`, IPv6 in brackets.
    pub addresses: Vec<(String, u16)>,
    pub initiators: InitiatorList,
    pub auth: AuthPolicy,
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
