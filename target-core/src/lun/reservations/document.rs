//! The document of what outlives the process, as JSON that people can read:
//!
//! ```json
//! {
//!   "version": 1,
//!   "aptpl": true,
//!   "registrations": [
//!     { "initiator": "iqn.2026-12.io.example:a", "isid": "800000000001", "target_port": 1, "key": "0x00000000000000a1" }
//!   ],
//!   "reservation": {
//!     "type": "write-exclusive",
//!     "holder": { "initiator": "iqn.2026-12.io.example:a", "isid": "800000000001", "target_port": 1 }
//!   }
//! }
//! ```
//!
//! Fields that this version does not know are kept as they are. What it knows has to be right, all of it: a reservation that was half
//! read would let in those whom it fences off.

use super::kind::Kind;
use super::registrant::{InitiatorPort, Registrant};
use super::state::{MOST_REGISTRATIONS, Reservation, State};
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// The version that is written and read.
const VERSION: u64 = 1;
const KNOWN: [&str; 4] = ["version", "aptpl", "registrations", "reservation"];
/// RFC 7143 §4.2.7.1.
const LONGEST_NAME: usize = 223;

/// What is known about the document that was kept last.
#[derive(Clone, Debug, Default)]
pub struct Notebook {
    /// It may be another one than the state asks for: keeping it has failed.
    pub(super) in_doubt: bool,
    /// Its fields that nobody here knows.
    pub(super) unknown: Map<String, Value>,
}

/// The document of a state.
pub fn encode(state: &State, unknown: &Map<String, Value>) -> Bytes {
    let registrations = state.registrations.iter().map(|(registrant, key)| {
        let mut fields = nexus(registrant);
        fields.insert("key".into(), format!("{key:#018x}").into());
        Value::Object(fields)
    });
    let mut document = unknown.clone();
    document.insert("version".into(), VERSION.into());
    document.insert("aptpl".into(), state.persists.into());
    document.insert("registrations".into(), registrations.collect());
    if let Some(Reservation { kind, holder }) = &state.reservation {
        let mut reservation = json!({ "type": kind.name() });
        if let (Some(holder), Some(fields)) = (holder, reservation.as_object_mut()) {
            fields.insert("holder".into(), nexus(holder).into());
        }
        document.insert("reservation".into(), reservation);
    }
    let mut text = format!("{:#}", Value::Object(document));
    text.push('\n');
    text.into()
}

fn nexus(registrant: &Registrant) -> Map<String, Value> {
    let Registrant { target_port, initiator: InitiatorPort { name, isid } } = registrant;
    let isid = isid.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let mut fields = Map::new();
    fields.insert("initiator".into(), name.as_ref().into());
    fields.insert("isid".into(), isid.into());
    fields.insert("target_port".into(), (*target_port).into());
    fields
}

/// The state that a document tells, or what is wrong with it.
pub fn decode(document: &[u8]) -> Result<(State, Notebook), String> {
    let Value::Object(fields) = serde_json::from_slice(document).map_err(|error| error.to_string())? else {
        return Err("it is no JSON object".into());
    };
    match fields.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(version) => return Err(format!("it has version {version}, not {VERSION}")),
        None => return Err("it has no version".into()),
    }
    let persists = fields.get("aptpl").and_then(Value::as_bool).ok_or("it has no `aptpl`")?;
    let mut state = State { persists, ..State::default() };
    let registrations = fields.get("registrations").and_then(Value::as_array);
    for (at, own) in registrations.ok_or("it has no list of `registrations`")?.iter().enumerate() {
        let registration = read_nexus(own).zip(read_key(own));
        let (registrant, key) = registration.ok_or_else(|| format!("registration {at} is none: {own}"))?;
        if state.registrations.insert(registrant, key).is_some() {
            return Err(format!("registration {at} is there twice"));
        }
    }
    if state.registrations.len() > MOST_REGISTRATIONS {
        return Err(format!("it has more than {MOST_REGISTRATIONS} registrations"));
    }
    if !persists && !state.registrations.is_empty() {
        return Err("it has registrations that were not to be kept".into());
    }
    state.reservation = match fields.get("reservation") {
        None => None,
        Some(own) => {
            Some(read_reservation(own, &state).ok_or_else(|| format!("the reservation is none: {own}"))?)
        }
    };
    let unknown = fields.into_iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())).collect();
    Ok((state, Notebook { in_doubt: false, unknown }))
}

fn read_nexus(value: &Value) -> Option<Registrant> {
    let name = value.get("initiator")?.as_str()?;
    let digits = value.get("isid")?.as_str()?;
    let target_port = value.get("target_port")?.as_u64()?;
    if name.is_empty() || name.len() > LONGEST_NAME {
        return None;
    }
    Some(Registrant {
        target_port: u16::try_from(target_port).ok()?,
        initiator: InitiatorPort::new(name, parse_isid(digits.as_bytes())?),
    })
}

/// The twelve hexadecimal digits of an ISID.
pub fn parse_isid(digits: &[u8]) -> Option<[u8; 6]> {
    let mut isid = [0; 6];
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != isid.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in isid.iter_mut().zip(pairs) {
        let digit = |at: u8| char::from(at).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(isid)
}

fn read_key(value: &Value) -> Option<u64> {
    let digits = value.get("key")?.as_str()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().filter(|key| *key != 0)
}

/// A reservation whose holders are registered.
fn read_reservation(value: &Value, state: &State) -> Option<Reservation> {
    let kind = Kind::from_name(value.get("type")?.as_str()?)?;
    let holder = match value.get("holder") {
        Some(holder) => Some(read_nexus(holder)?),
        None => None,
    };
    let valid = match &holder {
        Some(holder) => !kind.is_held_by_all() && state.registrations.contains_key(holder),
        None => kind.is_held_by_all() && !state.registrations.is_empty(),
    };
    valid.then_some(Reservation { kind, holder })
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
