//! The clock of a unit (SPC-5 5.2): the host's, unless an initiator has set another time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The host's time of day since the beginning of 1970, UTC.
pub type HostClock = fn() -> Duration;

/// What a timestamp has in bits.
const BITS: u64 = (1 << 48) - 1;

/// Where a timestamp comes from (SPC-5 table 60, TIMESTAMP ORIGIN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// Zero at power on: there is no host clock.
    PowerOn = 0b000,
    /// SET TIMESTAMP.
    Set = 0b010,
    /// The host's clock.
    Host = 0b011,
}

/// See the module. Without the host's clock time stands still.
#[derive(Default)]
pub struct DeviceClock {
    host: Option<HostClock>,
    opened: Duration,
    /// By how many milliseconds the time that was set is ahead of the host's, modulo 2^48.
    ahead: Mutex<Option<u64>>,
}

impl DeviceClock {
    /// A clock that goes with the host's.
    pub fn new(host: HostClock) -> Self {
        Self { host: Some(host), opened: host(), ahead: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<u64>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self) -> Duration {
        self.host.map_or(Duration::ZERO, |host| host())
    }

    fn host_milliseconds(&self) -> u64 {
        (self.host().as_millis() & u128::from(BITS)) as u64
    }

    /// The time in milliseconds, of 48 bits, and its origin.
    pub fn timestamp(&self) -> (u64, Origin) {
        let host = self.host_milliseconds();
        match (*self.lock(), self.host) {
            (Some(ahead), _) => (host.wrapping_add(ahead) & BITS, Origin::Set),
            (None, Some(_)) => (host, Origin::Host),
            (None, None) => (host, Origin::PowerOn),
        }
    }

    /// Sets the time, in milliseconds.
    pub fn set(&self, milliseconds: u64) {
        *self.lock() = Some(milliseconds.wrapping_sub(self.host_milliseconds()) & BITS);
    }

    /// Back to the host's time (after a hard reset).
    pub fn reset(&self) {
        *self.lock() = None;
    }

    /// Whole hours since the unit was opened, FFFFh for all above.
    pub fn power_on_hours(&self) -> u16 {
        let hours = self.host().saturating_sub(self.opened).as_secs() / 3600;
        u16::try_from(hours).unwrap_or(u16::MAX)
    }
}
