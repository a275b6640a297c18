//! What has been said so far in a login: where the keys of the table land.

use super::parameters::Parameters;
use crate::session::event::SessionType;
use std::sync::Arc;

/// The initiator's side of the introduction, and the parameters as negotiated so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) initiator_name: Option<Arc<str>>,
    pub(super) target_name: Option<Arc<str>>,
    /// Normal unless said otherwise in the first text (RFC 7143 §13.21).
    pub(super) session_type: Option<SessionType>,
    pub(super) parameters: Parameters,
}

impl Draft {
    pub(super) fn is_discovery(&self) -> bool {
        self.session_type == Some(SessionType::Discovery)
    }
}

/// Authentication keys of one request, as text: the security stage reads them.
#[derive(Debug, Default)]
pub(super) struct AuthText {
    pub(super) method: Option<String>,
    pub(super) algorithms: Option<String>,
    pub(super) identifier: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) name: Option<String>,
    pub(super) response: Option<String>,
}

impl AuthText {
    /// Whether any CHAP key is there.
    pub(super) fn has_chap(&self) -> bool {
        [&self.algorithms, &self.identifier, &self.challenge, &self.name, &self.response]
            .iter()
            .any(|key| key.is_some())
    }
}
