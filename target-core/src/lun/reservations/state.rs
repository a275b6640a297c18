//! Registrations and the persistent reservation of a unit as a value (SPC-5 5.14). What PERSISTENT RESERVE OUT does to it is in
//! [`actions`](super::actions).

use super::kind::Kind;
use super::registrant::Registrant;
use std::collections::BTreeMap;

/// Most registrations of a unit: each is kept in memory, in the document and in READ FULL STATUS.
pub const MOST_REGISTRATIONS: usize = 1024;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Reservation keys by I_T nexus; none is zero.
    pub(super) registrations: BTreeMap<Registrant, u64>,
    /// The reservation. Its holder, all of its holders, are registered.
    pub(super) reservation: Option<Reservation>,
    /// PRGENERATION.
    pub(super) generation: u32,
    /// APTPL as it was given last: all of this outlives the process.
    pub(super) persists: bool,
}

/// A persistent reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// TYPE.
    pub kind: Kind,
    /// The holder; none where all that are registered hold it.
    pub holder: Option<Registrant>,
}

/// What an I_T nexus may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// It holds the reservation, alone or with others.
    pub holds: bool,
    /// It is registered.
    pub registered: bool,
}

impl State {
    /// What is left of it when the process ends: with APTPL all but PRGENERATION, else nothing (SPC-5 5.14.5, 6.15.2).
    #[must_use]
    pub fn after_power_loss(&self) -> Self {
        match self.persists {
            true => Self { generation: 0, ..self.clone() },
            false => Self::default(),
        }
    }

    /// All registrations: who, and with which key.
    pub fn registrations(&self) -> impl ExactSizeIterator<Item = (&Registrant, u64)> {
        self.registrations.iter().map(|(registrant, key)| (registrant, *key))
    }

    /// The reservation.
    pub fn reservation(&self) -> Option<&Reservation> {
        self.reservation.as_ref()
    }

    /// PRGENERATION.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// PTPL_A.
    pub fn persists(&self) -> bool {
        self.persists
    }

    /// What a nexus may do.
    pub fn standing(&self, registrant: &Registrant) -> Standing {
        let registered = self.registrations.contains_key(registrant);
        Standing { registered, holds: registered && self.is_holder(registrant) }
    }

    /// The key of the reservation as READ RESERVATION tells it: zero where all that are registered hold it (SPC-5 6.15.3).
    pub fn reservation_key(&self) -> u64 {
        let holder = self.reservation.as_ref().and_then(|reservation| reservation.holder.as_ref());
        holder.and_then(|holder| self.registrations.get(holder)).copied().unwrap_or(0)
    }

    /// Whether a registered nexus is a holder.
    pub(super) fn is_holder(&self, registrant: &Registrant) -> bool {
        self.reservation.as_ref().is_some_and(|reservation| match &reservation.holder {
            Some(holder) => holder == registrant,
            None => true,
        })
    }
}
