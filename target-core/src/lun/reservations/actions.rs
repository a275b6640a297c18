//! The service actions of PERSISTENT RESERVE OUT as functions from one state to the next (SPC-5 5.14.7 to 5.14.11).

use super::kind::Kind;
use super::registrant::{InitiatorPort, Registrant};
use super::state::{MOST_REGISTRATIONS, Reservation, State};
use crate::scsi::asc;
use crate::scsi::sense::Asc;

/// A service action with all that it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// REGISTER and REGISTER AND IGNORE EXISTING KEY.
    Register(Register),
    /// RESERVE.
    Reserve {
        /// RESERVATION KEY.
        key: u64,
        /// TYPE; none where scope or type are not supported.
        kind: Option<Kind>,
    },
    /// RELEASE.
    Release {
        /// RESERVATION KEY.
        key: u64,
        /// TYPE; none where scope or type are not supported.
        kind: Option<Kind>,
    },
    /// CLEAR.
    Clear {
        /// RESERVATION KEY.
        key: u64,
    },
    /// PREEMPT and PREEMPT AND ABORT.
    Preempt {
        /// RESERVATION KEY.
        key: u64,
        /// SERVICE ACTION RESERVATION KEY.
        victims: u64,
        /// TYPE; none where scope or type are not supported.
        kind: Option<Kind>,
    },
    /// REGISTER AND MOVE.
    Move {
        /// RESERVATION KEY.
        key: u64,
        /// SERVICE ACTION RESERVATION KEY.
        new_key: u64,
        /// UNREG.
        unregister: bool,
        /// APTPL.
        persists: bool,
        /// To whom.
        to: Registrant,
    },
}

/// What REGISTER and REGISTER AND IGNORE EXISTING KEY are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// RESERVATION KEY; none where an existing key is ignored.
    pub key: Option<u64>,
    /// SERVICE ACTION RESERVATION KEY.
    pub new_key: u64,
    /// APTPL.
    pub persists: bool,
    /// Target ports: the one through which the command came, or with ALL_TG_PT all of them.
    pub target_ports: Vec<u16>,
    /// Initiator ports beside the one that sent the command, with SPEC_I_PT.
    pub others: Option<Vec<InitiatorPort>>,
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// RESERVATION CONFLICT.
    Conflict,
    /// INVALID FIELD IN CDB: the service action makes no sense now.
    InvalidServiceAction,
    /// INVALID FIELD IN CDB: scope or type.
    InvalidType,
    /// INVALID FIELD IN PARAMETER LIST, with the byte.
    InvalidParameter(u16),
    /// INVALID RELEASE OF PERSISTENT RESERVATION.
    InvalidRelease,
    /// INSUFFICIENT REGISTRATION RESOURCES.
    Full,
}

/// What is to be done beside the change itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Unit attention conditions, and for whom.
    pub attentions: Vec<(Registrant, Asc)>,
    /// Those who were preempted: PREEMPT AND ABORT ends their tasks.
    pub preempted: Vec<Registrant>,
}

/// SERVICE ACTION RESERVATION KEY.
const NEW_KEY_BYTE: u16 = 8;
/// The byte with SPEC_I_PT.
const FLAGS_BYTE: u16 = 20;
/// The TransportID of REGISTER AND MOVE.
const MOVE_TRANSPORT_ID_BYTE: u16 = 24;

