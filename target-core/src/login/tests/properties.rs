//! What holds whatever is said.

use super::bench::{CHAP, Lab, OPEN, login_to, request};
use crate::login::parameters::{Offer, Parameters};
use crate::login::{Login, Step, text};
use crate::pdu::initiator::LoginRequest;
use crate::session::event::BindOutcome;
use bytes::Bytes;
use proptest::prelude::*;

/// Keys that are welcome in the operational stage, and some that nobody knows.
const WELCOME: &[&str] = &[
    "InitiatorAlias",
    "HeaderDigest",
    "DataDigest",
    "MaxConnections",
    "InitialR2T",
    "ImmediateData",
    "MaxBurstLength",
    "FirstBurstLength",
    "DefaultTime2Wait",
    "DefaultTime2Retain",
    "MaxOutstandingR2T",
    "DataPDUInOrder",
    "DataSequenceInOrder",
    "ErrorRecoveryLevel",
    "TaskReporting",
    "iSCSIProtocolLevel",
    "IFMarker",
    "OFMarkInt",
    "X-other",
    "Other",
];

/// Keys that are not, or not everywhere.
const OTHERS: &[&str] = &[
    "SessionType",
    "InitiatorName",
    "TargetName",
    "TargetAlias",
    "TargetPortalGroupTag",
    "AuthMethod",
    "CHAP_A",
    "CHAP_I",
    "CHAP_C",
    "CHAP_N",
    "CHAP_R",
    "MaxRecvDataSegmentLength",
    "SendTargets",
    "",
];

const VALUES: &[&str] = &[
    "Yes",
    "No",
    "None",
    "CRC32C,None",
    "CHAP",
    "CHAP,None",
    "None,CHAP",
    "Normal",
    "Discovery",
    OPEN,
    CHAP,
    "alice",
    "5",
    "7,5",
    "0",
    "1",
    "2",
    "512",
    "8192",
    "65536",
    "16777215",
    "0xffffff",
    "Reject",
    "Irrelevant",
    "NotUnderstood",
    "",
    "0x00112233445566778899aabbccddeeff",
    "0bAAAA",
    "All",
    "All,All",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(VALUES).prop_map(str::to_owned),
        1 => any::<u32>().prop_map(|n| n.to_string()),
        1 => "[ -~]{0,20}",
    ]
}

/// Welcome keys, each once, with values good and bad.
fn orderly_text() -> impl Strategy<Value = Vec<u8>> {
    let pair = |name: &'static str| value().prop_map(move |value| format!("{name}={value}\0"));
    proptest::sample::subsequence(WELCOME, 0..=WELCOME.len())
        .prop_shuffle()
        .prop_flat_map(move |names| names.into_iter().map(pair).collect::<Vec<_>>())
        .prop_map(|pairs| pairs.concat().into_bytes())
}

fn unruly_text() -> impl Strategy<Value = Vec<u8>> {
    let names = [WELCOME, OTHERS].concat();
    let pair =
        (proptest::sample::select(names), value()).prop_map(|(name, value)| format!("{name}={value}\0"));
    prop_oneof![
        proptest::collection::vec(pair, 0..12).prop_map(|pairs| pairs.concat().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..200),
    ]
}

/// One request of an initiator that mostly keeps to the rules.
#[derive(Clone, Debug)]
enum Act {
    /// Says this in the stage that the login is in, and wants to go on or not.
    Orderly { text: Vec<u8>, transit: bool },
    /// In this stage, to that one, with or without T and C.
    Unruly { text: Vec<u8>, stages: (u8, u8), transit: bool, continues: bool },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (orderly_text(), any::<bool>()).prop_map(|(text, transit)| Act::Orderly { text, transit }),
        2 => any::<bool>().prop_map(|transit| Act::Orderly { text: Vec::new(), transit }),
        1 => (unruly_text(), (0..4_u8, 0..4_u8), any::<bool>(), any::<bool>())
            .prop_map(|(text, stages, transit, continues)| Act::Unruly { text, stages, transit, continues }),
    ]
}

