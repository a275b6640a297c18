//! The login phase as the target sees it (RFC 7143 §6.3): stages and the way from one to the next.

use super::catalog::{AuthPolicy, Catalog, Redirect, TargetEntry, Whereabouts};
use super::chap::Entropy;
use super::failure::{AuthenticationFailure, LoginFailure, Misbehaviour};
use super::negotiation::{Negotiation, TextStage};
use super::parameters::{Offer, Parameters};
use super::security::Security;
use super::text::{self, Incoming, Outgoing, Writer};
use crate::pdu::fields::Isid;
use crate::pdu::initiator::LoginRequest;
use crate::pdu::target::LoginResponse;
use crate::session::event::{BindOutcome, SessionRequest, SessionType};
use bytes::Bytes;
use std::sync::Arc;

/// The version of the protocol that we speak, and the only one there is.
const VERSION: u8 = 0;
/// Most bytes of text in one Login Response: MaxRecvDataSegmentLength has its default during login (RFC 7143 §13.12).
const MAX_RESPONSE_TEXT: usize = 8192;

/// CSG and NSG values (RFC 7143 §11.12.3).
const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// What to do after a request.
#[derive(Debug)]
pub enum Step {
    /// Send this and wait for the next request; after [`Login::bound`]: send this, and the full feature phase has begun.
    Reply(LoginResponse),
    /// All is agreed: make the session known and call [`Login::bound`].
    Bind(SessionRequest),
    /// Send this and close.
    Fail(LoginResponse),
}

/// The login of one connection, from the first Login Request to the last Login Response.
pub struct Login {
    catalog: Arc<dyn Catalog>,
    entropy: Entropy,
    negotiation: Negotiation,
    incoming: Incoming,
    outgoing: Outgoing,
    identity: Option<Identity>,
    stage: Stage,
    failure: Option<LoginFailure>,
    /// Where the initiator is sent, when that is what the login fails with.
    redirect: Option<Redirect>,
}

/// What identifies the connection: the same in all requests of a login (RFC 7143 §11.12).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    isid: Isid,
    tsih: u16,
    cid: u16,
}

/// Whom the initiator wants to talk to, and what it has to prove for that.
struct Peer {
    target: Option<Arc<TargetEntry>>,
    policy: AuthPolicy,
}

enum Stage {
    /// Nobody has said who they are.
    Opening,
    Security(Peer, Security),
    /// With whether we can go on from here.
    Operational(Peer, Readiness),
    /// All is agreed, and the driver is asked; with the request to answer.
    Binding(LoginRequest),
    /// Login has ended, one way or the other.
    Over,
}

/// Whether a transit may be granted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    NotYet,
}

impl Login {
    /// A login that has not begun. `entropy` fills a buffer with unforeseeable bytes.
    pub fn new(catalog: Arc<dyn Catalog>, offer: Offer, entropy: Entropy) -> Self {
        Self {
            catalog,
            entropy,
            negotiation: Negotiation::new(offer),
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            identity: None,
            stage: Stage::Opening,
            failure: None,
            redirect: None,
        }
    }

    /// Takes a request. The caller keeps watch over InitiatorTaskTag and CmdSN, fills in the sequence numbers and limits the time.
    pub fn handle(&mut self, request: LoginRequest) -> Step {
        match self.advance(&request) {
            Ok(step) => step,
            Err(failure) => self.fail(failure, &request),
        }
    }

