//! Text of Login and Text PDUs: `key=value` pairs, each ended by a zero byte (RFC 7143 §6.1).
//!
//! A text may span PDUs, in either direction: [`Incoming`] joins its parts, [`Outgoing`] cuts it.

use bytes::{Bytes, BytesMut};
use std::fmt::{Display, Write};

/// Most bytes that one text may have, all its PDUs together.
pub const MAX_TEXT_LEN: usize = 64 << 10;
/// Most bytes of a key's name.
pub const MAX_KEY_LEN: usize = 63;
/// Most bytes of any value as encoded: a list, or a binary one. Single values have tighter bounds.
pub const MAX_VALUE_LEN: usize = 8192;
/// Most bytes of a single value.
pub const MAX_SIMPLE_VALUE_LEN: usize = 255;

/// A text that breaks the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum TextError {
    #[error("text beyond {MAX_TEXT_LEN} bytes")]
    TextTooLong,
    #[error("text that is not UTF-8")]
    NotUtf8,
    #[error("text without an equals sign")]
    NoEquals,
    #[error("a key name that is empty, too long or has characters that it may not have")]
    BadKeyName,
    #[error("a value that is too long")]
    ValueTooLong,
}

/// A key and its value.
pub type Pair<'a> = (&'a str, &'a str);

/// Reads the pairs of a complete text. A missing zero byte at the very end is forgiven, and so are empty pairs.
pub fn parse(text: &[u8]) -> Result<Vec<Pair<'_>>, TextError> {
    if text.len() > MAX_TEXT_LEN {
        return Err(TextError::TextTooLong);
    }
    let text = std::str::from_utf8(text).map_err(|_| TextError::NotUtf8)?;
    text.split('\0').filter(|pair| !pair.is_empty()).map(parse_pair).collect()
}

fn parse_pair(pair: &str) -> Result<Pair<'_>, TextError> {
    let (name, value) = pair.split_once('=').ok_or(TextError::NoEquals)?;
    // '#' is not in the standard's character set but in its older names for extension keys ("X#").
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b".-+@_#".contains(&b);
    if name.is_empty() || name.len() > MAX_KEY_LEN || !name.bytes().all(allowed) {
        return Err(TextError::BadKeyName);
    }
    if value.len() > MAX_VALUE_LEN {
        return Err(TextError::ValueTooLong);
    }
    Ok((name, value))
}

/// Writes pairs.
#[derive(Debug, Default)]
pub struct Writer(BytesMut);

impl Writer {
    /// Appends `name=value` and the zero byte.
    pub fn push(&mut self, name: &str, value: impl Display) {
        // Writing to a growing buffer cannot fail.
        let _ = write!(self.0, "{name}={value}\0");
    }

    /// Appends all pairs of another text.
    pub fn append(&mut self, other: Self) {
        self.0.unsplit(other.0);
    }

    /// The text so far.
    pub fn finish(self) -> Bytes {
        self.0.freeze()
    }
}

/// Joins a text that comes in several PDUs (C bit). Holds at most [`MAX_TEXT_LEN`] bytes.
#[derive(Debug, Default)]
pub struct Incoming {
    parts: BytesMut,
}

impl Incoming {
    /// Takes the data of one PDU; gives the whole text once its last part is there (`continues` false).
    pub fn collect(&mut self, data: Bytes, continues: bool) -> Result<Option<Bytes>, TextError> {
        if self.parts.len() + data.len() > MAX_TEXT_LEN {
            return Err(TextError::TextTooLong);
        }
        if !continues && self.parts.is_empty() {
            return Ok(Some(data));
        }
        self.parts.extend_from_slice(&data);
        Ok((!continues).then(|| self.parts.split().freeze()))
    }
}

/// Cuts a text into PDUs.
#[derive(Debug, Default)]
pub struct Outgoing {
    rest: Bytes,
}

impl Outgoing {
    /// A text to be sent.
    pub fn new(text: Bytes) -> Self {
        Self { rest: text }
    }

    /// Whether all has been taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether more than `limit` bytes are left, so that the next part will not be the last.
    pub fn exceeds(&self, limit: usize) -> bool {
        self.rest.len() > limit
    }

    /// The next part, of at most `limit` bytes.
    pub fn take(&mut self, limit: usize) -> Bytes {
        self.rest.split_to(self.rest.len().min(limit))
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
