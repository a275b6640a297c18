//! The session registry: handles (TSIH), identities, reinstatement.
//!
//! It is locked when a session begins and ends, never for a command.

use super::limits::Limits;
use super::orders::{Dismissal, Orders};
use glint_target_core::pdu::fields::Isid;
use glint_target_core::session::event::{Leg, SessionRequest, SessionType};
use prometheus::IntGauge;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Why a session is refused; each has a login status (RFC 7143 §11.13.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The node has as many sessions as it may.
    OutOfResources,
    /// The session that a connection is to be added to does not exist.
    NoSuchSession,
    /// The session has as many connections as were agreed on.
    TooManyConnections,
    /// The session or connection that this one reinstates has commands that did not end in time. Trying again helps.
    StillEnding,
    /// The target went away during the login.
    TargetRemoved,
}

impl Refusal {
    /// Status-Class and Status-Detail.
    pub(super) fn status(self) -> (u8, u8) {
        match self {
            Refusal::TargetRemoved => (0x02, 0x04),
            Refusal::TooManyConnections => (0x02, 0x06),
            Refusal::NoSuchSession => (0x02, 0x0a),
            Refusal::StillEnding => (0x03, 0x01),
            Refusal::OutOfResources => (0x03, 0x02),
        }
    }

    /// For metrics and logs.
    pub(super) fn label(self) -> &'static str {
        match self {
            Refusal::TargetRemoved => "target_removed",
            Refusal::TooManyConnections => "too_many_connections",
            Refusal::NoSuchSession => "no_such_session",
            Refusal::StillEnding => "reinstatement_timeout",
            Refusal::OutOfResources => "out_of_resources",
        }
    }
}

/// What makes a session the same as an older one (RFC 7143 §6.3.5): initiator port and target portal group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    initiator: String,
    isid: Isid,
    target: String,
    portal_group_tag: u16,
}

impl Identity {
    /// Discovery sessions have none: any number of them may be there side by side.
    fn of(request: &SessionRequest) -> Option<Self> {
        let target = request.target_name.as_deref()?;
        (request.session_type == SessionType::Normal).then(|| Self {
            initiator: request.initiator_name.to_ascii_lowercase(),
            isid: request.isid,
            target: target.to_ascii_lowercase(),
            portal_group_tag: request.portal_group_tag,
        })
    }
}

struct Entry {
    identity: Option<Identity>,
    orders: Arc<Orders>,
    ended: CancellationToken,
}

#[derive(Default)]
struct State {
    by_tsih: HashMap<u16, Entry>,
    by_identity: HashMap<Identity, u16>,
    last_tsih: u16,
}

/// All sessions of the node.
pub(super) struct Sessions {
    state: Mutex<State>,
    gauge: IntGauge,
}