impl State {
    /// The state that follows when a nexus does something, and what else is to be done.
    pub fn after(&self, from: &Registrant, action: &Action) -> Result<(Self, Effects), Refusal> {
        let mut next = self.clone();
        let effects = match action {
            Action::Register(register) => next.register(from, register)?,
            Action::Reserve { key, kind } => {
                next.check_key(from, *key)?;
                next.reserve(from, kind.ok_or(Refusal::InvalidType)?)?
            }
            Action::Release { key, kind } => {
                next.check_key(from, *key)?;
                next.release(from, *kind)?
            }
            Action::Clear { key } => {
                next.check_key(from, *key)?;
                next.clear(from)
            }
            Action::Preempt { key, victims, kind } => {
                next.check_key(from, *key)?;
                next.preempt(from, *victims, *kind)?
            }
            Action::Move { key, new_key, unregister, persists, to } => {
                next.check_key(from, *key)?;
                next.hand_over(from, to, *new_key, *unregister)?;
                next.persists = *persists;
                Effects::default()
            }
        };
        match next.registrations.len() > MOST_REGISTRATIONS
            && next.registrations.len() > self.registrations.len()
        {
            true => Err(Refusal::Full),
            false => Ok((next, effects)),
        }
    }

    /// SPC-5 6.16.3: RESERVATION KEY is that of the nexus, which is registered.
    fn check_key(&self, from: &Registrant, key: u64) -> Result<(), Refusal> {
        match self.registrations.get(from) {
            Some(own) if *own == key => Ok(()),
            _ => Err(Refusal::Conflict),
        }
    }

    /// SPC-5 5.14.7, tables 71 and 72. With ALL_TG_PT it is as if the command had come through each target port, and all of it is done or
    /// nothing.
    fn register(&mut self, from: &Registrant, register: &Register) -> Result<Effects, Refusal> {
        let mut effects = Effects::default();
        let mut changed = false;
        for nexus in register.target_ports.iter().map(|port| from.through(*port)) {
            let own = self.registrations.get(&nexus).copied();
            if register.key.is_some_and(|key| key != own.unwrap_or(0)) {
                return Err(Refusal::Conflict);
            }
            match own {
                // Others can be named only by one who registers himself thereby.
                Some(_) if register.others.is_some() => return Err(Refusal::InvalidParameter(FLAGS_BYTE)),
                None if register.new_key == 0 => continue,
                Some(_) if register.new_key == 0 => self.unregister(&nexus, &mut effects),
                _ => {
                    self.registrations.insert(nexus, register.new_key);
                }
            }
            changed = true;
        }
        if changed {
            for initiator in register.others.iter().flatten() {
                for target_port in &register.target_ports {
                    let nexus = Registrant { target_port: *target_port, initiator: initiator.clone() };
                    self.registrations.entry(nexus).or_insert(register.new_key);
                }
            }
            self.persists = register.persists;
            self.count();
        }
        Ok(effects)
    }

    /// SPC-5 5.14.11.2.3: a reservation ends with its holder's registration, or with the last one where all hold it.
    fn unregister(&mut self, nexus: &Registrant, effects: &mut Effects) {
        let held = self.is_holder(nexus);
        self.registrations.remove(nexus);
        let Some(reservation) = self.reservation.take_if(|own| match own.holder {
            Some(_) => held,
            None => self.registrations.is_empty(),
        }) else {
            return;
        };
        if reservation.kind.admits_registrants() {
            self.tell_all_but(nexus, asc::RESERVATIONS_RELEASED, effects);
        }
    }

    /// SPC-5 5.14.9.
    fn reserve(&mut self, from: &Registrant, kind: Kind) -> Result<Effects, Refusal> {
        match &self.reservation {
            None => self.reservation = Some(Reservation::by(from, kind)),
            Some(own) if own.kind == kind && self.is_holder(from) => {}
            Some(_) => return Err(Refusal::Conflict),
        }
        Ok(Effects::default())
    }

    /// SPC-5 5.14.11.2.2.
    fn release(&mut self, from: &Registrant, kind: Option<Kind>) -> Result<Effects, Refusal> {
        let mut effects = Effects::default();
        if self.is_holder(from)
            && let Some(reservation) = self.reservation.take()
        {
            if kind != Some(reservation.kind) {
                return Err(Refusal::InvalidRelease);
            }
            if reservation.kind.admits_registrants() {
                self.tell_all_but(from, asc::RESERVATIONS_RELEASED, &mut effects);
            }
        }
        Ok(effects)
    }

