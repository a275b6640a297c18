//! ROD tokens (SPC-5 5.17.6): short values that stand for the blocks of a unit as they were when the token was made.
//!
//! There are no snapshots: a token is of the type "point in time copy - change vulnerable". It stands for the unit's own blocks and is
//! revoked as soon as anything is about to change one of them, so that what is copied is always what was there when it was made. A
//! token can't be guessed: who has one was given it by somebody who could read the blocks.

use super::super::unit::LogicalUnit;
use super::watch::Watch;
use crate::device::BlockDevice;
use crate::scsi::fields::Fields;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Bytes of a token (SPC-5 table 144).
pub const TOKEN_BYTES: usize = 512;
/// Tokens of a node at a time, and those that one initiator may have of them.
const MOST: usize = 1024;
const MOST_OF_ONE: usize = 256;
/// INACTIVITY TIMEOUT where none is asked for, and the longest that is granted, in seconds.
pub const DEFAULT_TIMEOUT: u32 = 30;
/// See [`DEFAULT_TIMEOUT`].
pub const MAX_TIMEOUT: u32 = 300;
/// Where the random part is, and how long.
const SECRET: Range<usize> = 480..512;

/// ROD TYPE values (SPC-5 table 136).
pub mod rod_type {
    /// Point in time copy - default.
    pub const POINT_IN_TIME: u32 = 0x0080_0000;
    /// Point in time copy - change vulnerable.
    pub const CHANGE_VULNERABLE: u32 = 0x0080_0001;
    /// Point in time copy - any.
    pub const ANY_POINT_IN_TIME: u32 = 0x0080_ffff;
    /// Block device zero.
    pub const ZERO: u32 = 0xffff_0001;
}

/// The bytes of a token. They open what they stand for: never shown.
#[derive(Clone)]
pub struct RodToken(pub Box<[u8; TOKEN_BYTES]>);

impl std::fmt::Debug for RodToken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("RodToken(..)")
    }
}

impl RodToken {
    /// Equality in a time that does not tell how much is equal.
    fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() == TOKEN_BYTES && self.0.iter().zip(bytes).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

/// What a token stands for.
pub struct Rod<D> {
    /// The unit.
    pub unit: Arc<LogicalUnit<D>>,
    /// Its blocks, in the token's order.
    pub ranges: Arc<[Range<u64>]>,
    /// Tells whether they have changed.
    pub watch: Arc<Watch>,
}

/// Why a token is of no use (SPC-5 table F.2, additional sense code 23h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Useless {
    /// Nobody knows it, or no longer.
    Unknown,
    /// Its time is over.
    Expired,
    /// Its blocks have changed, or its unit is gone.
    Revoked,
}

struct Entry<D> {
    token: RodToken,
    /// Name of the initiator that had it made.
    owner: Arc<str>,
    unit: Weak<LogicalUnit<D>>,
    ranges: Arc<[Range<u64>]>,
    watch: Arc<Watch>,
    timeout: Duration,
    expires: Instant,
}

/// What a token is to be.
pub struct Wanted<'a, D> {
    /// Name of the initiator.
    pub owner: &'a str,
    /// [`rod_type::POINT_IN_TIME`] or [`rod_type::CHANGE_VULNERABLE`].
    pub rod_type: u32,
    /// The unit.
    pub unit: &'a Arc<LogicalUnit<D>>,
    /// Its blocks, in the token's order.
    pub ranges: Vec<Range<u64>>,
    /// Tells of changes of the blocks, and has not seen one since they were as they are to be.
    pub watch: Watch,
    /// INACTIVITY TIMEOUT.
    pub timeout: Duration,
}

/// The tokens of a node.
pub struct Tokens<D>(Mutex<Vec<Entry<D>>>);

