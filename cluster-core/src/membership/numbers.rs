//! The target port groups and relative target port identifiers of all nodes (document `numbers`, changed by compare-and-set). Initiators remember
//! them, so a number stays with its node and portal group for ever.

use super::node::{NodeId, number};
use crate::store::Body;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The numbers of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// TARGET PORT GROUP, from 1.
    pub group: u16,
    /// RELATIVE TARGET PORT IDENTIFIER, from 1, by target portal group tag.
    pub ports: BTreeMap<u16, u16>,
}

/// Why there is no number to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumbersError {
    /// All 65535 are used.
    #[error("all numbers are used")]
    Exhausted,
    /// The document is whole and yet is none.
    #[error("the document of the numbers is not as it should be")]
    Malformed,
}

fn members<'a>(value: Option<&'a Value>, empty: &'a Body) -> Result<&'a Body, NumbersError> {
    value.map_or(Ok(empty), |value| value.as_object().ok_or(NumbersError::Malformed))
}

fn numbers(value: &Value, empty: &Body) -> Result<Numbers, NumbersError> {
    let group = number(value.get("group")).filter(|group| *group > 0).ok_or(NumbersError::Malformed)?;
    let port = |(tag, port): (&String, &Value)| {
        Some((tag.parse().ok()?, number(Some(port)).filter(|port| *port > 0)?))
    };
    let ports = members(value.get("ports"), empty)?.iter().map(port).collect::<Option<_>>();
    Ok(Numbers { group, ports: ports.ok_or(NumbersError::Malformed)? })
}

impl Numbers {
    /// The numbers that a node has, as the document tells.
    pub fn of(document: &Body, node: &NodeId) -> Option<Self> {
        let entry = document.get("nodes").and_then(|nodes| nodes.get(node.as_str()))?;
        numbers(entry, &Map::new()).ok()
    }
}

/// The numbers of a node with these target portal group tags, and the document as it has to become where some of them are new.
pub fn assign(document: &Body, node: &NodeId, tags: &[u16]) -> Result<(Numbers, Option<Body>), NumbersError> {
    let empty = Map::new();
    let nodes = members(document.get("nodes"), &empty)?;
    let mut group = 0;
    let mut port = 0;
    for other in nodes.values() {
        let other = numbers(other, &empty)?;
        group = group.max(other.group);
        port = other.ports.values().copied().fold(port, u16::max);
    }
    let mut is_new = false;
    let mut next = |last: &mut u16| {
        is_new = true;
        *last = last.checked_add(1).ok_or(NumbersError::Exhausted)?;
        Ok(*last)
    };
    let mut mine = match nodes.get(node.as_str()) {
        Some(known) => numbers(known, &empty)?,
        None => Numbers { group: next(&mut group)?, ports: BTreeMap::new() },
    };
    for tag in tags {
        if !mine.ports.contains_key(tag) {
            mine.ports.insert(*tag, next(&mut port)?);
        }
    }
    if !is_new {
        return Ok((mine, None));
    }
    let mut entry = nodes.get(node.as_str()).and_then(Value::as_object).cloned().unwrap_or_default();
    entry.insert("group".into(), mine.group.into());
    let ports: Body = mine.ports.iter().map(|(tag, port)| (tag.to_string(), (*port).into())).collect();
    entry.insert("ports".into(), ports.into());
    let mut nodes = nodes.clone();
    nodes.insert(node.as_str().into(), entry.into());
    let mut document = document.clone();
    document.insert("nodes".into(), nodes.into());
    Ok((mine, Some(document)))
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
