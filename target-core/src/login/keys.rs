//! The table of text keys (RFC 7143 clause 13, RFC 7144 §4): one row per key.
//!
//! Negotiation, declarations, proposals and their checks all derive from it. Rows stand in the order in which keys of one request are
//! handled: who is there and what for comes first, and a key after those that bound it.

use super::catalog::TargetEntry;
use super::draft::{AuthText, Draft};
use super::failure::{LoginFailure, Misbehaviour};
use super::parameters::{Digest, Offer, Parameters};
use super::text::{MAX_SIMPLE_VALUE_LEN, MAX_VALUE_LEN};
use super::value;
use crate::session::event::SessionType;
use std::ops::RangeInclusive;

/// One text key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) place: Place,
    pub(super) sender: Sender,
    /// Means nothing in discovery sessions and is answered with Irrelevant there.
    pub(super) normal_only: bool,
    pub(super) rule: Rule,
}

impl Key {
    /// Most bytes of a value as encoded.
    pub(super) fn value_limit(&self) -> usize {
        match self.rule {
            Rule::List(_) | Rule::Authentication(_) => MAX_VALUE_LEN,
            _ => MAX_SIMPLE_VALUE_LEN,
        }
    }
}

/// Where a key may be said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) security: bool,
    pub(super) operational: bool,
    pub(super) full_feature: bool,
    /// Concerns the session and is settled by its first connection.
    pub(super) leading_only: bool,
}

const NOWHERE: Place =
    Place { security: false, operational: false, full_feature: false, leading_only: false };
/// Either stage of login ("Initialize Only, Declarative, Any-Stage").
const LOGIN: Place = Place { security: true, operational: true, ..NOWHERE };
const LEADING_LOGIN: Place = Place { leading_only: true, ..LOGIN };
/// Everywhere ("ALL, Declarative, Any-Stage").
const EVERYWHERE: Place = Place { full_feature: true, ..LOGIN };
const SECURITY: Place = Place { security: true, ..NOWHERE };
/// Operational stage, on each connection ("IO").
const OPERATIONAL: Place = Place { operational: true, ..NOWHERE };
/// Operational stage of the session's first connection ("LO").
const LEADING: Place = Place { leading_only: true, ..OPERATIONAL };
/// Operational stage and full feature phase ("ALL").
const OPERATIONAL_AND_LATER: Place = Place { full_feature: true, ..OPERATIONAL };
/// Full feature phase only ("FFPO").
const FULL_FEATURE: Place = Place { full_feature: true, ..NOWHERE };

/// Who may say a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    Initiator,
    Target,
    Both,
}
use Sender::{Both, Initiator, Target};

/// How a key's value comes about.
pub(super) enum Rule {
    /// Said by one side, not answered by the other.
    Declared(Declared),
    Boolean(Boolean),
    Number(Number),
    List(List),
    /// Of older versions: answered with a constant (RFC 7143 §13.25).
    Obsolete(&'static str),
    /// Handed to the security stage.
    Authentication(fn(&mut AuthText) -> &mut Option<String>),
    /// The question of discovery (RFC 7143 appendix C), answered by the text phase.
    SendTargets,
}

pub(super) struct Declared {
    /// Puts what the initiator said where it belongs.
    pub(super) take: fn(&mut Draft, &str) -> Result<(), LoginFailure>,
    /// What we say, if anything, in the first response that may carry it; notes it in the draft where it is a parameter.
    pub(super) tell: fn(&Telling<'_>, &mut Draft) -> Option<String>,
}

/// What our own declarations are made from.
pub(super) struct Telling<'a> {
    pub(super) offer: &'a Offer,
    /// None in discovery sessions.
    pub(super) target: Option<&'a TargetEntry>,
}

/// Result functions of booleans.
#[derive(Clone, Copy)]
pub(super) enum Gate {
    And,
    Or,
}

/// Result functions of numbers.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Min,
    Max,
}

pub(super) struct Boolean {
    pub(super) gate: Gate,
    pub(super) ours: fn(&Offer) -> bool,
    pub(super) read: fn(&Parameters) -> bool,
    pub(super) write: fn(&mut Parameters, bool),
}

pub(super) struct Number {
    pub(super) range: RangeInclusive<u32>,
    pub(super) limit: Limit,
    pub(super) ours: fn(&Offer) -> u32,
    /// What another key allows at most.
    pub(super) ceiling: fn(&Parameters) -> u32,
    pub(super) read: fn(&Parameters) -> u32,
    /// Given only values within the range.
    pub(super) write: fn(&mut Parameters, u32),
}

pub(super) struct List {
    /// What we can do. The initiator's order of preference decides.
    pub(super) ours: &'static [&'static str],
    pub(super) write: fn(&mut Parameters, &'static str),
}