/// How initiators introduce themselves: stage and text.
fn introduction() -> impl Strategy<Value = (u8, String)> {
    proptest::sample::select(vec![
        (0, format!("InitiatorName=iqn.x:y\0TargetName={OPEN}\0")),
        (0, format!("InitiatorName=iqn.x:y\0TargetName={OPEN}\0AuthMethod=None\0")),
        (0, format!("InitiatorName=iqn.x:y\0TargetName={CHAP}\0AuthMethod=CHAP\0")),
        (0, "InitiatorName=iqn.x:y\0SessionType=Discovery\0".to_owned()),
        (1, format!("InitiatorName=iqn.x:y\0TargetName={OPEN}\0")),
        (1, "InitiatorName=iqn.x:y\0SessionType=Discovery\0".to_owned()),
        (1, "InitiatorName=iqn.x:y\0TargetName=iqn.no:such\0".to_owned()),
        (1, String::new()),
    ])
}

fn perform(act: Act, stage: u8) -> LoginRequest {
    match act {
        Act::Orderly { text, transit } => LoginRequest {
            transit,
            next_stage: if stage == 0 && text.len() % 2 == 0 { 1 } else { 3 },
            // The security stage takes none of the welcome keys.
            data: if stage == 0 { Bytes::new() } else { text.into() },
            ..request(stage, None, "")
        },
        Act::Unruly { text, stages, transit, continues } => LoginRequest {
            transit,
            continues,
            next_stage: stages.1,
            data: text.into(),
            ..request(stages.0, None, "")
        },
    }
}

fn in_stage(text: &str) -> LoginRequest {
    LoginRequest { data: Bytes::copy_from_slice(text.as_bytes()), ..request(1, Some(3), "") }
}

/// Plays to the end, with or without proposals of ours on the way.
fn parameters(mut login: Login, text: &str) -> Parameters {
    let mut step = login.handle(in_stage(text));
    if let Step::Reply(_) = step {
        step = login.handle(in_stage(""));
    }
    match step {
        Step::Bind(session) => session.parameters,
        other => panic!("{other:?} {:?}", login.failure()),
    }
}

prop_compose! {
    fn any_offer()(
        lengths in (any::<u32>(), any::<u32>(), any::<u32>()),
        counts in (any::<u16>(), any::<u16>()),
        times in (any::<u16>(), any::<u16>()),
        switches in any::<(bool, bool)>(),
    ) -> Offer {
        Offer {
            max_recv_data_segment_length: lengths.0,
            max_burst_length: lengths.1,
            first_burst_length: lengths.2,
            max_outstanding_r2t: counts.0,
            max_connections: counts.1,
            default_time2wait: times.0,
            default_time2retain: times.1,
            initial_r2t: switches.0,
            immediate_data: switches.1,
        }
    }
}

/// Offers that are in range, so that bounds can be told apart.
fn sane(offer: Offer) -> Offer {
    Offer {
        max_recv_data_segment_length: offer.max_recv_data_segment_length % (1 << 23) + 512,
        max_burst_length: offer.max_burst_length % (1 << 23) + 512,
        first_burst_length: offer.first_burst_length % (1 << 23) + 512,
        max_outstanding_r2t: offer.max_outstanding_r2t.max(1),
        max_connections: offer.max_connections.max(1),
        default_time2wait: offer.default_time2wait % 3601,
        default_time2retain: offer.default_time2retain % 3601,
        ..offer
    }
}

/// What the standard allows at all.
fn check_bounds(p: &Parameters) -> Result<(), TestCaseError> {
    prop_assert!(p.first_burst_length <= p.max_burst_length);
    for length in [
        p.initiator_max_recv_data_segment_length,
        p.target_max_recv_data_segment_length,
        p.max_burst_length,
        p.first_burst_length,
    ] {
        prop_assert!((512..1 << 24).contains(&length));
    }
    prop_assert!(p.max_outstanding_r2t >= 1 && p.max_connections >= 1);
    prop_assert!(p.default_time2wait <= 3600 && p.default_time2retain <= 3600);
    prop_assert!(p.error_recovery_level == 0 && p.protocol_level <= 2);
    Ok(())
}

