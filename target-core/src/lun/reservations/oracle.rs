//! Persistent reservations once more, for the tests: the standard's tables as tables, over plain lists. Nothing of the implementation is
//! used here.

/// An I_T nexus: number of the initiator, RELATIVE TARGET PORT IDENTIFIER.
pub type Who = (u8, u16);

/// A unit attention condition, and whom it is for.
pub type Told = (Who, (u8, u8));

/// Registrations and the reservation.
type Lasting = (Vec<(Who, u64)>, Option<(u8, Who)>);

/// All target ports.
pub const PORTS: [u16; 2] = [1, 2];

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Conflict,
    /// Sense key, additional sense code and qualifier.
    Check(u8, u8, u8),
}

pub const BAD_CDB: Verdict = Verdict::Check(5, 0x24, 0);
pub const BAD_LIST: Verdict = Verdict::Check(5, 0x26, 0);
pub const BAD_RELEASE: Verdict = Verdict::Check(5, 0x26, 4);
pub const STORE_FAILED: Verdict = Verdict::Check(4, 0x44, 0);

/// Unit attention conditions.
pub const RESERVATIONS_PREEMPTED: (u8, u8) = (0x2a, 3);
pub const RESERVATIONS_RELEASED: (u8, u8) = (0x2a, 4);
pub const REGISTRATIONS_PREEMPTED: (u8, u8) = (0x2a, 5);

/// SPC-5 table 68 and table 200: for each type what others than holders may do: unregistered ones read, write; registered ones read, write.
const ACCESS: [(u8, [bool; 4]); 6] = [
    (1, [true, false, true, false]),
    (3, [false, false, false, false]),
    (5, [true, false, true, true]),
    (6, [false, false, true, true]),
    (7, [true, false, true, true]),
    (8, [false, false, true, true]),
];

/// One PERSISTENT RESERVE OUT, well formed.
#[derive(Clone, Debug)]
pub struct Out {
    pub who: Who,
    pub service_action: u8,
    pub key: u64,
    pub second_key: u64,
    pub scope_and_type: u8,
    pub aptpl: bool,
    pub all_ports: bool,
    /// Initiators of SPEC_I_PT.
    pub listed: Option<Vec<u8>>,
    pub to: Who,
    pub unregister: bool,
}

/// What is known of a unit.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// Who is registered with which key, in no order.
    pub registered: Vec<(Who, u64)>,
    /// Type, and holder; with types 7 and 8 the holder means nothing.
    pub reserved: Option<(u8, Who)>,
    pub generation: u32,
    pub aptpl: bool,
    /// By RESERVE(6).
    pub legacy: Option<Who>,
    pub has_memory: bool,
    pub store_fails: bool,
    pub in_doubt: bool,
    pub told: Vec<Told>,
}

impl Oracle {
    fn key_of(&self, who: Who) -> Option<u64> {
        self.registered.iter().find(|(own, _)| *own == who).map(|(_, key)| *key)
    }

    fn all_hold(&self) -> bool {
        matches!(self.reserved, Some((7 | 8, _)))
    }

    pub fn holds(&self, who: Who) -> bool {
        match self.reserved {
            None => false,
            Some((7 | 8, _)) => self.key_of(who).is_some(),
            Some((_, holder)) => holder == who,
        }
    }

    /// Whether a nexus may read, and write.
    pub fn access(&self, who: Who) -> (bool, bool) {
        if self.legacy.is_some_and(|holder| holder != who) {
            return (false, false);
        }
        let Some((kind, _)) = self.reserved else { return (true, true) };
        if self.holds(who) {
            return (true, true);
        }
        let row = ACCESS.iter().find(|(own, _)| *own == kind).unwrap().1;
        let column = if self.key_of(who).is_some() { 2 } else { 0 };
        (row[column], row[column + 1])
    }

    /// READ RESERVATION.
    pub fn reservation(&self) -> Option<(u64, u8)> {
        let (kind, holder) = self.reserved?;
        Some((if self.all_hold() { 0 } else { self.key_of(holder).unwrap() }, kind))
    }

    fn lasting(&self) -> Option<Lasting> {
        let mut registered = self.registered.clone();
        registered.sort_unstable();
        // Types 7 and 8 have no holder to remember.
        let reserved = self.reserved.map(|(kind, who)| (kind, if kind > 6 { (0, 0) } else { who }));
        self.aptpl.then_some((registered, reserved))
    }

