//! Reads TOML tables key by key, so that every fault is found and each has its line.

use super::endpoint::Endpoint;
use super::fault::{Findings, Place, Placed};
use super::units::{ByteSize, parse_duration, parse_low_space};
use glint_target_core::lun::space::LowSpace;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text that is read and what was found wrong in it so far.
pub(super) struct Document<'a> {
    text: &'a str,
    pub(super) file: &'a Path,
    pub(super) findings: RefCell<Findings>,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str, file: &'a Path) -> Self {
        Self { text, file, findings: RefCell::default() }
    }

    /// The outermost table; faults of syntax are noted, and reading goes on with what could be made out.
    pub(super) fn root(&'a self) -> Section<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let place = error.span().map_or(Place::File, |span| self.place(&span));
            self.findings.borrow_mut().fault(place, error.message());
        }
        Section::new(self, "the top level".into(), table)
    }

    /// A file that the configuration names: relative to the directory that it lies in itself.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(name)
    }

    fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        Place::Line(before.iter().filter(|byte| **byte == b'\n').count() + 1)
    }
}

/// One table. Keys are taken out of it; those left over at [`Section::finish`] are unknown.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    name: String,
    header: Place,
    entries: BTreeMap<String, (Place, Spanned<DeValue<'a>>)>,
    /// Keys that were asked for, and where they stand if they were given.
    known: Vec<(&'static str, Option<Place>)>,
}

impl<'a> Section<'a> {
    fn new(document: &'a Document<'a>, name: String, table: Spanned<DeTable<'a>>) -> Self {
        let header = document.place(&table.span());
        let entries = table
            .into_inner()
            .into_iter()
            .map(|(key, value)| (key.get_ref().to_string(), (document.place(&key.span()), value)))
            .collect();
        Self { document, name, header, entries, known: Vec::new() }
    }

    pub(super) fn document(&self) -> &'a Document<'a> {
        self.document
    }

    /// Where the section begins.
    pub(super) fn place(&self) -> Place {
        self.header.clone()
    }

    /// Where a key that was taken stands; the section's beginning when it was not given.
    pub(super) fn place_of(&self, key: &str) -> Place {
        let found = self.known.iter().find(|(name, _)| *name == key);
        found.and_then(|(_, place)| place.clone()).unwrap_or_else(|| self.place())
    }

    pub(super) fn fault(&self, place: Place, message: impl Into<String>) {
        self.document.findings.borrow_mut().fault(place, message);
    }

    /// Notes a fault at the line of `key`.
    pub(super) fn fault_at(&self, key: &str, message: impl Into<String>) {
        self.fault(self.place_of(key), message);
    }

    /// Whether the key was given, rightly or wrongly.
    pub(super) fn has(&self, key: &str) -> bool {
        let taken = self.known.iter().any(|(name, place)| *name == key && place.is_some());
        taken || self.entries.contains_key(key)
    }

    fn take(&mut self, key: &'static str) -> Option<Spanned<DeValue<'a>>> {
        let entry = self.entries.remove(key);
        self.known.push((key, entry.as_ref().map(|(place, _)| place.clone())));
        entry.map(|(_, value)| value)
    }

    /// The value of an optional key. A fault is noted and gives `None`.
    pub(super) fn value<T: Value>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        self.read(key, &value)
    }

    /// The same with the place of the key.
    pub(super) fn placed<T: Value>(&mut self, key: &'static str) -> Option<Placed<T>> {
        let value = self.value(key)?;
        Some(Placed { value, place: self.place_of(key) })
    }

    /// The value of a key, or the default where it was not given.
    pub(super) fn value_or<T: Value>(&mut self, key: &'static str, default: T) -> T {
        self.value(key).unwrap_or(default)
    }

    /// The value of a key that must be there.
    pub(super) fn required<T: Value>(&mut self, key: &'static str, example: &str) -> Option<T> {
        match self.take(key) {
            Some(value) => self.read(key, &value),
            None => {
                self.fault(
                    self.place(),
                    format!("{} lacks `{key}`; add for example: {key} = {example}", self.name),
                );
                None
            }
        }
    }

    /// The value of a key, kept within bounds, or the default.
    pub(super) fn bounded<T>(&mut self, key: &'static str, default: T, range: RangeInclusive<T>) -> T
    where
        T: Value + PartialOrd + Shown + Copy,
    {
        match self.value(key) {
            Some(value) if !range.contains(&value) => {
                let (low, high) = (range.start().show(), range.end().show());
                self.fault_at(
                    key,
                    format!("`{key}` has to be between {low} and {high}, not {}", value.show()),
                );
                default
            }
            Some(value) => value,
            None => default,
        }
    }

    /// A key that holds one value or an array of them; each element that is wrong is a fault of its own.
    pub(super) fn list<T: Value>(&mut self, key: &'static str) -> Vec<Placed<T>> {
        let elements = match self.take(key) {
            None => return Vec::new(),
            Some(value) if value.get_ref().is_array() => match value.into_inner() {
                DeValue::Array(array) => array.into_iter().collect(),
                _ => Vec::new(),
            },
            Some(value) => vec![value],
        };
        let read = |value: Spanned<DeValue<'a>>| {
            let place = self.document.place(&value.span());
            self.read(key, &value).map(|value| Placed { value, place })
        };
        elements.into_iter().filter_map(read).collect()
    }

    /// The same, where an array without elements is a fault.
    pub(super) fn filled_list<T: Value>(&mut self, key: &'static str) -> Vec<Placed<T>> {
        let empty = |(_, value): &(Place, Spanned<DeValue<'_>>)| {
            value.get_ref().as_array().is_some_and(|a| a.is_empty())
        };
        if self.entries.get(key).is_some_and(empty) {
            self.take(key);
            self.fault_at(key, format!("`{key}` is an empty list; fill it, or leave it out"));
            return Vec::new();
        }
        self.list(key)
    }

    fn read<T: Value>(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<T> {
        match T::read(value.get_ref()) {
            Ok(value) => Some(value),
            Err(message) => {
                self.fault(self.document.place(&value.span()), format!("`{key}`: {message}"));
                None
            }
        }
    }

    /// A table within this one.
    pub(super) fn section(&mut self, key: &'static str) -> Option<Section<'a>> {
        let value = self.take(key)?;
        self.as_section(key, format!("[{key}]"), value)
    }

    /// An array of tables within this one.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<Section<'a>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(array) => array
                .into_iter()
                .filter_map(|element| self.as_section(key, format!("[[{key}]]"), element))
                .collect(),
            _ => {
                let place = self.document.place(&span);
                self.fault(place, format!("`{key}` is a list: write [[{key}]] with two brackets"));
                Vec::new()
            }
        }
    }

    fn as_section(&self, key: &str, name: String, value: Spanned<DeValue<'a>>) -> Option<Section<'a>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Some(Section::new(self.document, name, Spanned::new(span, table))),
            other => {
                let place = self.document.place(&span);
                self.fault(place, format!("`{key}` is a section, not {}: write {name}", kind(&other)));
                None
            }
        }
    }

    /// Notes all keys that nobody took.
    pub(super) fn finish(self) {
        for (key, (place, _)) in &self.entries {
            let near = self.known.iter().map(|(name, _)| *name).min_by_key(|name| distance(key, name));
            let hint = match near {
                Some(name) if distance(key, name) <= 2 => format!("did you mean `{name}`?"),
                _ => {
                    let mut names: Vec<_> = self.known.iter().map(|(name, _)| *name).collect();
                    names.sort_unstable();
                    names.dedup();
                    format!("known here: {}", names.join(", "))
                }
            };
            self.fault(place.clone(), format!("unknown key `{key}` in {}; {hint}", self.name));
        }
    }
}