proptest! {
    #[test]
    fn nothing_that_is_said_does_harm(
        (mut stage, hello) in introduction(),
        acts in proptest::collection::vec(act(), 1..8),
        offer in any_offer(),
    ) {
        let mut login = login_to(Lab::new(), offer);
        let hello = Bytes::from(hello.into_bytes());
        let mut next = LoginRequest { data: hello, ..request(stage, None, "") };
        for act in acts {
            match login.handle(next) {
                Step::Reply(response) => {
                    prop_assert!(response.data.len() <= 8192);
                    prop_assert!(!(response.transit && response.continues));
                    prop_assert_eq!((response.status_class, response.tsih), (0, 0));
                    if response.transit {
                        stage = response.next_stage;
                    }
                }
                Step::Fail(response) => {
                    prop_assert!(response.status_class >= 2);
                    prop_assert!(login.failure().is_some());
                    return Ok(());
                }
                Step::Bind(session) => {
                    // Whoever got here for CHAP's target has made up a proof.
                    prop_assert_ne!(session.target_name.as_deref(), Some(CHAP));
                    check_bounds(&session.parameters)?;
                    let last = login.bound(BindOutcome::Bound { tsih: 1 });
                    let transits = matches!(last, Some(Step::Reply(response)) if response.transit);
                    prop_assert!(transits);
                    return Ok(());
                }
            }
            next = perform(act, stage);
        }
    }

    #[test]
    fn any_bytes_are_text_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(pairs) = text::parse(&bytes) {
            let mut writer = text::Writer::default();
            pairs.iter().for_each(|(name, value)| writer.push(name, value));
            let written = writer.finish();
            prop_assert_eq!(text::parse(&written), Ok(pairs));
        }
    }

    #[test]
    fn results_are_within_both_sides_bounds(
        offer in any_offer().prop_map(sane),
        (max_burst, first_burst) in (512..1_u32 << 24, 512..1_u32 << 24),
        (connections, r2ts) in (1..=u16::MAX, 1..=u16::MAX),
        (wait, retain) in (0..=3600_u16, 0..=3600_u16),
        (initial_r2t, immediate) in any::<(bool, bool)>(),
        level in 0..=2_u8,
        rotation in 0..9_usize,
    ) {
        let yes_no = |yes: bool| if yes { "Yes" } else { "No" };
        let mut said = [
            format!("MaxBurstLength={max_burst}\0"),
            format!("FirstBurstLength={first_burst}\0"),
            format!("MaxConnections={connections}\0"),
            format!("MaxOutstandingR2T={r2ts:#x}\0"),
            format!("DefaultTime2Wait={wait}\0"),
            format!("DefaultTime2Retain={retain}\0"),
            format!("InitialR2T={}\0", yes_no(initial_r2t)),
            format!("ImmediateData={}\0", yes_no(immediate)),
            format!("ErrorRecoveryLevel={level}\0InitiatorName=iqn.x:y\0TargetName={OPEN}\0"),
        ];
        said.rotate_left(rotation);
        let p = parameters(login_to(Lab::new(), offer.clone()), &said.concat());
        prop_assert_eq!(p.max_burst_length, max_burst.min(offer.max_burst_length));
        prop_assert_eq!(
            p.first_burst_length,
            first_burst.min(offer.first_burst_length).min(p.max_burst_length)
        );
        prop_assert_eq!(p.max_connections, connections.min(offer.max_connections));
        prop_assert_eq!(p.max_outstanding_r2t, r2ts.min(offer.max_outstanding_r2t));
        prop_assert_eq!(p.default_time2wait, wait.max(offer.default_time2wait));
        prop_assert_eq!(p.default_time2retain, retain.min(offer.default_time2retain));
        prop_assert_eq!(p.initial_r2t, initial_r2t || offer.initial_r2t);
        prop_assert_eq!(p.immediate_data, immediate && offer.immediate_data);
        prop_assert_eq!(p.target_max_recv_data_segment_length, offer.max_recv_data_segment_length);
    }
}
