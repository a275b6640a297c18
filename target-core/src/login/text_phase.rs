//! Text Requests of the full feature phase (RFC 7143 §11.10, appendix C): SendTargets, and the few keys that may change.

use super::catalog::{Catalog, TargetEntry};
use super::draft::Draft;
use super::keys::{self, MAX_RECV_DATA_SEGMENT_LENGTH, Rule, Sender};
use super::parameters::Parameters;
use super::text::{self, Incoming, Outgoing, TextError, Writer};
use crate::pdu::fields::RESERVED_TAG;
use crate::pdu::initiator::TextRequest;
use crate::pdu::target::TextResponse;
use crate::session::event::{SessionRequest, SessionType};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most keys that one text may bring.
const MAX_KEYS: usize = 256;

/// Why a Text Request is answered with a Reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextReject {
    /// F and C at once.
    #[error("a text that is both final and unfinished")]
    FinalWithinText,
    /// A Target Transfer Tag that belongs to no exchange, or not to this task.
    #[error("an unknown Target Transfer Tag")]
    UnknownTag,
    /// Text where an empty request was due.
    #[error("text sent while the target's answer was unfinished")]
    TextWithinAnswer,
    /// Malformed text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The same key twice.
    #[error("a key said twice")]
    Repeated,
    /// More keys than anyone needs.
    #[error("too many keys")]
    TooManyKeys,
}

impl TextReject {
    /// Reason code of the Reject PDU (RFC 7143 §11.17.1).
    pub fn reason(self) -> u8 {
        const PROTOCOL_ERROR: u8 = 0x04;
        const INVALID_PDU_FIELD: u8 = 0x09;
        match self {
            Self::UnknownTag => INVALID_PDU_FIELD,
            _ => PROTOCOL_ERROR,
        }
    }
}

/// The text side of one connection in its full feature phase.
pub struct TextPhase {
    catalog: Arc<dyn Catalog>,
    session_type: SessionType,
    initiator_name: Arc<str>,
    target_name: Option<Arc<str>>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// The exchange that is under way.
    exchange: Option<Exchange>,
    last_tag: u32,
    /// A MaxRecvDataSegmentLength of ours that the initiator does not know yet.
    undeclared: Option<u32>,
    /// The one that is in the answer under way.
    declaring: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Exchange {
    initiator_task_tag: u32,
    target_transfer_tag: u32,
}

impl TextPhase {
    /// For the connection that logged in so.
    pub fn new(catalog: Arc<dyn Catalog>, session: &SessionRequest) -> Self {
        Self {
            catalog,
            session_type: session.session_type,
            initiator_name: session.initiator_name.clone(),
            target_name: session.target_name.clone(),
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            exchange: None,
            last_tag: 0,
            undeclared: None,
            declaring: None,
        }
    }

    /// The next text that the initiator says is to be answered with this MaxRecvDataSegmentLength; `parameters` are those that hold.
    /// Whether that is news.
    pub fn declare(&mut self, length: u32, parameters: &Parameters) -> bool {
        let length = keys::segment_length(length);
        let known = parameters.target_max_recv_data_segment_length;
        if length == self.undeclared.unwrap_or(known) {
            return false;
        }
        self.undeclared = (length != known || self.declaring.is_some()).then_some(length);
        self.undeclared.is_some()
    }

    /// Answers a request; may change `parameters` (MaxRecvDataSegmentLength, of the initiator and of ours). A Reject ends the exchange.
    pub fn handle(
        &mut self,
        request: &TextRequest,
        parameters: &mut Parameters,
    ) -> Result<TextResponse, TextReject> {
        let answer = self.advance(request, parameters);
        if answer.is_err() {
            self.reset();
        }
        answer
    }

    fn reset(&mut self) {
        self.incoming = Incoming::default();
        self.outgoing = Outgoing::default();
        self.exchange = None;
        self.declaring = None;
    }

