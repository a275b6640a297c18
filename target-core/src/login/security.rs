//! The stage of security negotiation (RFC 7143 §6.3.2, §12): which method, and whether everything is proved.

use super::catalog::AuthPolicy;
use super::chap::{Chap, Entropy};
use super::draft::AuthText;
use super::failure::{AuthenticationFailure, LoginFailure, Misbehaviour};
use super::text::Writer;

/// How far authentication is.
pub enum Security {
    /// AuthMethod is open.
    Method,
    /// CHAP is agreed, and under way.
    Chap(Chap),
    /// Nothing (more) is to be proved.
    Proven,
}

impl Security {
    /// Takes the authentication keys of one request.
    pub fn handle(
        self,
        text: &AuthText,
        transit: bool,
        policy: &AuthPolicy,
        entropy: Entropy,
        answers: &mut Writer,
    ) -> Result<Self, LoginFailure> {
        match (self, text.method.as_deref()) {
            (Self::Method, Some(methods)) if !text.has_chap() => Ok(Self::choose(methods, policy, answers)?),
            // Silence on AuthMethod is None, if the initiator wants to go on with that.
            (Self::Method, None) if !text.has_chap() => match (transit, policy) {
                (false, _) => Ok(Self::Method),
                (true, AuthPolicy::Open) => Ok(Self::Proven),
                (true, AuthPolicy::Chap { .. }) => Err(AuthenticationFailure::Required.into()),
            },
            (Self::Chap(chap), _) => {
                Ok(chap.handle(text, policy, entropy, answers)?.map_or(Self::Proven, Self::Chap))
            }
            (Self::Proven, _) if !text.has_chap() => Ok(Self::Proven),
            // CHAP comes after AuthMethod=CHAP is agreed, and once.
            _ => Err(Misbehaviour::Misplaced("CHAP").into()),
        }
    }

    /// The first method of the initiator's list that the policy has.
    fn choose(
        methods: &str,
        policy: &AuthPolicy,
        answers: &mut Writer,
    ) -> Result<Self, AuthenticationFailure> {
        let (method, next) = match policy {
            AuthPolicy::Open => ("None", Self::Proven),
            AuthPolicy::Chap { .. } => ("CHAP", Self::Chap(Chap::Algorithms)),
        };
        if !methods.split(',').any(|offered| offered == method) {
            return Err(AuthenticationFailure::NoCommonMethod);
        }
        answers.push("AuthMethod", method);
        Ok(next)
    }
}
