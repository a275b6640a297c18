//! The types of persistent reservations (SPC-5 table 200).

/// TYPE of a persistent reservation; its scope is always the logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    WriteExclusive = 0x1,
    ExclusiveAccess = 0x3,
    WriteExclusiveRegistrantsOnly = 0x5,
    ExclusiveAccessRegistrantsOnly = 0x6,
    WriteExclusiveAllRegistrants = 0x7,
    ExclusiveAccessAllRegistrants = 0x8,
}

/// Whom a type lets in beside its holder, and for what.
struct Rule {
    kind: Kind,
    name: &'static str,
    /// Others may not even read.
    exclusive_access: bool,
    /// All that are registered may do what the holder may.
    registrants: bool,
    /// All that are registered are holders.
    all_hold: bool,
}

const RULES: [Rule; 6] = {
    use Kind::*;
    const fn rule(kind: Kind, name: &'static str, access: bool, registrants: bool, all_hold: bool) -> Rule {
        Rule { kind, name, exclusive_access: access, registrants, all_hold }
    }
    [
        rule(WriteExclusive, "write-exclusive", false, false, false),
        rule(ExclusiveAccess, "exclusive-access", true, false, false),
        rule(WriteExclusiveRegistrantsOnly, "write-exclusive-registrants-only", false, true, false),
        rule(ExclusiveAccessRegistrantsOnly, "exclusive-access-registrants-only", true, true, false),
        rule(WriteExclusiveAllRegistrants, "write-exclusive-all-registrants", false, true, true),
        rule(ExclusiveAccessAllRegistrants, "exclusive-access-all-registrants", true, true, true),
    ]
};

impl Kind {
    /// All types.
    pub const ALL: [Self; 6] = {
        let mut all = [Self::WriteExclusive; 6];
        let mut at = 0;
        while at < all.len() {
            all[at] = RULES[at].kind;
            at += 1;
        }
        all
    };

    /// The type with this code, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Its code.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The type with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        RULES.iter().find(|rule| rule.name == name).map(|rule| rule.kind)
    }

    /// Its name, as documents have it.
    pub fn name(self) -> &'static str {
        self.rule().name
    }

    /// Whether others may not even read.
    pub fn is_exclusive_access(self) -> bool {
        self.rule().exclusive_access
    }

    /// Whether all that are registered may do what the holder may.
    pub fn admits_registrants(self) -> bool {
        self.rule().registrants
    }

    /// Whether all that are registered are holders.
    pub fn is_held_by_all(self) -> bool {
        self.rule().all_hold
    }

    fn rule(self) -> &'static Rule {
        // Every type has a rule: see the test.
        RULES.iter().find(|rule| rule.kind == self).unwrap_or(&RULES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_lead_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.rule().kind, kind);
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        let codes: Vec<u8> = (0..=255).filter(|code| Kind::from_code(*code).is_some()).collect();
        assert_eq!(codes, [1, 3, 5, 6, 7, 8]);
    }
}
