//! Values of text keys (RFC 7143 §6.1): numbers, booleans, binary data, iSCSI names.

use std::fmt;

/// Reads a decimal (`10`) or hexadecimal (`0xa`) number.
pub(super) fn number(value: &str) -> Option<u32> {
    match hex_digits(value) {
        // from_str_radix takes a sign, the format does not.
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => u32::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if value.bytes().all(|b| b.is_ascii_digit()) => value.parse().ok(),
        None => None,
    }
}

/// Reads `Yes` or `No`.
pub(super) fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

/// `Yes` or `No`.
pub(super) fn yes_no(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}

/// Reads binary data in hexadecimal (`0x..`) or base64 (`0b..`), of one to `limit` bytes.
pub(super) fn binary(value: &str, limit: usize) -> Option<Vec<u8>> {
    let bytes = if let Some(digits) = hex_digits(value) {
        from_hex(digits.as_bytes())?
    } else {
        let digits = value.strip_prefix("0b").or_else(|| value.strip_prefix("0B"))?;
        from_base64(digits.as_bytes())?
    };
    (!bytes.is_empty() && bytes.len() <= limit).then_some(bytes)
}

fn hex_digits(value: &str) -> Option<&str> {
    value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"))
}

/// An odd number of digits stands for a leading zero digit: the value is a number.
fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16);
    let (first, pairs) = digits.split_at(digits.len() % 2);
    first
        .chunks(1)
        .chain(pairs.chunks(2))
        .map(|pair| {
            let value = pair.iter().try_fold(0, |value, digit| Some(value << 4 | nibble(digit)?))?;
            u8::try_from(value).ok()
        })
        .collect()
}

/// RFC 4648 clause 4; padding may be left out, but where it is, it must be right.
fn from_base64(digits: &[u8]) -> Option<Vec<u8>> {
    let unpadded = match digits {
        [head @ .., b'=', b'='] | [head @ .., b'='] if digits.len().is_multiple_of(4) => head,
        all => all,
    };
    let mut bytes = Vec::with_capacity(unpadded.len() / 4 * 3 + 3);
    for group in unpadded.chunks(4) {
        if group.len() == 1 {
            return None;
        }
        let bits = group.iter().try_fold(0_u32, |bits, digit| Some(bits << 6 | sextet(*digit)?))?;
        let aligned = bits << (6 * (4 - group.len()));
        let [_, all @ ..] = aligned.to_be_bytes();
        bytes.extend(all.iter().take(group.len() - 1));
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// Displays bytes as `0x..`.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Checks an iSCSI name and brings it to lower case, the form in which names are compared (RFC 3722). 223 bytes are the most
/// (RFC 7143 §4.2.7.2). Control characters and spaces are out, which also keeps logs clean; the kinds of name
/// (iqn, eui, naa) are not enforced, since initiators with names of their own making are many.
pub(super) fn iscsi_name(value: &str) -> Option<String> {
    let clean = !value.is_empty()
        && value.len() <= 223
        && !value.chars().any(|c| c.is_control() || c.is_whitespace());
    clean.then(|| value.to_ascii_lowercase())
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
