//! Limits of a unit: so many commands a second, so many bytes. Commands beyond them wait before their transport asks for their data, and
//! before memory for an answer is counted, so that those who wait hold next to nothing.
//!
//! There is one [`Throttle`] for a unit, whoever its commands come from. Who finds it exhausted queues, reads and writes each in the order
//! in which they came, whatever nexus they are of; head of queue tasks go first. Whoever looks, at a time that is an argument, lets all
//! pass whose time has come, those of others too. Nobody is woken: who waits is told when to look again.

mod bucket;
mod unit;

pub use bucket::{Limit, SLACK};
pub use unit::{Line, Meter, Throttle, Ticket};

use crate::scsi::lun_address::{LunAddress, LunKind};
use crate::scsi::row::Toll;
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The limits of a unit; each that is absent limits nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Commands that read or write.
    pub iops: Option<Limit>,
    /// Bytes that they carry.
    pub bytes: Option<Limit>,
    /// Bytes of those that read.
    pub read_bytes: Option<Limit>,
    /// Bytes of those that write.
    pub write_bytes: Option<Limit>,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Self = Self { iops: None, bytes: None, read_bytes: None, write_bytes: None };

    /// Whether anything is limited.
    pub fn is_any(&self) -> bool {
        *self != Self::NONE
    }
}

/// A command as limits see it.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Where it goes.
    pub lun: LunAddress,
    /// Its CDB.
    pub cdb: &'a [u8],
    /// Bytes that it carries at most.
    pub bytes: u64,
    /// It is a head of queue task.
    pub is_urgent: bool,
}

/// The throttles of a target's units, as transports see them.
pub struct Throttling {
    /// Almost always not: then nothing else is looked at.
    is_any: AtomicBool,
    units: ArcSwap<Vec<(u16, Arc<Throttle>)>>,
    toll: fn(&[u8]) -> Toll,
}

impl Throttling {
    /// No limits. `toll` tells what is charged for a CDB.
    pub fn new(toll: fn(&[u8]) -> Toll) -> Self {
        Self { is_any: AtomicBool::new(false), units: ArcSwap::default(), toll }
    }

    /// From now on these are the limits of a unit; `make` makes the throttle of one that had none. Not for two threads at a time.
    pub(crate) fn limit(
        &self,
        number: u16,
        now: Instant,
        limits: Limits,
        make: impl FnOnce() -> Arc<Throttle>,
    ) {
        let mut units = Vec::clone(&self.units.load());
        match units.iter().position(|(own, _)| *own == number) {
            Some(at) if limits.is_any() => units.get(at).into_iter().for_each(|(_, it)| it.set(now, limits)),
            // Who waits for it goes on.
            Some(at) => units.remove(at).1.set(now, limits),
            None if limits.is_any() => {
                let throttle = make();
                throttle.set(now, limits);
                units.push((number, throttle));
            }
            None => return,
        }
        let is_any = !units.is_empty();
        self.units.store(Arc::new(units));
        self.is_any.store(is_any, Ordering::Release);
    }

    /// Whether any unit has limits.
    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// Charges a command. None: it may go on at once.
    pub fn charge(&self, now: Instant, passage: &Passage<'_>) -> Option<Ticket> {
        let LunKind::Unit(number) = passage.lun.kind() else { return None };
        let units = self.units.load();
        let (_, throttle) = units.iter().find(|(own, _)| *own == number)?;
        let writes = match (self.toll)(passage.cdb) {
            Toll::Free => return None,
            Toll::Read => false,
            Toll::Write => true,
        };
        throttle.charge(now, Line { writes, is_urgent: passage.is_urgent }, passage.bytes)
    }
}