impl Sessions {
    pub(super) fn new(gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), gauge })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the session known. An older one of the same identity is ended first, and waited for: for its commands too, so that
    /// none of them can take effect after a command of the new session.
    pub(super) async fn bind(
        self: Arc<Self>,
        request: SessionRequest,
        orders: Arc<Orders>,
        limits: &Limits,
    ) -> Result<SessionHandle, Refusal> {
        let identity = Identity::of(&request);
        let reinstate = async {
            loop {
                match self.try_bind(&identity, &orders, limits) {
                    Attempt::Settled(settled) => return settled,
                    Attempt::Wait(ended) => ended.cancelled().await,
                }
            }
        };
        tokio::time::timeout(limits.reinstatement, reinstate).await.unwrap_or(Err(Refusal::StillEnding))
    }

    /// The session that a connection asks to join: the one of its TSIH, if that is a session of the same initiator port and portal group.
    pub(super) fn find(&self, request: &SessionRequest) -> Result<Arc<Orders>, Refusal> {
        // A discovery session has one connection for ever, and nothing to tell whose it is.
        let identity = Identity::of(request).ok_or(Refusal::NoSuchSession)?;
        match self.lock().by_tsih.get(&request.tsih) {
            Some(entry) if entry.identity.as_ref() == Some(&identity) => Ok(Arc::clone(&entry.orders)),
            _ => Err(Refusal::NoSuchSession),
        }
    }

    fn try_bind(
        self: &Arc<Self>,
        identity: &Option<Identity>,
        orders: &Arc<Orders>,
        limits: &Limits,
    ) -> Attempt {
        let mut state = self.lock();
        let older = identity.as_ref().and_then(|identity| state.by_identity.get(identity));
        if let Some(entry) = older.and_then(|tsih| state.by_tsih.get(tsih)) {
            entry.orders.dismiss(Dismissal::Reinstated);
            return Attempt::Wait(entry.ended.clone());
        }
        if !state.has_room(identity.is_some(), limits) {
            return Attempt::Settled(Err(Refusal::OutOfResources));
        }
        let tsih = state.next_tsih();
        let ended = CancellationToken::new();
        let entry = Entry { identity: identity.clone(), orders: Arc::clone(orders), ended: ended.clone() };
        state.by_tsih.insert(tsih, entry);
        if let Some(identity) = identity {
            state.by_identity.insert(identity.clone(), tsih);
        }
        self.gauge.inc();
        Attempt::Settled(Ok(SessionHandle { sessions: Arc::clone(self), tsih, ended }))
    }

    /// Ends the sessions that may no longer be, and the connections of others that may not, by what `standing` says to the names of
    /// initiator and target, both in lower case, the portal group tag and the initiator's address on a connection; gives what to wait for
    /// until those sessions and their commands have ended.
    pub(super) fn revoke(
        &self,
        standing: impl Fn(&str, &str, u16, IpAddr) -> Standing,
    ) -> Vec<CancellationToken> {
        let state = self.lock();
        let mut ending = Vec::new();
        for entry in state.by_tsih.values() {
            let Some(identity) = &entry.identity else { continue };
            let Identity { initiator, target, portal_group_tag, .. } = identity;
            let mut connections = entry.orders.open();
            if connections.is_empty() {
                // Another is to take the place of the last.
                connections.push((Leg::FIRST, entry.orders.peer()));
            }
            let standing = |peer| standing(initiator, target, *portal_group_tag, peer);
            let withdrawn: Vec<_> =
                connections.iter().filter(|(_, peer)| standing(*peer) == Standing::Withdrawn).collect();
            if connections.iter().any(|(_, peer)| standing(*peer) == Standing::TargetGone) {
                entry.orders.drain();
            } else if withdrawn.len() == connections.len() {
                entry.orders.dismiss(Dismissal::Revoked);
            } else {
                if !withdrawn.is_empty() {
                    entry.orders.withdraw(withdrawn.into_iter().map(|(leg, _)| *leg));
                }
                continue;
            }
            ending.push(entry.ended.clone());
        }
        ending
    }

    /// Ends all sessions of a target that was reset.
    pub(super) fn reset(&self, target: &str) {
        let state = self.lock();
        let of_target = |identity: &Identity| identity.target.eq_ignore_ascii_case(target);
        let concerned = state.by_tsih.values().filter(|entry| entry.identity.as_ref().is_some_and(of_target));
        concerned.for_each(|entry| entry.orders.dismiss(Dismissal::TargetReset));
    }
}

/// Whether a session, or one of its connections, may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Admitted,
    /// Its target is served no longer: it is asked to log out, so that the initiator can come to an end with its work.
    TargetGone,
    /// Its target is not for this initiator any more, or not from there: it ends at once.
    Withdrawn,
}

enum Attempt {
    Settled(Result<SessionHandle, Refusal>),
    /// Until this session has ended.
    Wait(CancellationToken),
}

impl State {
    /// Whether one more session may begin: normal, or for discovery. There are fewer of them than handles.
    fn has_room(&self, normal: bool, limits: &Limits) -> bool {
        let of_kind = self.by_tsih.values().filter(|entry| entry.identity.is_some() == normal).count();
        let most = if normal { limits.max_sessions } else { limits.max_discovery_sessions };
        of_kind < most && self.by_tsih.len() < usize::from(u16::MAX)
    }

    /// A handle that is free; there is one, as the number of sessions is below that of handles.
    fn next_tsih(&mut self) -> u16 {
        loop {
            self.last_tsih = self.last_tsih.wrapping_add(1);
            if self.last_tsih != 0 && !self.by_tsih.contains_key(&self.last_tsih) {
                return self.last_tsih;
            }
        }
    }
}

/// A session's place in the registry. To be dropped when the session has ended with all its commands.
pub(super) struct SessionHandle {
    sessions: Arc<Sessions>,
    tsih: u16,
    ended: CancellationToken,
}

impl SessionHandle {
    pub(super) fn tsih(&self) -> u16 {
        self.tsih
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        let mut state = self.sessions.lock();
        if let Some(identity) = state.by_tsih.remove(&self.tsih).and_then(|entry| entry.identity) {
            state.by_identity.remove(&identity);
        }
        drop(state);
        self.sessions.gauge.dec();
        self.ended.cancel();
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