    /// The process ends and begins again.
    pub fn restart(&mut self) {
        let keep = self.has_memory && self.aptpl;
        *self = Self {
            registered: if keep { self.registered.clone() } else { Vec::new() },
            reserved: if keep { self.reserved } else { None },
            aptpl: keep,
            has_memory: self.has_memory,
            store_fails: self.store_fails,
            ..Self::default()
        };
    }

    /// SPC-4 5.12.3 and SPC-2 5.5.1.
    pub fn legacy(&mut self, who: Who, reserve: bool) -> Verdict {
        let others = self.legacy.is_some_and(|holder| holder != who);
        let anyone = !self.registered.is_empty();
        let excepted =
            self.holds(who) || self.key_of(who).is_some() && matches!(self.reserved, Some((5..=8, _)));
        match (reserve, others, anyone, excepted) {
            (true, true, _, _) | (_, _, true, false) => Verdict::Conflict,
            (_, _, true, true) | (false, true, ..) => Verdict::Good,
            (true, false, false, _) => {
                self.legacy = Some(who);
                Verdict::Good
            }
            (false, false, false, _) => {
                self.legacy = None;
                Verdict::Good
            }
        }
    }

    /// Runs a command; gives how it ends and who is told what.
    pub fn out(&mut self, out: &Out) -> (Verdict, Vec<Told>) {
        if self.legacy.is_some() {
            return (Verdict::Conflict, Vec::new());
        }
        if matches!(out.service_action, 0 | 6 | 7) && out.aptpl && !self.has_memory {
            return (BAD_LIST, Vec::new());
        }
        let mut after = self.clone();
        let verdict = match out.service_action {
            0 | 6 => after.register(out),
            _ if self.key_of(out.who) != Some(out.key) => Verdict::Conflict,
            1 => after.reserve(out),
            2 => after.release(out),
            3 => after.clear(out),
            4 | 5 => after.preempt(out),
            _ => after.register_and_move(out),
        };
        if verdict != Verdict::Good {
            return (verdict, Vec::new());
        }
        if self.has_memory && (self.in_doubt || self.lasting() != after.lasting()) {
            self.in_doubt = self.store_fails;
            after.in_doubt = self.store_fails;
            if self.store_fails {
                return (STORE_FAILED, Vec::new());
            }
        }
        let told = std::mem::take(&mut after.told);
        *self = after;
        (verdict, told)
    }

    /// SPC-5 tables 71 (REGISTER) and 72 (REGISTER AND IGNORE EXISTING KEY), for one target port after the other.
    fn register(&mut self, out: &Out) -> Verdict {
        let ports: &[u16] = if out.all_ports { &PORTS } else { &[out.who.1] };
        let mut counts = false;
        for port in ports {
            let who = (out.who.0, *port);
            let own = self.key_of(who);
            let fits = out.service_action == 6 || own.unwrap_or(0) == out.key;
            match (own.is_some(), fits, out.second_key != 0, &out.listed) {
                (_, false, _, _) => return Verdict::Conflict,
                (true, true, _, Some(_)) => return BAD_LIST,
                (false, true, false, _) => continue,
                (false, true, true, listed) => {
                    self.registered.push((who, out.second_key));
                    for initiator in listed.iter().flatten() {
                        let other = (*initiator, *port);
                        if self.key_of(other).is_none() {
                            self.registered.push((other, out.second_key));
                        }
                    }
                }
                (true, true, true, None) => {
                    self.registered
                        .iter_mut()
                        .filter(|(own, _)| *own == who)
                        .for_each(|(_, key)| *key = out.second_key);
                }
                (true, true, false, None) => self.unregister(who),
            }
            counts = true;
        }
        if counts {
            self.generation += 1;
            self.aptpl = out.aptpl;
        }
        Verdict::Good
    }

    fn unregister(&mut self, who: Who) {
        self.registered.retain(|(own, _)| *own != who);
        match self.reserved {
            Some((7 | 8, _)) if self.registered.is_empty() => self.reserved = None,
            Some((1 | 3, holder)) if holder == who => self.reserved = None,
            Some((5 | 6, holder)) if holder == who => {
                self.reserved = None;
                self.tell(RESERVATIONS_RELEASED, |own| own != who);
            }
            _ => {}
        }
    }

