//! The names of files.

use std::fmt;

/// Most bytes of a document's name.
const MOST_NAME: usize = 120;

/// The name of a document: lower-case letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentName(String);

impl DocumentName {
    /// None where it is no name of a document.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        let good = (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(fits);
        good.then_some(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file of a version.
    pub(super) fn version(&self, version: u64) -> String {
        format!("{}.{version}", self.0)
    }

    /// Where a version is prepared. A distributed GlusterFS volume places a file by its name, and takes `.NAME.SUFFIX` for `NAME`: so the link is
    /// made where the file is, as one step.
    pub(super) fn temporary(&self, version: u64, nonce: Nonce) -> String {
        format!(".{}.{version}.{nonce}", self.0)
    }

    /// Where a damaged version is put aside.
    pub(super) fn damaged(&self, version: u64) -> String {
        format!("{}.{version}.damaged", self.0)
    }
}

impl fmt::Display for DocumentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tells one attempt to write from all others: random, made anew for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce(pub u128);

impl Nonce {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u128::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a file is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Version,
    Temporary,
    Damaged,
}

/// The document, the version and the kind of a file; none of one that is not ours.
pub(super) fn parse(file: &str) -> Option<(&str, u64, Kind)> {
    let (kind, file) = match (file.strip_prefix('.'), file.strip_suffix(".damaged")) {
        (Some(temporary), _) => {
            let (rest, nonce) = temporary.rsplit_once('.')?;
            Nonce::parse(nonce)?;
            (Kind::Temporary, rest)
        }
        (None, Some(damaged)) => (Kind::Damaged, damaged),
        (None, None) => (Kind::Version, file),
    };
    let (document, version) = file.split_once('.')?;
    // One way to write a number only, lest two names be the same version.
    let plain = version.bytes().all(|byte| byte.is_ascii_digit()) && !version.starts_with('0');
    let version = version.parse().ok().filter(|_| plain)?;
    Some((document, version, kind))
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
