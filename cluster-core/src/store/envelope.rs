//! How a document lies in its file: a line with its checksum, then one JSON object.
//!
//! ```text
//! glint-document 1 crc32c=8a9136aa bytes=131
//! {"document":"owner-3c0a","version":7,"nonce":"...","body":{...}}
//! ```
//!
//! The checksum is over all that follows the line. Members that this glint does not know, beside `body` as well as in it, are kept when the document
//! is written again.

use super::names::{DocumentName, Nonce};
use bytes::Bytes;
use serde_json::{Map, Value};

/// Most bytes of the file.
pub const MOST_BYTES: usize = 1 << 20;
/// The format that is written, and the last that is understood.
const FORMAT: u64 = 1;
const MAGIC: &str = "glint-document";
/// Most bytes of the first line.
const MOST_LINE: usize = 80;

/// The members of a document.
pub type Body = Map<String, Value>;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not what was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// A newer glint wrote it: it is whole, and not for this one to touch.
    #[error("it has format {0}, this glint reads up to {FORMAT}")]
    TooNew(u64),
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Envelope {
    /// Who wrote it.
    pub nonce: Nonce,
    /// The document's own members.
    pub body: Body,
    /// Members beside the body that are not known here.
    pub extra: Body,
}

const KNOWN: [&str; 4] = ["document", "version", "nonce", "body"];

impl Envelope {
    /// The bytes of the file.
    pub fn seal(&self, document: &DocumentName, version: u64) -> Vec<u8> {
        let mut members = self.extra.clone();
        members.insert("document".into(), document.as_str().into());
        members.insert("version".into(), version.into());
        members.insert("nonce".into(), self.nonce.to_string().into());
        members.insert("body".into(), Value::Object(self.body.clone()));
        let mut contents = Value::Object(members).to_string().into_bytes();
        contents.push(b'\n');
        let line =
            format!("{MAGIC} {FORMAT} crc32c={:08x} bytes={}\n", crc32c::crc32c(&contents), contents.len());
        let mut file = line.into_bytes();
        file.append(&mut contents);
        file
    }

    /// The document in the file, if it is whole and the one that was asked for.
    pub fn open(document: &DocumentName, version: u64, file: &Bytes) -> Result<Self, Fault> {
        let damaged = |what: &str| Fault::Damaged(what.to_owned());
        let end = file.iter().take(MOST_LINE).position(|byte| *byte == b'\n');
        let (line, rest) =
            end.and_then(|end| file.split_at_checked(end)).ok_or_else(|| damaged("no first line"))?;
        let contents = rest.get(1..).unwrap_or_default();
        let line = std::str::from_utf8(line).map_err(|_| damaged("its first line is no text"))?;
        let mut words = line.split(' ');
        if words.next() != Some(MAGIC) {
            return Err(damaged("it is no document of glint"));
        }
        match words.next().and_then(|format| format.parse().ok()) {
            Some(1..=FORMAT) => {}
            Some(newer) if newer > FORMAT => return Err(Fault::TooNew(newer)),
            _ => return Err(damaged("it has no format")),
        }
        let checksum = words.next().and_then(|word| word.strip_prefix("crc32c="));
        let bytes = words.next().and_then(|word| word.strip_prefix("bytes="));
        if bytes.and_then(|bytes| bytes.parse().ok()) != Some(contents.len()) {
            return Err(damaged("it is longer or shorter than it says"));
        }
        if checksum != Some(format!("{:08x}", crc32c::crc32c(contents)).as_str()) {
            return Err(damaged("its checksum is wrong"));
        }
        let contents: Value =
            serde_json::from_slice(contents).map_err(|error| Fault::Damaged(error.to_string()))?;
        let Value::Object(mut members) = contents else { return Err(damaged("it is no object")) };
        let is = |name: &str, value: Value| members.get(name) == Some(&value);
        if !is("document", document.as_str().into()) || !is("version", version.into()) {
            return Err(damaged("it is another document, or another version"));
        }
        let nonce = members.get("nonce").and_then(Value::as_str).and_then(Nonce::parse);
        let nonce = nonce.ok_or_else(|| damaged("it has no nonce"))?;
        let Some(Value::Object(body)) = members.remove("body") else { return Err(damaged("it has no body")) };
        members.retain(|name, _| !KNOWN.contains(&name.as_str()));
        Ok(Self { nonce, body, extra: members })
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
