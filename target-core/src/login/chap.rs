//! CHAP (RFC 7143 §12.1.3, RFC 1994): the target's side, one-way and mutual.

use super::catalog::{AuthPolicy, ChapCredentials, Secret};
use super::draft::AuthText;
use super::failure::AuthenticationFailure;
use super::text::Writer;
use super::value::{self, Hex};
use sha2::digest::{Digest, Output};
use std::hint::black_box;

/// Most bytes of a challenge (RFC 7143 §12.1.3: 1024 bytes of binary value).
const MAX_CHALLENGE: usize = 1024;
/// Bytes of the challenges that we make: no hash of ours is longer.
const CHALLENGE: usize = 32;
/// Bytes of the longest hash.
const MAX_HASH: usize = 32;

/// Fills a buffer with bytes that nobody can foresee.
pub type Entropy = fn(&mut [u8]);

/// Hash algorithms of CHAP_A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha3_256,
}

/// Their numbers (RFC 7143 §12.1.3; IANA's registry of PPP authentication algorithms).
const ALGORITHMS: [(u32, Algorithm); 4] =
    [(5, Algorithm::Md5), (6, Algorithm::Sha1), (7, Algorithm::Sha256), (8, Algorithm::Sha3_256)];

impl Algorithm {
    /// The first of the initiator's list that we have.
    fn choose(list: &str) -> Option<(u32, Self)> {
        list.split(',').find_map(|number| {
            let number = value::number(number)?;
            ALGORITHMS.iter().find(|(ours, _)| *ours == number).copied()
        })
    }

    /// Hash of identifier, secret and challenge (RFC 1994 §4.1).
    pub(super) fn respond(self, identifier: u8, secret: &Secret, challenge: &[u8]) -> Vec<u8> {
        fn hash<D: Digest>(parts: [&[u8]; 3]) -> Output<D> {
            parts.iter().fold(D::new(), |hash, part| hash.chain_update(part)).finalize()
        }
        let parts = [&[identifier], secret.expose(), challenge];
        match self {
            Self::Md5 => hash::<md5::Md5>(parts).to_vec(),
            Self::Sha1 => hash::<sha1::Sha1>(parts).to_vec(),
            Self::Sha256 => hash::<sha2::Sha256>(parts).to_vec(),
            Self::Sha3_256 => hash::<sha3::Sha3_256>(parts).to_vec(),
        }
    }
}

/// Where the exchange is.
#[derive(Debug)]
pub(super) enum Chap {
    /// AuthMethod=CHAP is settled; the initiator's list of algorithms comes next.
    Algorithms,
    /// Our challenge is out.
    Challenged(Challenge),
}

/// What we challenged the initiator with.
#[derive(Debug)]
pub(super) struct Challenge {
    algorithm: Algorithm,
    identifier: u8,
    challenge: [u8; CHALLENGE],
}

impl Chap {
    /// Takes one request's keys. None: the initiator has proved itself.
    pub(super) fn handle(
        self,
        text: &AuthText,
        policy: &AuthPolicy,
        entropy: Entropy,
        answers: &mut Writer,
    ) -> Result<Option<Self>, AuthenticationFailure> {
        match self {
            Self::Algorithms => {
                Challenge::make(text, entropy, answers).map(|made| Some(Self::Challenged(made)))
            }
            Self::Challenged(challenge) => challenge.check(text, policy, answers).map(|()| None),
        }
    }
}

impl Challenge {
    fn make(text: &AuthText, entropy: Entropy, answers: &mut Writer) -> Result<Self, AuthenticationFailure> {
        let list = text.algorithms.as_deref().ok_or(AuthenticationFailure::Incomplete("CHAP_A"))?;
        let (number, algorithm) = Algorithm::choose(list).ok_or(AuthenticationFailure::NoCommonAlgorithm)?;
        let mut identifier = [0];
        let mut challenge = [0; CHALLENGE];
        entropy(&mut identifier);
        entropy(&mut challenge);
        let [identifier] = identifier;
        answers.push("CHAP_A", number);
        answers.push("CHAP_I", identifier);
        answers.push("CHAP_C", Hex(&challenge));
        Ok(Self { algorithm, identifier, challenge })
    }

    fn check(
        &self,
        text: &AuthText,
        policy: &AuthPolicy,
        answers: &mut Writer,
    ) -> Result<(), AuthenticationFailure> {
        let AuthPolicy::Chap { initiators, mutual } = policy else {
            return Err(AuthenticationFailure::NoCommonMethod);
        };
        let name = text.name.as_deref().ok_or(AuthenticationFailure::Incomplete("CHAP_N"))?;
        let response = text.response.as_deref().ok_or(AuthenticationFailure::Incomplete("CHAP_R"))?;
        let response = value::binary(response, MAX_HASH).ok_or(AuthenticationFailure::Malformed("CHAP_R"))?;
        let initiator = self.find(initiators, name, &response).ok_or(AuthenticationFailure::WrongProof)?;

        // The target proves itself only to an initiator that has: so nobody can have challenges of other connections answered.
        let (identifier, challenge) = match (text.identifier.as_deref(), text.challenge.as_deref()) {
            (None, None) => return Ok(()),
            (Some(identifier), Some(challenge)) => (identifier, challenge),
            (None, Some(_)) => return Err(AuthenticationFailure::Incomplete("CHAP_I")),
            (Some(_), None) => return Err(AuthenticationFailure::Incomplete("CHAP_C")),
        };
        let identifier = value::number(identifier)
            .and_then(|number| u8::try_from(number).ok())
            .ok_or(AuthenticationFailure::Malformed("CHAP_I"))?;
        let challenge =
            value::binary(challenge, MAX_CHALLENGE).ok_or(AuthenticationFailure::Malformed("CHAP_C"))?;
        if challenge == self.challenge {
            return Err(AuthenticationFailure::ReflectedChallenge);
        }
        let target = mutual.as_ref().ok_or(AuthenticationFailure::NoTargetSecret)?;
        if equal(target.secret.expose(), initiator.secret.expose()) {
            return Err(AuthenticationFailure::SharedSecret);
        }
        answers.push("CHAP_N", &target.name);
        answers.push("CHAP_R", Hex(&self.algorithm.respond(identifier, &target.secret, &challenge)));
        Ok(())
    }

    /// The credentials that the response proves. Every candidate is hashed and compared, whatever the name: how long it takes
    /// does not tell which names exist.
    fn find<'a>(
        &self,
        initiators: &'a [ChapCredentials],
        name: &str,
        response: &[u8],
    ) -> Option<&'a ChapCredentials> {
        initiators.iter().fold(None, |found, candidate| {
            let expected = self.algorithm.respond(self.identifier, &candidate.secret, &self.challenge);
            let proved = equal(&expected, response) & equal(candidate.name.as_bytes(), name.as_bytes());
            if proved { Some(candidate) } else { found }
        })
    }
}

/// Compares without telling by its duration where the difference is. The lengths are no secret.
fn equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |difference, (a, b)| black_box(difference | (a ^ b))) == 0
}

#[cfg(test)]
#[path = "chap_tests.rs"]
mod tests;