const fn key(name: &'static str, place: Place, sender: Sender, rule: Rule) -> Key {
    Key { name, place, sender, normal_only: false, rule }
}

/// A key without meaning in discovery sessions.
const fn normal(name: &'static str, place: Place, sender: Sender, rule: Rule) -> Key {
    Key { name, place, sender, normal_only: true, rule }
}

const fn said(take: fn(&mut Draft, &str) -> Result<(), LoginFailure>) -> Rule {
    Rule::Declared(Declared { take, tell: |_, _| None })
}

/// A key that only we declare.
const fn told(tell: fn(&Telling<'_>, &mut Draft) -> Option<String>) -> Rule {
    Rule::Declared(Declared { take: |_, _| Ok(()), tell })
}

macro_rules! boolean {
    ($gate:ident, $field:ident, $ours:expr) => {
        Rule::Boolean(Boolean {
            gate: Gate::$gate,
            ours: $ours,
            read: |parameters| parameters.$field,
            write: |parameters, value| parameters.$field = value,
        })
    };
}

macro_rules! number {
    ($limit:ident, $range:expr, $field:ident, $ours:expr) => {
        number!($limit, $range, $field, $ours, |_| u32::MAX)
    };
    ($limit:ident, $range:expr, $field:ident, $ours:expr, $ceiling:expr) => {
        Rule::Number(Number {
            range: $range,
            limit: Limit::$limit,
            ours: $ours,
            ceiling: $ceiling,
            read: |parameters| parameters.$field.into(),
            // The range keeps every value within the field's type.
            write: |parameters, value| parameters.$field = value as _,
        })
    };
}

const SEGMENT_LENGTHS: RangeInclusive<u32> = 512..=(1 << 24) - 1;
const SECONDS: RangeInclusive<u32> = 0..=3600;
const DIGESTS: &[&str] = &["CRC32C", "None"];

fn digest(name: &str) -> Digest {
    if name == "CRC32C" { Digest::Crc32c } else { Digest::None }
}

pub(super) const MAX_RECV_DATA_SEGMENT_LENGTH: &str = "MaxRecvDataSegmentLength";

/// Every key that this target knows.
pub(super) static KEYS: [Key; 35] = [
    // Who is there, and what for.
    key("SessionType", LEADING_LOGIN, Initiator, said(take_session_type)),
    key("InitiatorName", LOGIN, Initiator, said(take_initiator_name)),
    key("TargetName", LOGIN, Both, said(take_target_name)),
    key("InitiatorAlias", EVERYWHERE, Initiator, said(take_initiator_alias)),
    // "Linux/6.1", for statistics only (RFC 7143 §13.26).
    key("X#NodeArchitecture", LEADING_LOGIN, Both, said(|_, _| Ok(()))),
    // What we say of ourselves.
    key("TargetAlias", EVERYWHERE, Target, told(tell_alias)),
    key("TargetAddress", EVERYWHERE, Target, told(|_, _| None)),
    key(
        "TargetPortalGroupTag",
        LOGIN,
        Target,
        told(|telling, _| Some(telling.target?.portal_group_tag.to_string())),
    ),
    // Security.
    key("AuthMethod", SECURITY, Both, Rule::Authentication(|text| &mut text.method)),
    key("CHAP_A", SECURITY, Both, Rule::Authentication(|text| &mut text.algorithms)),
    key("CHAP_I", SECURITY, Both, Rule::Authentication(|text| &mut text.identifier)),
    key("CHAP_C", SECURITY, Both, Rule::Authentication(|text| &mut text.challenge)),
    key("CHAP_N", SECURITY, Both, Rule::Authentication(|text| &mut text.name)),
    key("CHAP_R", SECURITY, Both, Rule::Authentication(|text| &mut text.response)),
    // Of a connection.
    key(
        "HeaderDigest",
        OPERATIONAL,
        Both,
        Rule::List(List { ours: DIGESTS, write: |parameters, name| parameters.header_digest = digest(name) }),
    ),
    key(
        "DataDigest",
        OPERATIONAL,
        Both,
        Rule::List(List { ours: DIGESTS, write: |parameters, name| parameters.data_digest = digest(name) }),
    ),
    key(
        MAX_RECV_DATA_SEGMENT_LENGTH,
        OPERATIONAL_AND_LATER,
        Both,
        Rule::Declared(Declared { take: take_segment_length, tell: tell_segment_length }),
    ),
    // Of a session.
    normal(
        "MaxConnections",
        LEADING,
        Both,
        number!(Min, 1..=65535, max_connections, |o| o.max_connections.into()),
    ),
    normal("InitialR2T", LEADING, Both, boolean!(Or, initial_r2t, |o| o.initial_r2t)),
    normal("ImmediateData", LEADING, Both, boolean!(And, immediate_data, |o| o.immediate_data)),
    normal(
        "MaxBurstLength",
        LEADING,
        Both,
        number!(Min, SEGMENT_LENGTHS, max_burst_length, |o| o.max_burst_length),
    ),
    normal(
        "FirstBurstLength",
        LEADING,
        Both,
        number!(Min, SEGMENT_LENGTHS, first_burst_length, |o| o.first_burst_length, |p| p.max_burst_length),
    ),
    key(
        "DefaultTime2Wait",
        LEADING,
        Both,
        number!(Max, SECONDS, default_time2wait, |o| o.default_time2wait.into()),
    ),
    key(
        "DefaultTime2Retain",
        LEADING,
        Both,
        number!(Min, SECONDS, default_time2retain, |o| o.default_time2retain.into()),
    ),
    normal(
        "MaxOutstandingR2T",
        LEADING,
        Both,
        number!(Min, 1..=65535, max_outstanding_r2t, |o| o.max_outstanding_r2t.into()),
    ),
    normal("DataPDUInOrder", LEADING, Both, boolean!(Or, data_pdu_in_order, |_| true)),
    normal("DataSequenceInOrder", LEADING, Both, boolean!(Or, data_sequence_in_order, |_| true)),
    key("ErrorRecoveryLevel", LEADING, Both, number!(Min, 0..=2, error_recovery_level, |_| 0)),
    normal(
        "TaskReporting",
        LEADING,
        Both,
        // The default, and the only one: there is nothing to note.
        Rule::List(List { ours: &["RFC3720"], write: |_, _| () }),
    ),
    normal("iSCSIProtocolLevel", LEADING, Both, number!(Min, 0..=31, protocol_level, |_| 2)),
    // Markers are gone, but must not be called unknown; old initiators are happiest with No.
    key("IFMarker", OPERATIONAL, Both, Rule::Obsolete("No")),
    key("OFMarker", OPERATIONAL, Both, Rule::Obsolete("No")),
    key("IFMarkInt", OPERATIONAL, Both, Rule::Obsolete("Reject")),
    key("OFMarkInt", OPERATIONAL, Both, Rule::Obsolete("Reject")),
    key("SendTargets", FULL_FEATURE, Initiator, Rule::SendTargets),
];

/// The key of this name, and its row.
pub(super) fn find(name: &str) -> Option<(usize, &'static Key)> {
    KEYS.iter().enumerate().find(|(_, key)| key.name == name)
}

/// It decides what has to be proved, so it cannot become another once the introduction is over.
fn take_session_type(draft: &mut Draft, value: &str) -> Result<(), LoginFailure> {
    let session_type = match value {
        "Normal" => SessionType::Normal,
        "Discovery" => SessionType::Discovery,
        _ => return Err(LoginFailure::SessionTypeUnsupported),
    };
    match *draft.session_type.get_or_insert(session_type) {
        settled if settled == session_type => Ok(()),
        _ => Err(Misbehaviour::Misplaced("SessionType").into()),
    }
}

fn take_initiator_name(draft: &mut Draft, value: &str) -> Result<(), LoginFailure> {
    let name = value::iscsi_name(value).ok_or(Misbehaviour::BadValue("InitiatorName"))?;
    draft.initiator_name = Some(name.into());
    Ok(())
}

fn take_target_name(draft: &mut Draft, value: &str) -> Result<(), LoginFailure> {
    let name = value::iscsi_name(value).ok_or(Misbehaviour::BadValue("TargetName"))?;
    draft.target_name = Some(name.into());
    Ok(())
}

/// For people to read; control characters would only harm logs.
fn take_initiator_alias(draft: &mut Draft, value: &str) -> Result<(), LoginFailure> {
    draft.parameters.initiator_alias = Some(printable(value));
    Ok(())
}

fn tell_alias(telling: &Telling<'_>, _: &mut Draft) -> Option<String> {
    telling.target?.alias.as_deref().map(printable)
}

/// Without control characters: a zero byte would end the pair early.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn take_segment_length(draft: &mut Draft, value: &str) -> Result<(), LoginFailure> {
    draft.parameters.initiator_max_recv_data_segment_length = value::number(value)
        .filter(|length| SEGMENT_LENGTHS.contains(length))
        .ok_or(Misbehaviour::BadValue(MAX_RECV_DATA_SEGMENT_LENGTH))?;
    Ok(())
}

/// The nearest to this that may be declared.
pub(super) fn segment_length(length: u32) -> u32 {
    length.clamp(*SEGMENT_LENGTHS.start(), *SEGMENT_LENGTHS.end())
}

fn tell_segment_length(telling: &Telling<'_>, draft: &mut Draft) -> Option<String> {
    let length = segment_length(telling.offer.max_recv_data_segment_length);
    draft.parameters.target_max_recv_data_segment_length = length;
    Some(length.to_string())
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
