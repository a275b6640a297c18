//! A node and its record (document `node-<id>`).

use crate::store::{Body, DocumentName};
use serde_json::{Value, json};
use std::fmt;

/// The name of a node, which it keeps wherever it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(String);

impl NodeId {
    /// None where it is no name: lower-case letters, digits and `-`, 63 at most, as a host name's label.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let good = (1..=63).contains(&name.len()) && name.bytes().all(fits);
        good.then_some(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The document with its record.
    pub fn document(&self) -> Option<DocumentName> {
        DocumentName::new(format!("node-{}", self.0))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One start of a node's process: random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BootId(pub u64);

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl BootId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

/// A node as of one start: what owns, lives and dies. The one before it of the same name may still be running somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation {
    /// Which node.
    pub node: NodeId,
    /// Which start of it.
    pub boot: BootId,
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.boot)
    }
}

impl Incarnation {
    /// The file of its heartbeat.
    pub fn beat_file(&self) -> String {
        format!("beat-{}-{}", self.node, self.boot)
    }
}

/// Where initiators come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Target portal group tag.
    pub tag: u16,
    /// The address that is listened on.
    pub bound: String,
    /// The addresses that initiators are told.
    pub advertised: Vec<String>,
}

/// What a node tells about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// Its latest start. One with another boot id that reads this has been replaced, and stops.
    pub boot: BootId,
    /// Its portals.
    pub portals: Vec<Portal>,
    /// Its target port group; see [`super::Numbers`].
    pub group: u16,
    /// Where the other nodes reach it.
    pub internal: String,
    /// The version of glint.
    pub version: String,
    /// The SHA-256 of the certificate that it shows at its internal connections, as hexadecimal digits; empty where it has not said.
    pub certificate: String,
    /// It has gone on purpose: nothing of it runs any more.
    pub left: bool,
}

/// A record that is whole and yet is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its member {0:?} is missing or not as it should be")]
pub struct RecordError(pub &'static str);

impl NodeRecord {
    /// Puts it into a body, of which it leaves all other members as they are.
    pub fn write(&self, body: &mut Body) {
        let portals: Vec<_> = self
            .portals
            .iter()
            .map(|portal| json!({"tag": portal.tag, "bound": portal.bound, "advertised": portal.advertised}))
            .collect();
        body.insert("boot".into(), self.boot.to_string().into());
        body.insert("portals".into(), portals.into());
        body.insert("group".into(), self.group.into());
        body.insert("internal".into(), self.internal.as_str().into());
        body.insert("version".into(), self.version.as_str().into());
        body.insert("certificate".into(), self.certificate.as_str().into());
        body.insert("left".into(), self.left.into());
    }

    /// Reads it.
    pub fn read(body: &Body) -> Result<Self, RecordError> {
        let text = |name: &'static str| body.get(name).and_then(Value::as_str).ok_or(RecordError(name));
        let portals = body.get("portals").and_then(Value::as_array).ok_or(RecordError("portals"))?;
        Ok(Self {
            boot: BootId::parse(text("boot")?).ok_or(RecordError("boot"))?,
            portals: portals.iter().map(Portal::read).collect::<Option<_>>().ok_or(RecordError("portals"))?,
            group: number(body.get("group")).ok_or(RecordError("group"))?,
            internal: text("internal")?.to_owned(),
            version: text("version")?.to_owned(),
            // Records of a glint that had none lack it.
            certificate: if body.contains_key("certificate") {
                text("certificate")?.to_owned()
            } else {
                String::new()
            },
            left: body.get("left").and_then(Value::as_bool).ok_or(RecordError("left"))?,
        })
    }
}

impl Portal {
    fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            tag: number(value.get("tag"))?,
            bound: value.get("bound").and_then(text)?,
            advertised: value.get("advertised")?.as_array()?.iter().map(text).collect::<Option<_>>()?,
        })
    }
}

pub(super) fn number(value: Option<&Value>) -> Option<u16> {
    value.and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok())
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