    fn tell(&mut self, condition: (u8, u8), whom: impl Fn(Who) -> bool) {
        let those: Vec<Who> = self.registered.iter().map(|(own, _)| *own).filter(|own| whom(*own)).collect();
        self.told.extend(those.into_iter().map(|own| (own, condition)));
    }

    fn is_type(scope_and_type: u8) -> bool {
        ACCESS.iter().any(|(kind, _)| *kind == scope_and_type)
    }

    fn reserve(&mut self, out: &Out) -> Verdict {
        if !Self::is_type(out.scope_and_type) {
            return BAD_CDB;
        }
        match self.reserved {
            None => self.reserved = Some((out.scope_and_type, out.who)),
            Some((kind, _)) if kind == out.scope_and_type && self.holds(out.who) => {}
            Some(_) => return Verdict::Conflict,
        }
        Verdict::Good
    }

    fn release(&mut self, out: &Out) -> Verdict {
        let Some((kind, _)) = self.reserved else { return Verdict::Good };
        if !self.holds(out.who) {
            return Verdict::Good;
        }
        if kind != out.scope_and_type {
            return BAD_RELEASE;
        }
        self.reserved = None;
        if matches!(kind, 5..=8) {
            self.tell(RESERVATIONS_RELEASED, |own| own != out.who);
        }
        Verdict::Good
    }

    fn clear(&mut self, out: &Out) -> Verdict {
        self.tell(RESERVATIONS_PREEMPTED, |own| own != out.who);
        self.registered.clear();
        self.reserved = None;
        self.generation += 1;
        Verdict::Good
    }

    /// SPC-5 table 70, "preempting actions".
    fn preempt(&mut self, out: &Out) -> Verdict {
        enum Does {
            TakesOver,
            Removes,
            Fails(Verdict),
        }
        let victims = out.second_key;
        let is_a_key = self.registered.iter().any(|(_, key)| *key == victims);
        let is_the_holders = !self.all_hold() && self.reservation().is_some_and(|(key, _)| key == victims);
        let does = match (self.reserved.is_some(), self.all_hold(), victims == 0) {
            (true, true, true) => Does::TakesOver,
            (_, _, true) => Does::Fails(BAD_LIST),
            (true, false, false) if is_the_holders => Does::TakesOver,
            _ if is_a_key => Does::Removes,
            _ => Does::Fails(Verdict::Conflict),
        };
        let before = self.registered.clone();
        let hit = |key: u64| victims == 0 || key == victims;
        match does {
            Does::Fails(verdict) => return verdict,
            Does::TakesOver => {
                if !Self::is_type(out.scope_and_type) {
                    return BAD_CDB;
                }
                let old = self.reserved.replace((out.scope_and_type, out.who)).unwrap();
                self.registered.retain(|(own, key)| *own == out.who || !hit(*key));
                if old.0 != out.scope_and_type {
                    self.tell(RESERVATIONS_RELEASED, |own| own != out.who);
                }
            }
            Does::Removes => {
                self.registered.retain(|(_, key)| !hit(*key));
                if self.all_hold() && self.registered.is_empty() {
                    self.reserved = None;
                }
            }
        }
        for (who, _) in before {
            if self.key_of(who).is_none() && who != out.who {
                self.told.push((who, REGISTRATIONS_PREEMPTED));
            }
        }
        self.generation += 1;
        Verdict::Good
    }

    /// SPC-5 5.14.8 and table 73.
    fn register_and_move(&mut self, out: &Out) -> Verdict {
        let Some((kind, holder)) = self.reserved else { return BAD_CDB };
        if kind > 6 || holder != out.who {
            return Verdict::Conflict;
        }
        if out.second_key == 0 || out.to.0 == out.who.0 {
            return BAD_LIST;
        }
        self.registered.retain(|(own, _)| *own != out.to && !(out.unregister && *own == out.who));
        self.registered.push((out.to, out.second_key));
        self.reserved = Some((kind, out.to));
        self.aptpl = out.aptpl;
        self.generation += 1;
        Verdict::Good
    }
}
