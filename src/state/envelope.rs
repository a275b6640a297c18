//! How a document lies in its file: one line of JSON that tells what follows, then the contents as they are.
//!
//! `{"glint":"unit document","version":1,"document":"reservations","unit":"3c0a...","bytes":230,"sha256":"..."}`
//!
//! The checksum is over the contents: `tail -n +2 FILE | sha256sum` gives it.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Most bytes of a document.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// Most bytes of the line before it.
pub(super) const MOST_HEADER: usize = 4 << 10;
/// The version that is written, and the last that is understood.
const VERSION: u64 = 1;
const KIND: &str = "unit document";

fn checksum(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of the file.
pub(super) fn seal(document: &str, unit: &str, contents: &[u8]) -> Vec<u8> {
    let header = json!({
        "glint": KIND,
        "version": VERSION,
        "document": document,
        "unit": unit,
        "bytes": contents.len(),
        "sha256": checksum(contents),
    });
    let mut file = header.to_string().into_bytes();
    file.push(b'\n');
    file.extend_from_slice(contents);
    file
}

/// The contents of the file, if it is whole and the one that was asked for; or what is wrong with it.
pub(super) fn open(document: &str, unit: &str, file: Bytes) -> Result<Bytes, String> {
    let end = file.iter().take(MOST_HEADER).position(|byte| *byte == b'\n');
    let end = end.ok_or("its first line has no end")?;
    let header = file.slice(..end);
    let contents = file.slice(end + 1..);
    let header: Value =
        serde_json::from_slice(&header).map_err(|error| format!("its first line: {error}"))?;
    let text = |field: &str| header.get(field).and_then(Value::as_str).unwrap_or_default();
    let number = |field: &str| header.get(field).and_then(Value::as_u64);
    if text("glint") != KIND {
        return Err("it is no document of glint".into());
    }
    match number("version") {
        Some(1..=VERSION) => {}
        Some(newer) => return Err(format!("it has version {newer}, this glint reads up to {VERSION}")),
        None => return Err("it has no version".into()),
    }
    if (text("document"), text("unit")) != (document, unit) {
        return Err(format!("it is document {:?} of unit {:?}", text("document"), text("unit")));
    }
    if number("bytes") != Some(contents.len() as u64) {
        return Err(format!("it has {} bytes of contents, not as many as it says", contents.len()));
    }
    if text("sha256") != checksum(&contents) {
        return Err("its checksum is wrong".into());
    }
    Ok(contents)
}