    fn advance(
        &mut self,
        request: &TextRequest,
        parameters: &mut Parameters,
    ) -> Result<TextResponse, TextReject> {
        if request.is_final && request.continues {
            return Err(TextReject::FinalWithinText);
        }
        if request.target_transfer_tag == RESERVED_TAG {
            // A new exchange; an older one is thereby given up (RFC 7143 §11.10.4).
            self.reset();
        } else {
            let exchange = Exchange {
                initiator_task_tag: request.initiator_task_tag,
                target_transfer_tag: request.target_transfer_tag,
            };
            if self.exchange != Some(exchange) {
                return Err(TextReject::UnknownTag);
            }
        }
        // The answer is cut to what the initiator takes as it asks, not to what it asks for.
        let limit = parameters.initiator_max_recv_data_segment_length as usize;
        if !self.outgoing.is_empty() {
            if !request.data.is_empty() || request.continues {
                return Err(TextReject::TextWithinAnswer);
            }
        } else if let Some(text) = self.incoming.collect(request.data.clone(), request.continues)? {
            self.outgoing = Outgoing::new(self.answer(&text, parameters)?);
        }
        let data = self.outgoing.take(limit);
        let continues = !self.outgoing.is_empty();
        if !continues && let Some(length) = self.declaring.take() {
            parameters.target_max_recv_data_segment_length = length;
            self.undeclared.take_if(|undeclared| *undeclared == length);
        }
        let is_final = request.is_final && !continues;
        let target_transfer_tag = if is_final { RESERVED_TAG } else { self.tag() };
        self.exchange = (!is_final)
            .then_some(Exchange { initiator_task_tag: request.initiator_task_tag, target_transfer_tag });
        Ok(TextResponse {
            is_final,
            continues,
            lun: request.lun,
            initiator_task_tag: request.initiator_task_tag,
            target_transfer_tag,
            data,
        })
    }

    /// The tag of the exchange, or one for a new exchange.
    fn tag(&mut self) -> u32 {
        if let Some(exchange) = self.exchange {
            return exchange.target_transfer_tag;
        }
        self.last_tag = match self.last_tag.wrapping_add(1) {
            RESERVED_TAG => 0,
            tag => tag,
        };
        self.last_tag
    }

    /// Answers a complete text.
    fn answer(&mut self, text: &[u8], parameters: &mut Parameters) -> Result<Bytes, TextReject> {
        let pairs = text::parse(text)?;
        if pairs.len() > MAX_KEYS {
            return Err(TextReject::TooManyKeys);
        }
        let mut seen = BTreeSet::new();
        if !pairs.iter().all(|(name, _)| seen.insert(*name)) {
            return Err(TextReject::Repeated);
        }
        let mut answers = Writer::default();
        let mut declaring = self.undeclared;
        let mut draft = Draft { parameters: parameters.clone(), ..Draft::default() };
        for (name, value) in pairs {
            let Some((_, key)) = keys::find(name) else {
                answers.push(name, "NotUnderstood");
                continue;
            };
            let allowed = key.place.full_feature && key.sender != Sender::Target;
            let accepted = allowed
                && value.len() <= key.value_limit()
                && match &key.rule {
                    Rule::Declared(declared) => (declared.take)(&mut draft, value).is_ok(),
                    Rule::SendTargets => self.send_targets(value, &mut answers),
                    _ => false,
                };
            if !accepted {
                answers.push(name, "Reject");
                // No key is said twice in one text: ours has to wait.
                declaring.take_if(|_| name == MAX_RECV_DATA_SEGMENT_LENGTH);
            }
        }
        if let Some(length) = declaring {
            answers.push(MAX_RECV_DATA_SEGMENT_LENGTH, length);
        }
        self.declaring = declaring;
        *parameters = draft.parameters;
        Ok(answers.finish())
    }

    /// Tells targets and their addresses. False: this kind of session may not ask so.
    fn send_targets(&self, which: &str, answers: &mut Writer) -> bool {
        match (self.session_type, which) {
            (SessionType::Discovery, "All") => {
                self.catalog.targets().iter().for_each(|target| self.tell(target, answers));
            }
            // Empty means the target that one is logged in to; a discovery session is logged in to none.
            (SessionType::Discovery, "") | (SessionType::Normal, "All") => return false,
            (SessionType::Discovery, name) => {
                self.catalog.target(name).iter().for_each(|target| self.tell(target, answers));
            }
            (SessionType::Normal, name) => {
                let own =
                    self.target_name.iter().filter(|own| name.is_empty() || own.eq_ignore_ascii_case(name));
                own.filter_map(|own| self.catalog.target(own)).for_each(|target| self.tell(&target, answers));
            }
        }
        true
    }

    fn tell(&self, target: &TargetEntry, answers: &mut Writer) {
        // Without an address the initiator would take it to be where it asks (RFC 7143 appendix C).
        if !target.admits(&self.initiator_name) || target.addresses.is_empty() {
            return;
        }
        answers.push("TargetName", &target.name);
        for (address, group) in &target.addresses {
            answers.push("TargetAddress", format_args!("{address},{group}"));
        }
    }
}
