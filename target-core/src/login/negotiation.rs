//! Negotiation by the table of keys (RFC 7143 §6.2): answers, declarations, our own proposals.

use super::draft::{AuthText, Draft};
use super::failure::{LoginFailure, Misbehaviour};
use super::keys::{self, Boolean, Gate, KEYS, Key, Limit, List, Number, Rule, Sender, Telling};
use super::parameters::{Offer, Parameters};
use super::text::{Pair, Writer};
use super::value;
use std::collections::BTreeSet;

/// Answers that are not values (RFC 7143 §6.2).
const NOT_UNDERSTOOD: &str = "NotUnderstood";
const IRRELEVANT: &str = "Irrelevant";
const REJECT: &str = "Reject";

/// Most unknown keys that one login may bring.
const MAX_UNKNOWN: usize = 256;

/// The two stages of login that carry text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextStage {
    Security,
    Operational,
}

/// How far a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Untouched,
    /// We proposed it and wait for the answer.
    Proposed,
    /// Said or settled; saying it again is an error.
    Settled,
}

/// The negotiation of one login.
pub(super) struct Negotiation {
    offer: Offer,
    pub(super) draft: Draft,
    /// Of the initiator's saying, by row of the table.
    progress: [Progress; KEYS.len()],
    /// What we have declared, by row of the table.
    told: [bool; KEYS.len()],
    unknown: BTreeSet<Box<str>>,
}

impl Negotiation {
    pub(super) fn new(offer: Offer) -> Self {
        Self {
            offer,
            draft: Draft::default(),
            progress: [Progress::Untouched; KEYS.len()],
            told: [false; KEYS.len()],
            unknown: BTreeSet::new(),
        }
    }