/// The number of single letters to change, add or drop (Levenshtein).
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut next = vec![i + 1];
        for ((b, above), after) in two.iter().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or(0);
            next.push((above + usize::from(a != *b)).min(after + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// A type that one TOML value can be read as.
pub(super) trait Value: Sized {
    fn read(value: &DeValue<'_>) -> Result<Self, String>;
}

/// How a bound is shown in a message.
pub(super) trait Shown {
    fn show(&self) -> String;
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

fn wanted(what: &str, value: &DeValue<'_>) -> String {
    format!("this is {}, {what} is wanted", kind(value))
}

fn text<'v>(value: &'v DeValue<'_>, what: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| wanted(what, value))
}

impl Value for bool {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| wanted("true or false", value))
    }
}

impl Value for String {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        text(value, "a string").map(str::to_owned)
    }
}

impl Value for ByteSize {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::Integer(_) => u64::read(value).map(ByteSize),
            _ => text(value, "a size such as \"1GiB\"")?.parse(),
        }
    }
}

impl Value for LowSpace {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        parse_low_space(text(value, "an amount of space such as \"10%\" or \"50GiB\"")?)
    }
}

impl Shown for ByteSize {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Duration {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        parse_duration(text(value, "a duration such as \"15s\"")?)
    }
}

impl Shown for Duration {
    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for Endpoint {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        Endpoint::parse(text(value, "an address such as \"127.0.0.1:3260\"")?, None)
    }
}

macro_rules! integers {
    ($($name:ty),*) => {$(
        impl Value for $name {
            fn read(value: &DeValue<'_>) -> Result<Self, String> {
                let number = value.as_integer().ok_or_else(|| wanted("a whole number", value))?;
                <$name>::from_str_radix(number.as_str(), number.radix())
                    .map_err(|_| format!("{number} is out of range: 0 to {}", <$name>::MAX))
            }
        }

        impl Shown for $name {
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
integers!(u16, u32, u64);

/// A type that is read from a string by its own `FromStr`.
macro_rules! from_strings {
    ($($name:ty: $what:literal),* $(,)?) => {$(
        impl Value for $name {
            fn read(value: &DeValue<'_>) -> Result<Self, String> {
                <$name>::from_str(text(value, $what)?)
            }
        }
    )*};
}
from_strings! {
    super::store::StoreUrl: "a store such as \"gluster://HOST/VOLUME/DIR\" or \"/srv/glint\"",
    super::name::IscsiName: "an iSCSI name in quotes",
    super::name::InitiatorPattern: "an initiator's name in quotes",
    super::network::Network: "a network in quotes, such as \"10.0.0.0/8\"",
    super::tls::ClientName: "a name in quotes",
    super::name::NodeId: "a name in quotes",
    super::name::TargetLabel: "a name in quotes",
    super::name::Serial: "a string",
    super::model::FileIo: "\"auto\", \"io-uring\" or \"threads\"",
    super::model::Provisioning: "\"thin\" or \"full\"",
    super::device::DeviceSpec: "a device such as \"file:/srv/disk.img\"",
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
