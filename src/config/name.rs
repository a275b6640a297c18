//! Names: iSCSI names, the short names of volumes, node ids, serial numbers.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An iSCSI name in its normal form, lower case (RFC 7143 §4.2.7, RFC 3722): `iqn.`, `eui.` or `naa.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IscsiName(Arc<str>);

/// Longest iSCSI name in bytes (RFC 7143 §4.2.7.1).
const MAX_NAME: usize = 223;

impl IscsiName {
    /// Takes a literal that is known to be valid and in lower case.
    pub(super) fn from_valid(name: &'static str) -> Self {
        Self(name.into())
    }

    /// The name as a shared string.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl Deref for IscsiName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IscsiName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for IscsiName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.to_lowercase();
        if name.len() > MAX_NAME {
            return Err(format!("iSCSI name of {} bytes; {MAX_NAME} are allowed", name.len()));
        }
        check_characters(&name)?;
        if let Some(rest) = name.strip_prefix("iqn.") {
            check_iqn(text, rest)?;
        } else if let Some(rest) = name.strip_prefix("eui.") {
            check_hex(text, rest, &[16])?;
        } else if let Some(rest) = name.strip_prefix("naa.") {
            check_hex(text, rest, &[16, 32])?;
        } else {
            return Err(format!(
                "{text:?} is no iSCSI name; it begins with iqn., eui. or naa., such as iqn.2026-12.io.glint:disk1"
            ));
        }
        Ok(Self(name.into()))
    }
}

/// RFC 3722 leaves letters, digits, `-`, `.` and `:` of ASCII; beyond ASCII only letters and digits make sense.
fn check_characters(name: &str) -> Result<(), String> {
    match name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '.' | ':'))) {
        Some(bad) => {
            Err(format!("{bad:?} may not stand in an iSCSI name; use letters, digits, '-', '.' and ':'"))
        }
        None => Ok(()),
    }
}

/// `yyyy-mm.naming-authority[:anything]` (RFC 7143 §4.2.7.4).
fn check_iqn(whole: &str, rest: &str) -> Result<(), String> {
    let shape = || format!("{whole:?} is no iqn; the form is iqn.YYYY-MM.reversed.domain[:name]");
    let (date, authority) = rest.split_once('.').ok_or_else(shape)?;
    let (year, month) = date.split_once('-').ok_or_else(shape)?;
    let digits = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(year, 4) || !digits(month, 2) || !(1..=12).contains(&month.parse::<u8>().unwrap_or(0)) {
        return Err(shape());
    }
    let domain = authority.split(':').next().unwrap_or_default();
    if domain.is_empty() || authority.ends_with(':') {
        return Err(shape());
    }
    Ok(())
}

fn check_hex(whole: &str, rest: &str, lengths: &[usize]) -> Result<(), String> {
    if lengths.contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(());
    }
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    Err(format!("{whole:?} needs {} hexadecimal digits after its prefix", lengths.join(" or ")))
}

/// Which initiators a line of an `initiators` list admits: a whole iSCSI name, or the beginning of one and `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InitiatorPattern(pub(super) String);

impl std::str::FromStr for InitiatorPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(prefix) = text.strip_suffix('*') else {
            return text.parse::<IscsiName>().map(|name| Self(name.to_string()));
        };
        let prefix = prefix.to_lowercase();
        check_characters(&prefix)
            .map_err(|_| format!("{text:?}: '*' may stand at the end of an initiator's name only"))?;
        if prefix.is_empty() {
            return Err("\"*\" admits everyone; leave `initiators` out to say so".into());
        }
        if !["iqn.", "eui.", "naa."].iter().any(|kind| prefix.starts_with(kind) || kind.starts_with(&prefix))
        {
            return Err(format!("{text:?} can match no initiator: names begin with iqn., eui. or naa."));
        }
        Ok(Self(format!("{prefix}*")))
    }
}

/// A plain word of letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
fn plain_word(what: &str, text: &str, longest: usize) -> Result<(), String> {
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let good = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if begins_well && good && text.len() <= longest {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no {what}; use up to {longest} letters, digits, '-', '_' and '.', a letter or digit first"
    ))
}

/// Declares a word type that can only hold what its check lets through.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let check: fn(&str) -> Result<(), String> = $check;
                check(text).map(|()| Self(text.to_owned()))
            }
        }
    };
}

impl NodeId {
    /// Takes a literal that is known to be valid.
    pub(super) fn from_valid(id: &'static str) -> Self {
        Self(id.into())
    }
}

word!(
    /// The id of this node, unique among the nodes that share volumes.
    NodeId,
    |text| plain_word("node id", text, 63)
);
word!(
    /// The short name of a target, unique on this node: in logs, metrics, and the last part of the default IQN.
    TargetLabel,
    check_label
);
word!(
    /// A unit serial number (VPD page 80h) as the user wants it.
    Serial,
    check_serial
);

fn check_label(text: &str) -> Result<(), String> {
    let good = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    if good && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.len() <= 128 {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no target name; use up to 128 letters, digits, '-' and '.', a letter or digit first (an iSCSI name is made from it)"
    ))
}

fn check_serial(text: &str) -> Result<(), String> {
    let good = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if good && (1..=36).contains(&text.len()) {
        return Ok(());
    }
    Err(format!("{text:?} is no serial number; use 1 to 36 letters, digits, '-', '_' and '.'"))
}

#[cfg(test)]
#[path = "name_tests.rs"]
mod tests;