    /// Takes the pairs of one request and writes the answers; gives the authentication keys, which are answered elsewhere.
    pub(super) fn receive(
        &mut self,
        stage: TextStage,
        leading: bool,
        pairs: &[Pair<'_>],
        answers: &mut Writer,
    ) -> Result<AuthText, LoginFailure> {
        let mut auth = AuthText::default();
        let mut known = Vec::with_capacity(pairs.len());
        for &(name, value) in pairs {
            match keys::find(name) {
                Some((row, key)) => known.push((row, key, value)),
                None => self.refuse_unknown(name, answers)?,
            }
        }
        // Rows stand in the order of dependence; the sort is stable, so what is said twice stays in sight.
        known.sort_by_key(|(row, ..)| *row);
        for (row, key, value) in known {
            self.receive_one(stage, leading, (row, key), value, &mut auth, answers)?;
        }
        // A proposal is to be answered at once. Left unanswered it has failed, and the default holds.
        for progress in &mut self.progress {
            if *progress == Progress::Proposed {
                *progress = Progress::Settled;
            }
        }
        Ok(auth)
    }

    fn refuse_unknown(&mut self, name: &str, answers: &mut Writer) -> Result<(), Misbehaviour> {
        if self.unknown.len() >= MAX_UNKNOWN {
            return Err(Misbehaviour::TooManyUnknown);
        }
        if !self.unknown.insert(name.into()) {
            return Err(Misbehaviour::UnknownRepeated);
        }
        answers.push(name, NOT_UNDERSTOOD);
        Ok(())
    }

    fn receive_one(
        &mut self,
        stage: TextStage,
        leading: bool,
        (row, key): (usize, &'static Key),
        value: &str,
        auth: &mut AuthText,
        answers: &mut Writer,
    ) -> Result<(), LoginFailure> {
        if key.sender == Sender::Target {
            return Err(Misbehaviour::WrongSender(key.name).into());
        }
        let in_place = match stage {
            TextStage::Security => key.place.security,
            TextStage::Operational => key.place.operational,
        };
        if !in_place {
            return Err(Misbehaviour::Misplaced(key.name).into());
        }
        if value.len() > key.value_limit() {
            return Err(Misbehaviour::BadValue(key.name).into());
        }
        let Some(progress) = self.progress.get_mut(row) else { return Ok(()) };
        let is_answer = match std::mem::replace(progress, Progress::Settled) {
            Progress::Untouched => false,
            Progress::Proposed => true,
            Progress::Settled => return Err(Misbehaviour::Repeated(key.name).into()),
        };
        if let Rule::Declared(declared) = &key.rule {
            return (declared.take)(&mut self.draft, value);
        }
        if let Rule::Authentication(slot) = &key.rule {
            *slot(auth) = Some(value.to_owned());
            return Ok(());
        }
        if is_answer {
            return self.take_answer(key, value).map_err(LoginFailure::from);
        }
        let settled_elsewhere = key.place.leading_only && !leading;
        if settled_elsewhere || (key.normal_only && self.draft.is_discovery()) {
            answers.push(key.name, IRRELEVANT);
            return Ok(());
        }
        self.answer(key, value, answers);
        Ok(())
    }

    /// Answers a proposal. A value that the key cannot have is answered with Reject, and the key stays at its default.
    fn answer(&mut self, key: &Key, value: &str, answers: &mut Writer) {
        let parameters = &mut self.draft.parameters;
        match &key.rule {
            Rule::Boolean(rule) => match value::boolean(value) {
                Some(theirs) => {
                    let result = rule.combine(theirs, &self.offer);
                    (rule.write)(parameters, result);
                    answers.push(key.name, value::yes_no(result));
                }
                None => answers.push(key.name, REJECT),
            },
            Rule::Number(rule) => match rule.parse(value) {
                Some(theirs) => {
                    let result = rule.combine(theirs, &self.offer, parameters);
                    (rule.write)(parameters, result);
                    answers.push(key.name, result);
                }
                None => answers.push(key.name, REJECT),
            },
            Rule::List(rule) => match rule.choose(value) {
                Some(choice) => {
                    (rule.write)(parameters, choice);
                    answers.push(key.name, choice);
                }
                None => answers.push(key.name, REJECT),
            },
            Rule::Obsolete(answer) => answers.push(key.name, answer),
            // Not negotiated: handled before, or never in place during login.
            Rule::Declared(_) | Rule::Authentication(_) | Rule::SendTargets => {}
        }
    }

    /// Takes the answer to a proposal of ours: it has to be what the key's function gives.
    fn take_answer(&mut self, key: &Key, value: &str) -> Result<(), Misbehaviour> {
        if [NOT_UNDERSTOOD, IRRELEVANT, REJECT].contains(&value) {
            return Ok(());
        }
        let bad = Misbehaviour::BadValue(key.name);
        let parameters = &mut self.draft.parameters;
        match &key.rule {
            Rule::Boolean(rule) => {
                let theirs = value::boolean(value).ok_or(bad)?;
                if rule.combine(theirs, &self.offer) != theirs {
                    return Err(bad);
                }
                (rule.write)(parameters, theirs);
            }
            Rule::Number(rule) => {
                let theirs = rule.parse(value).ok_or(bad)?;
                if rule.combine(theirs, &self.offer, parameters) != theirs {
                    return Err(bad);
                }
                (rule.write)(parameters, theirs);
            }
            _ => return Err(bad),
        }
        Ok(())
    }

    /// Writes what we have to declare and may declare in this stage, once.
    pub(super) fn declare(
        &mut self,
        stage: TextStage,
        target: Option<&super::catalog::TargetEntry>,
        out: &mut Writer,
    ) {
        let telling = Telling { offer: &self.offer, target };
        for (key, told) in KEYS.iter().zip(&mut self.told) {
            let in_place = match stage {
                TextStage::Security => key.place.security,
                TextStage::Operational => key.place.operational,
            };
            let Rule::Declared(declared) = &key.rule else { continue };
            if *told || !in_place {
                continue;
            }
            if let Some(value) = (declared.tell)(&telling, &mut self.draft) {
                out.push(key.name, value);
                *told = true;
            }
        }
    }

    /// Proposes what the initiator was silent about and where the default does not do for us. True: there was something to
    /// propose, and the initiator has to be given the turn.
    pub(super) fn propose(&mut self, leading: bool, out: &mut Writer) -> bool {
        let parameters = &self.draft.parameters;
        let mut proposed = false;
        for (key, progress) in KEYS.iter().zip(&mut self.progress) {
            let meaningless = key.normal_only && self.draft.is_discovery();
            let settled_elsewhere = key.place.leading_only && !leading;
            if *progress != Progress::Untouched || meaningless || settled_elsewhere {
                continue;
            }
            match &key.rule {
                Rule::Boolean(rule) => {
                    let default = (rule.read)(parameters);
                    let wanted = rule.combine(default, &self.offer);
                    if wanted == default {
                        continue;
                    }
                    out.push(key.name, value::yes_no(wanted));
                }
                Rule::Number(rule) => {
                    let default = (rule.read)(parameters);
                    let wanted = rule.combine(default, &self.offer, parameters);
                    if wanted == default {
                        continue;
                    }
                    out.push(key.name, wanted);
                }
                _ => continue,
            }
            *progress = Progress::Proposed;
            proposed = true;
        }
        proposed
    }

    /// The parameters at the end of login.
    pub(super) fn settle(&self) -> Parameters {
        let mut parameters = self.draft.parameters.clone();
        // The first burst is a part of the burst (RFC 7143 §13.14), also where MaxBurstLength shrank after FirstBurstLength was
        // settled, or with the initiator silent about the latter.
        parameters.first_burst_length = parameters.first_burst_length.min(parameters.max_burst_length);
        parameters
    }
}

impl Boolean {
    fn combine(&self, theirs: bool, offer: &Offer) -> bool {
        let ours = (self.ours)(offer);
        match self.gate {
            Gate::And => ours && theirs,
            Gate::Or => ours || theirs,
        }
    }
}

impl Number {
    fn parse(&self, value: &str) -> Option<u32> {
        value::number(value).filter(|number| self.range.contains(number))
    }

    /// `theirs` has to be within the range; so is the result then, whatever we were configured to offer.
    fn combine(&self, theirs: u32, offer: &Offer, parameters: &Parameters) -> u32 {
        let ours = (self.ours)(offer).clamp(*self.range.start(), *self.range.end());
        let result = match self.limit {
            Limit::Min => ours.min(theirs),
            Limit::Max => ours.max(theirs),
        };
        result.min((self.ceiling)(parameters))
    }
}

impl List {
    /// The first of the initiator's list that we can do (RFC 7143 §6.2.1).
    fn choose(&self, theirs: &str) -> Option<&'static str> {
        theirs.split(',').find_map(|choice| self.ours.iter().find(|ours| **ours == choice).copied())
    }
}
