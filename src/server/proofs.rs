//! What stands for the secrets of a target where nexuses are compared: numbers that tell nothing about them outside this process.

use glint_target_core::login::catalog::AuthPolicy;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// One for each name and secret with which somebody may log in; none where anybody may.
pub(super) fn of(policy: &AuthPolicy) -> Vec<u64> {
    match policy {
        AuthPolicy::Open => Vec::new(),
        AuthPolicy::Chap { initiators, .. } => {
            let number = |name: &str, secret: &[u8]| KEYS.hash_one((name, secret));
            initiators.iter().map(|own| number(&own.name, own.secret.expose())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glint_target_core::login::catalog::{ChapCredentials, Secret};

    fn chap(credentials: &[(&str, &str)]) -> AuthPolicy {
        let one = |(name, secret): &(&str, &str)| ChapCredentials {
            name: (*name).to_string(),
            secret: Secret::new(secret.as_bytes().to_vec()),
        };
        AuthPolicy::Chap { initiators: credentials.iter().map(one).collect(), mutual: None }
    }

    #[test]
    fn a_number_stands_for_name_and_secret() {
        assert_eq!(of(&AuthPolicy::Open), Vec::<u64>::new());
        let both = of(&chap(&[("alice", "secret-of-alice"), ("bob", "secret-of-bob")]));
        assert_eq!(of(&chap(&[("bob", "secret-of-bob")])), both[1..]);
        for other in [("alice", "secret-of-bob"), ("bob", "secret-of-alice"), ("alicesecret", "-of-alice")] {
            assert!(!both.contains(&of(&chap(&[other]))[0]), "{other:?}");
        }
    }
}