    /// SPC-5 5.14.11.2.7.
    fn clear(&mut self, from: &Registrant) -> Effects {
        let mut effects = Effects::default();
        self.tell_all_but(from, asc::RESERVATIONS_PREEMPTED, &mut effects);
        self.registrations.clear();
        self.reservation = None;
        self.count();
        effects
    }

    /// SPC-5 5.14.11.2.4 to 5.14.11.2.6, table 70: whose key is named loses his registration; when that is the holder, or no key is named
    /// where all hold it, the reservation becomes the preemptor's.
    fn preempt(&mut self, from: &Registrant, victims: u64, kind: Option<Kind>) -> Result<Effects, Refusal> {
        let held_by_all = self.reservation.as_ref().is_some_and(|own| own.holder.is_none());
        if victims == 0 && !held_by_all {
            return Err(Refusal::InvalidParameter(NEW_KEY_BYTE));
        }
        let everyone = victims == 0;
        let takes_over =
            everyone || self.reservation.is_some() && !held_by_all && self.reservation_key() == victims;
        let named = |key: u64| everyone || key == victims;
        if !self.registrations.values().any(|key| named(*key)) {
            return Err(Refusal::Conflict);
        }
        let new = match takes_over {
            true => Some(Reservation::by(from, kind.ok_or(Refusal::InvalidType)?)),
            // SCOPE and TYPE are ignored.
            false => None,
        };
        let mut effects = Effects::default();
        // One who takes the reservation keeps his registration, whatever his key.
        let preempted: Vec<Registrant> = self
            .registrations
            .iter()
            .filter(|(nexus, key)| named(**key) && !(takes_over && *nexus == from))
            .map(|(nexus, _)| nexus.clone())
            .collect();
        for nexus in &preempted {
            self.registrations.remove(nexus);
            if nexus != from {
                effects.attentions.push((nexus.clone(), asc::REGISTRATIONS_PREEMPTED));
            }
        }
        if new.is_some() {
            let old = std::mem::replace(&mut self.reservation, new);
            let changed = old.is_some_and(|old| Some(old.kind) != kind);
            if changed {
                self.tell_all_but(from, asc::RESERVATIONS_RELEASED, &mut effects);
            }
        } else if held_by_all && self.registrations.is_empty() {
            self.reservation = None;
        }
        effects.preempted = preempted;
        self.count();
        Ok(effects)
    }

    /// SPC-5 5.14.8, table 73. Nobody is told.
    fn hand_over(
        &mut self,
        from: &Registrant,
        to: &Registrant,
        new_key: u64,
        unregister: bool,
    ) -> Result<(), Refusal> {
        let Some(reservation) = &self.reservation else { return Err(Refusal::InvalidServiceAction) };
        if reservation.holder.as_ref() != Some(from) {
            return Err(Refusal::Conflict);
        }
        if new_key == 0 {
            return Err(Refusal::InvalidParameter(NEW_KEY_BYTE));
        }
        if to.initiator == from.initiator {
            return Err(Refusal::InvalidParameter(MOVE_TRANSPORT_ID_BYTE));
        }
        let kind = reservation.kind;
        self.registrations.insert(to.clone(), new_key);
        self.reservation = Some(Reservation::by(to, kind));
        if unregister {
            self.registrations.remove(from);
        }
        self.count();
        Ok(())
    }

    fn tell_all_but(&self, from: &Registrant, condition: Asc, effects: &mut Effects) {
        let others = self.registrations.keys().filter(|nexus| *nexus != from);
        effects.attentions.extend(others.map(|nexus| (nexus.clone(), condition)));
    }

    /// SPC-5 6.15.2.
    fn count(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
}

impl Reservation {
    fn by(holder: &Registrant, kind: Kind) -> Self {
        Self { kind, holder: (!kind.is_held_by_all()).then(|| holder.clone()) }
    }
}
