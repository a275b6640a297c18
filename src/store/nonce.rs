//! Random numbers for what is written to the store.

use glint_cluster_core::store::Nonce;

/// One that nobody has used, nor will.
///
/// # Errors
/// Where the system has no random numbers.
pub fn nonce() -> Result<Nonce, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(Nonce(u128::from_ne_bytes(bytes)))
}