impl<D> Default for Tokens<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D: BlockDevice> Tokens<D> {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry<D>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a token for blocks of a unit. None where the host has no random numbers or there are too many tokens: an initiator's oldest
    /// makes room for its new one, and no other's.
    pub fn create(&self, wanted: Wanted<'_, D>, now: Instant) -> Option<RodToken> {
        let Wanted { owner, rod_type, unit, ranges, watch, timeout } = wanted;
        let blocks = ranges.iter().map(|range| u128::from(range.end - range.start)).sum::<u128>();
        let token = encode(unit, rod_type, blocks * u128::from(unit.block_size()))?;
        let mut tokens = self.lock();
        tokens.retain(|entry| entry.expires > now);
        let own = tokens.iter().filter(|entry| &*entry.owner == owner).count();
        if tokens.len() >= MOST || own >= MOST_OF_ONE {
            let oldest = tokens.iter().position(|entry| &*entry.owner == owner)?;
            tokens.remove(oldest);
        }
        tokens.push(Entry {
            token: token.clone(),
            owner: owner.into(),
            unit: Arc::downgrade(unit),
            ranges: ranges.into(),
            watch: Arc::new(watch),
            timeout,
            expires: now + timeout,
        });
        Some(token)
    }

    /// What a token stands for; its time begins anew.
    pub fn open(&self, bytes: &[u8], now: Instant) -> Result<Rod<D>, Useless> {
        let mut tokens = self.lock();
        let at = tokens.iter().position(|entry| entry.token.is(bytes)).ok_or(Useless::Unknown)?;
        let entry = tokens.get_mut(at).ok_or(Useless::Unknown)?;
        if entry.expires <= now {
            tokens.remove(at);
            return Err(Useless::Expired);
        }
        let unit = entry.unit.upgrade().filter(|_| !entry.watch.has_changed()).ok_or(Useless::Revoked)?;
        entry.expires = now + entry.timeout;
        Ok(Rod { unit, ranges: Arc::clone(&entry.ranges), watch: Arc::clone(&entry.watch) })
    }

    /// Forgets a token.
    pub fn delete(&self, bytes: &[u8]) {
        self.lock().retain(|entry| !entry.token.is(bytes));
    }

    /// Forgets those whose time is over.
    pub fn sweep(&self, now: Instant) {
        self.lock().retain(|entry| entry.expires > now);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The ROD TYPE that a token claims, and whether its length is a token's.
pub fn header(token: &[u8]) -> (u32, bool) {
    let fields = Fields(token);
    (fields.u32(0), usize::from(fields.u16(6)) == TOKEN_BYTES - 8)
}

/// A generic ROD token (SPC-5 5.17.6.5): its type, an identifier, the creator by its NAA designator, the bytes that it represents, and what
/// nobody can guess.
fn encode<D: BlockDevice>(unit: &LogicalUnit<D>, rod_type: u32, bytes: u128) -> Option<RodToken> {
    let (mut identifier, mut secret) = ([0; 8], [0; SECRET.end - SECRET.start]);
    getrandom::fill(&mut identifier).ok()?;
    getrandom::fill(&mut secret).ok()?;
    let naa = unit.config().identity.naa();
    let mut token = Box::new([0; TOKEN_BYTES]);
    let mut put = |at: usize, value: &[u8]| {
        if let Some(place) = token.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    put(0, &rod_type.to_be_bytes());
    put(6, &((TOKEN_BYTES - 8) as u16).to_be_bytes());
    put(8, &identifier);
    put(16, &[0xe4, 0, 0, 0, 1, 0x03, 0, 8]);
    put(24, &naa);
    put(45, unit.block_size().to_be_bytes().get(1..)?);
    put(48, &bytes.to_be_bytes());
    put(96, &unit.block_size().to_be_bytes());
    put(128, &[1, 0x23, 0, 8]); // TARGET DEVICE DESCRIPTOR: association 10b, NAA
    put(132, &naa);
    put(SECRET.start, &secret);
    Some(RodToken(token))
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
