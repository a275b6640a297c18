//! Sizes (`1GiB`, `64KiB`) and durations (`15s`, `500ms`) as people write them.

use glint_target_core::lun::space::LowSpace;
use std::fmt;
use std::time::Duration;

/// A number of bytes; written with a unit of the powers of 1024 or of 1000, printed with the largest that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 13] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("k", 1000),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1000 * 1000),
    ("GB", 1000 * 1000 * 1000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];

/// The binary units, largest first, for printing.
const PRINTED: [usize; 5] = [5, 4, 3, 2, 1];

impl std::str::FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let factor = match unit {
            "" => 1,
            unit => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, factor)| *factor)
                .ok_or_else(|| bad_size(text))?,
        };
        let number: u64 = number.parse().map_err(|_| bad_size(text))?;
        number.checked_mul(factor).map(ByteSize).ok_or_else(|| format!("size {text:?} is too large"))
    }
}

fn bad_size(text: &str) -> String {
    format!("{text:?} is no size; write a whole number with a unit, such as 64KiB, 512MiB, 1GiB or 2TiB")
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, factor) in PRINTED.iter().filter_map(|&index| UNITS.get(index)) {
            if self.0 >= *factor && self.0.is_multiple_of(*factor) {
                return write!(f, "{}{name}", self.0 / factor);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

/// Reads a duration: a whole number followed by `ms`, `s`, `m` or `h`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(bad_duration(text)),
    };
    let number: u64 = number.parse().map_err(|_| bad_duration(text))?;
    number
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("duration {text:?} is too long"))
}

fn bad_duration(text: &str) -> String {
    format!("{text:?} is no duration; write a whole number with a unit, such as 500ms, 15s or 2m")
}

/// Reads how little space is low: per cent of the store (`10%`), or a size.
pub(super) fn parse_low_space(text: &str) -> Result<LowSpace, String> {
    let Some(percent) = text.trim().strip_suffix('%') else {
        return text.parse::<ByteSize>().map(|size| LowSpace::Bytes(size.0)).map_err(|_| bad_low_space(text));
    };
    match percent.trim_end().parse::<u8>() {
        Ok(percent @ 1..=99) => Ok(LowSpace::Percent(percent)),
        _ => Err(bad_low_space(text)),
    }
}

fn bad_low_space(text: &str) -> String {
    format!("{text:?} is no amount of space; write 1% to 99% of the store, or a size such as 50GiB")
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

#[cfg(test)]
#[path = "units_tests.rs"]
mod tests;
