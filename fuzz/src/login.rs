//! Login, then the text keys of the full feature phase.

use crate::lab::{Lab, entropy};
use bytes::BytesMut;
use glint_target_core::login::catalog::Catalog;
use glint_target_core::login::parameters::{Digest, Offer, Parameters};
use glint_target_core::login::{Login, Step, TextPhase};
use glint_target_core::pdu::fields::RESERVED_TAG;
use glint_target_core::pdu::frame::FrameDecoder;
use glint_target_core::pdu::initiator::{InitiatorPdu, LoginRequest, TextRequest};
use glint_target_core::pdu::target::{LoginResponse, Numbering, TargetPdu};
use glint_target_core::session::event::{BindOutcome, SessionRequest};
use std::sync::Arc;

/// Most bytes of a data segment before anything else is agreed.
const LOGIN_DATA_SEGMENT: u32 = 8192;
const FULL_FEATURE: u8 = 3;

/// Takes: one byte whose bit 0 asks for CHAP in discovery and whose bit 1 has the session refused, then a stream of PDUs of
/// which Login Requests go to the login and, when that has succeeded, Text Requests to the text phase. Returns whether it has.
pub fn login(data: &[u8]) -> bool {
    let [select, stream @ ..] = data else { return false };
    let catalog: Arc<dyn Catalog> = Arc::new(Lab::new(select & 1 != 0));
    let mut conversation = Conversation {
        login: Login::new(catalog.clone(), Offer::default(), entropy),
        catalog,
        refuse: select & 2 != 0,
        failed: false,
        full_feature: None,
    };
    let mut decoder = FrameDecoder::new(LOGIN_DATA_SEGMENT);
    let mut input = BytesMut::from(stream);
    while let Ok(Some(frame)) = decoder.decode(&mut input) {
        match InitiatorPdu::parse(frame) {
            Ok(InitiatorPdu::Login(request)) => conversation.login(request),
            Ok(InitiatorPdu::Text(request)) => conversation.text(&request),
            _ => {}
        }
    }
    conversation.full_feature.is_some()
}

struct Conversation {
    login: Login,
    catalog: Arc<dyn Catalog>,
    refuse: bool,
    failed: bool,
    full_feature: Option<(TextPhase, Parameters)>,
}

impl Conversation {
    fn login(&mut self, request: LoginRequest) {
        let over = self.failed || self.full_feature.is_some();
        match self.login.handle(request.clone()) {
            Step::Reply(response) => {
                assert!(!over);
                assert!(!(response.transit && response.next_stage == FULL_FEATURE));
                check(&request, &response);
                assert_eq!(response.status_class, 0);
            }
            Step::Fail(response) => {
                check(&request, &response);
                assert_ne!(response.status_class, 0);
                self.failed = true;
            }
            Step::Bind(session) => {
                assert!(!over && request.transit && request.next_stage == FULL_FEATURE);
                self.bind(&request, &session);
            }
        }
    }

    fn bind(&mut self, request: &LoginRequest, session: &SessionRequest) {
        check_session(session);
        let outcome = match self.refuse {
            true => BindOutcome::Refused { class: 3, detail: 1 },
            false => BindOutcome::Bound { tsih: 0x0101 },
        };
        match self.login.bound(outcome).expect("an answer to its question") {
            Step::Reply(response) => {
                check(request, &response);
                assert!(response.transit && response.next_stage == FULL_FEATURE && !self.refuse);
                assert_eq!((response.status_class, response.tsih), (0, 0x0101));
                let text = TextPhase::new(self.catalog.clone(), session);
                self.full_feature = Some((text, session.parameters.clone()));
            }
            Step::Fail(response) => {
                check(request, &response);
                assert_eq!((response.status_class, response.status_detail, self.refuse), (3, 1, true));
                self.failed = true;
            }
            Step::Bind(_) => panic!("asked twice"),
        }
        assert!(self.login.bound(BindOutcome::Bound { tsih: 1 }).is_none());
    }

    fn text(&mut self, request: &TextRequest) {
        let Some((text, parameters)) = &mut self.full_feature else { return };
        let limit = parameters.initiator_max_recv_data_segment_length as usize;
        let Ok(response) = text.handle(request, parameters) else { return };
        assert!(response.data.len() <= limit);
        assert!(!(response.is_final && response.continues));
        assert_eq!(response.is_final, response.target_transfer_tag == RESERVED_TAG);
        assert_eq!(response.initiator_task_tag, request.initiator_task_tag);
    }
}

/// What holds for every answer: it belongs to its request, fits, and can be sent.
fn check(request: &LoginRequest, response: &LoginResponse) {
    assert_eq!(response.initiator_task_tag, request.initiator_task_tag);
    assert_eq!(response.isid, request.isid);
    assert!(response.data.len() <= LOGIN_DATA_SEGMENT as usize);
    assert!(!(response.transit && response.continues));
    let pdu = TargetPdu::Login(response.clone());
    let mut bytes = BytesMut::new();
    pdu.encode(Numbering::default(), Digest::None, Digest::None, &mut bytes);
    let frame = FrameDecoder::new(LOGIN_DATA_SEGMENT).decode(&mut bytes).unwrap().unwrap();
    assert_eq!(TargetPdu::parse(frame).unwrap().0, pdu);
}

/// What may have been agreed (RFC 7143 §13): lengths within their ranges and within what was offered.
fn check_session(session: &SessionRequest) {
    let (offer, agreed) = (Offer::default(), &session.parameters);
    for length in
        [agreed.initiator_max_recv_data_segment_length, agreed.max_burst_length, agreed.first_burst_length]
    {
        assert!((512..=0xff_ffff).contains(&length));
    }
    assert!(agreed.max_burst_length <= offer.max_burst_length.max(262_144));
    assert!(agreed.first_burst_length <= agreed.max_burst_length);
    assert!((1..=offer.max_outstanding_r2t.max(1)).contains(&agreed.max_outstanding_r2t));
    assert_eq!((agreed.error_recovery_level, agreed.max_connections), (0, 1));
    assert!(!session.initiator_name.is_empty());
}