    /// Takes the driver's answer to [`Step::Bind`]. None: there was no such question.
    pub fn bound(&mut self, outcome: BindOutcome) -> Option<Step> {
        let request = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Binding(request) => request,
            other => {
                self.stage = other;
                return None;
            }
        };
        Some(match outcome {
            BindOutcome::Bound { tsih } => {
                let mut response = self.response(&request);
                response.transit = true;
                response.next_stage = FULL_FEATURE;
                response.tsih = tsih;
                Step::Reply(response)
            }
            BindOutcome::Refused { class, detail } => {
                self.fail(LoginFailure::Refused(class, detail), &request)
            }
        })
    }

    /// Why the login failed, for logs and metrics.
    pub fn failure(&self) -> Option<LoginFailure> {
        self.failure
    }

    /// The name that the initiator gave itself, proved or not.
    pub fn initiator_name(&self) -> Option<&Arc<str>> {
        self.negotiation.draft.initiator_name.as_ref()
    }

    /// The target that was asked for, whether there is one or not.
    pub fn target_name(&self) -> Option<&Arc<str>> {
        self.negotiation.draft.target_name.as_ref()
    }

    fn fail(&mut self, failure: LoginFailure, request: &LoginRequest) -> Step {
        self.stage = Stage::Over;
        self.failure = Some(failure);
        let mut answer = failure.answer(request);
        if let Some(redirect) = &self.redirect {
            let mut text = Writer::default();
            text.push("TargetAddress", &redirect.address);
            answer.data = text.finish();
        }
        Step::Fail(answer)
    }

    fn advance(&mut self, request: &LoginRequest) -> Result<Step, LoginFailure> {
        let stage = self.check(request)?;
        if !self.outgoing.is_empty() {
            // Our answer is being fetched piece by piece: the initiator has nothing to say meanwhile (RFC 7143 §6.2).
            if !request.data.is_empty() || request.continues {
                return Err(Misbehaviour::TextWithinAnswer.into());
            }
            return self.conclude(request);
        }
        let Some(text) = self.incoming.collect(request.data.clone(), request.continues)? else {
            return Ok(Step::Reply(self.response(request)));
        };
        let mut answers = Writer::default();
        self.take(stage, request, &text, &mut answers)?;
        self.outgoing = Outgoing::new(answers.finish());
        self.conclude(request)
    }

    /// Checks what the header says; gives the stage of the request.
    fn check(&mut self, request: &LoginRequest) -> Result<TextStage, LoginFailure> {
        let identity = Identity { isid: request.isid, tsih: request.tsih, cid: request.cid };
        match self.identity {
            None if request.version_min > VERSION => return Err(LoginFailure::UnsupportedVersion),
            None => self.identity = Some(identity),
            Some(known) if known != identity => return Err(Misbehaviour::IdentityChanged.into()),
            Some(_) => {}
        }
        if request.transit && request.continues {
            return Err(Misbehaviour::TransitWithinText.into());
        }
        let goes_on = !request.transit
            || matches!(
                (request.current_stage, request.next_stage),
                (SECURITY, OPERATIONAL | FULL_FEATURE) | (OPERATIONAL, FULL_FEATURE)
            );
        let stage = match (&self.stage, request.current_stage) {
            (Stage::Opening | Stage::Security(..), SECURITY) => Some(TextStage::Security),
            (Stage::Opening | Stage::Operational(..), OPERATIONAL) => Some(TextStage::Operational),
            (Stage::Binding(_) | Stage::Over, _) => return Err(Misbehaviour::AfterTheEnd.into()),
            _ => None,
        };
        stage.filter(|_| goes_on).ok_or(Misbehaviour::BadStage.into())
    }

    /// Takes a complete text.
    fn take(
        &mut self,
        stage: TextStage,
        request: &LoginRequest,
        text: &Bytes,
        answers: &mut Writer,
    ) -> Result<(), LoginFailure> {
        let leading = request.tsih == 0;
        let pairs = text::parse(text)?;
        // What we declare comes first in our answer, but needs to know the target.
        let mut said = Writer::default();
        let auth = self.negotiation.receive(stage, leading, &pairs, &mut said)?;
        let current = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Opening => {
                let peer = self.introduce()?;
                match stage {
                    TextStage::Security => Stage::Security(peer, Security::Method),
                    TextStage::Operational if matches!(peer.policy, AuthPolicy::Open) => {
                        Stage::Operational(peer, Readiness::Ready)
                    }
                    TextStage::Operational => return Err(AuthenticationFailure::Required.into()),
                }
            }
            current => current,
        };
        if let Stage::Security(peer, _) | Stage::Operational(peer, _) = &current {
            self.negotiation.declare(stage, peer.target.as_deref(), answers);
        }
        answers.append(said);
        self.stage = match current {
            Stage::Security(peer, security) => {
                let security =
                    security.handle(&auth, request.transit, &peer.policy, self.entropy, answers)?;
                Stage::Security(peer, security)
            }
            Stage::Operational(peer, _) => {
                let ending = request.transit && request.next_stage == FULL_FEATURE;
                let proposed = ending && self.negotiation.propose(leading, answers);
                let readiness = if proposed { Readiness::NotYet } else { Readiness::Ready };
                Stage::Operational(peer, readiness)
            }
            other => other,
        };
        Ok(())
    }

    /// Who is there, for what, and may they: at the end of the first text, since names may stand anywhere in it.
    fn introduce(&mut self) -> Result<Peer, LoginFailure> {
        let draft = &mut self.negotiation.draft;
        // Whom we take the initiator for now stands for the whole login: what it has to prove hangs on it.
        draft.session_type.get_or_insert(SessionType::Normal);
        let initiator =
            draft.initiator_name.as_ref().ok_or(LoginFailure::MissingParameter("InitiatorName"))?;
        if draft.is_discovery() {
            return Ok(Peer { target: None, policy: self.catalog.discovery_auth() });
        }
        let name = draft.target_name.as_ref().ok_or(LoginFailure::MissingParameter("TargetName"))?;
        let target = self.catalog.target(name).ok_or(LoginFailure::TargetNotFound)?;
        if !target.admits(initiator) {
            return Err(LoginFailure::NotAdmitted);
        }
        if !target.served_here {
            return Err(LoginFailure::TargetNotFound);
        }
        match &target.whereabouts {
            Whereabouts::Here => {}
            Whereabouts::Moving => return Err(LoginFailure::ServiceUnavailable),
            Whereabouts::Moved(redirect) => {
                // Before authentication: the secret may be the other place's alone.
                self.redirect = Some(redirect.clone());
                return Err(LoginFailure::Redirected { permanent: redirect.permanent });
            }
        }
        Ok(Peer { policy: target.auth.clone(), target: Some(target) })
    }

    /// Sends the next piece of our answer; grants the transit with the last one.
    fn conclude(&mut self, request: &LoginRequest) -> Result<Step, LoginFailure> {
        let ready = match &self.stage {
            Stage::Security(_, security) => matches!(security, Security::Proven),
            Stage::Operational(_, readiness) => *readiness == Readiness::Ready,
            _ => false,
        };
        if self.outgoing.exceeds(MAX_RESPONSE_TEXT) || !ready || !request.transit {
            return Ok(Step::Reply(self.response(request)));
        }
        let peer = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Security(peer, _) | Stage::Operational(peer, _) => peer,
            // Ready implies one of the two.
            _ => return Err(LoginFailure::TargetError),
        };
        if request.next_stage == FULL_FEATURE {
            let parameters = self.negotiation.settle();
            let session = self.session(request, &peer, parameters)?;
            self.stage = Stage::Binding(LoginRequest { data: Bytes::new(), ..request.clone() });
            return Ok(Step::Bind(session));
        }
        self.stage = Stage::Operational(peer, Readiness::Ready);
        let mut response = self.response(request);
        response.transit = true;
        response.next_stage = request.next_stage;
        Ok(Step::Reply(response))
    }

    fn session(
        &self,
        request: &LoginRequest,
        peer: &Peer,
        parameters: Parameters,
    ) -> Result<SessionRequest, LoginFailure> {
        let draft = &self.negotiation.draft;
        let target = peer.target.as_deref();
        Ok(SessionRequest {
            session_type: if target.is_some() { SessionType::Normal } else { SessionType::Discovery },
            initiator_name: draft
                .initiator_name
                .clone()
                .ok_or(LoginFailure::MissingParameter("InitiatorName"))?,
            isid: request.isid,
            tsih: request.tsih,
            cid: request.cid,
            target_name: target.map(|target| target.name.clone()),
            portal_group_tag: target.map_or(0, |target| target.portal_group_tag),
            relative_port: target.map_or(0, |target| target.relative_port),
            parameters,
        })
    }

    /// A response with the next piece of text, that stays in the stage.
    fn response(&mut self, request: &LoginRequest) -> LoginResponse {
        let data = self.outgoing.take(MAX_RESPONSE_TEXT);
        LoginResponse {
            transit: false,
            continues: !self.outgoing.is_empty(),
            current_stage: request.current_stage,
            next_stage: 0,
            version_max: VERSION,
            version_active: VERSION,
            isid: request.isid,
            tsih: request.tsih,
            initiator_task_tag: request.initiator_task_tag,
            status_class: 0,
            status_detail: 0,
            data,
        }
    }
}
