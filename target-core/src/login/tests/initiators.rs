//! What real initiators say, word for word, and what they must hear.

use super::bench::{Lab, Play, login_to, pairs};
use crate::login::parameters::{Digest, Offer, Parameters};
use crate::session::event::SessionType;

const LIBISCSI_OPERATIONAL: &str = "HeaderDigest=None,CRC32C DataDigest=None InitialR2T=No ImmediateData=Yes \
    MaxBurstLength=262144 FirstBurstLength=262144 DefaultTime2Wait=2 DefaultTime2Retain=0 MaxOutstandingR2T=1 \
    ErrorRecoveryLevel=0 IFMarker=No OFMarker=No MaxConnections=1 MaxRecvDataSegmentLength=262144 \
    DataPDUInOrder=Yes DataSequenceInOrder=Yes";

const LINUX_OPERATIONAL: &str = "HeaderDigest=CRC32C DataDigest=CRC32C DefaultTime2Wait=2 DefaultTime2Retain=0 \
    IFMarker=No OFMarker=No ErrorRecoveryLevel=0 InitialR2T=No ImmediateData=Yes MaxBurstLength=16776192 \
    FirstBurstLength=262144 MaxOutstandingR2T=1 MaxConnections=1 DataPDUInOrder=Yes DataSequenceInOrder=Yes \
    MaxRecvDataSegmentLength=262144";

const LINUX_DISCOVERY: &str = "InitiatorName=iqn.2026-12.bar:vm InitiatorAlias=(none) SessionType=Discovery \
    HeaderDigest=None DataDigest=None DefaultTime2Wait=2 DefaultTime2Retain=0 IFMarker=No OFMarker=No \
    ErrorRecoveryLevel=0 MaxRecvDataSegmentLength=32768";

/// What libiscsi and Linux both end up with, digests and alias aside.
fn usual() -> Parameters {
    Parameters {
        initial_r2t: false,
        initiator_max_recv_data_segment_length: 262_144,
        target_max_recv_data_segment_length: 262_144,
        first_burst_length: 262_144,
        default_time2retain: 0,
        ..Parameters::default()
    }
}

#[test]
fn libiscsi_without_authentication() {
    let mut play = Play::new();
    let said = format!(
        "InitiatorName=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test TargetName=iqn.2026-12.lab:tgt \
         SessionType=Normal {LIBISCSI_OPERATIONAL}"
    );
    let (session, heard) = play.finish(1, &said);
    assert_eq!(
        heard,
        "TargetAlias=theopenone TargetPortalGroupTag=3 MaxRecvDataSegmentLength=262144 HeaderDigest=None \
         DataDigest=None MaxConnections=1 InitialR2T=No ImmediateData=Yes MaxBurstLength=262144 \
         FirstBurstLength=262144 DefaultTime2Wait=2 DefaultTime2Retain=0 MaxOutstandingR2T=1 DataPDUInOrder=Yes \
         DataSequenceInOrder=Yes ErrorRecoveryLevel=0 IFMarker=No OFMarker=No"
            .replace("theopenone", "the open one")
    );
    assert_eq!(session.parameters, usual());
    assert_eq!(session.session_type, SessionType::Normal);
    assert_eq!(&*session.initiator_name, "iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test");
    assert_eq!(session.target_name.as_deref(), Some("iqn.2026-12.lab:tgt"));
    assert_eq!((session.tsih, session.cid, session.portal_group_tag, session.relative_port), (0, 9, 3, 7));
}

#[test]
fn libiscsi_discovers() {
    let mut play = Play::new();
    let said = format!(
        "InitiatorName=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-ls SessionType=Discovery {LIBISCSI_OPERATIONAL}"
    );
    let (session, heard) = play.finish(1, &said);
    assert_eq!(
        heard,
        "MaxRecvDataSegmentLength=262144 HeaderDigest=None DataDigest=None MaxConnections=Irrelevant \
         InitialR2T=Irrelevant ImmediateData=Irrelevant MaxBurstLength=Irrelevant FirstBurstLength=Irrelevant \
         DefaultTime2Wait=2 DefaultTime2Retain=0 MaxOutstandingR2T=Irrelevant DataPDUInOrder=Irrelevant \
         DataSequenceInOrder=Irrelevant ErrorRecoveryLevel=0 IFMarker=No OFMarker=No"
    );
    assert_eq!(session.session_type, SessionType::Discovery);
    assert_eq!(session.target_name, None);
}

#[test]
fn libiscsi_with_chap_asks_for_transit_from_the_start() {
    let mut play = Play::new();
    let hello = "InitiatorName=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-readcapacity16 \
        TargetName=iqn.2026-12.lab:chap SessionType=Normal AuthMethod=CHAP,None";
    let response = play.say(0, Some(1), hello);
    assert!(!response.transit);
    assert_eq!(pairs(&response.data), "TargetPortalGroupTag=3 AuthMethod=CHAP");

    let response = play.say(0, None, "CHAP_A=5");
    let challenge = format!("CHAP_A=5 CHAP_I=90 CHAP_C=0x{}", "5a".repeat(32));
    assert_eq!(pairs(&response.data), challenge);

    let response = play.say(0, Some(1), "CHAP_N=alice CHAP_R=0xB92A9C5CCC2B992EC25315128B65D531");
    assert!(response.transit);
    assert_eq!((response.current_stage, response.next_stage, response.tsih), (0, 1, 0));
    assert!(response.data.is_empty());

    let (session, heard) = play.finish(1, &LIBISCSI_OPERATIONAL.replace("None,CRC32C", "CRC32C,None"));
    assert!(heard.starts_with("MaxRecvDataSegmentLength=262144 HeaderDigest=CRC32C DataDigest=None"));
    assert_eq!(session.parameters, Parameters { header_digest: Digest::Crc32c, ..usual() });
}

#[test]
fn linux_with_mutual_chap_and_digests() {
    let mut play = Play::new();
    let hello = "InitiatorName=iqn.2026-12.bar:vm InitiatorAlias=(none) TargetName=iqn.2026-12.lab:chap \
        SessionType=Normal AuthMethod=CHAP";
    assert_eq!(pairs(&play.say(0, None, hello).data), "TargetPortalGroupTag=3 AuthMethod=CHAP");
    play.say(0, None, "CHAP_A=5");
    let proof = "CHAP_N=alice CHAP_R=0xb92a9c5ccc2b992ec25315128b65d531 CHAP_I=182 \
        CHAP_C=0xf7fd51b85b39ef9d7b0f0c134505419b";
    let response = play.say(0, Some(1), proof);
    assert!(response.transit);
    // As in the capture, where the secrets were the same.
    assert_eq!(pairs(&response.data), "CHAP_N=target CHAP_R=0xf80b4c6c5dc0e7f8e1cb4fbcc3910d47");
    let (session, _) = play.finish(1, LINUX_OPERATIONAL);
    let expected = Parameters {
        header_digest: Digest::Crc32c,
        data_digest: Digest::Crc32c,
        max_burst_length: 1 << 20,
        initiator_alias: Some("(none)".into()),
        ..usual()
    };
    assert_eq!(session.parameters, expected);
}

#[test]
fn linux_discovers() {
    let (session, heard) = Play::new().finish(1, LINUX_DISCOVERY);
    assert_eq!(
        heard,
        "MaxRecvDataSegmentLength=262144 HeaderDigest=None DataDigest=None DefaultTime2Wait=2 DefaultTime2Retain=0 \
         ErrorRecoveryLevel=0 IFMarker=No OFMarker=No"
    );
    assert_eq!(session.parameters.initiator_max_recv_data_segment_length, 32768);
}

#[test]
fn libiscsi_without_authentication_is_turned_away_where_it_is_required() {
    let said = format!(
        "InitiatorName=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-ls TargetName=iqn.2026-12.lab:chap \
         SessionType=Normal {LIBISCSI_OPERATIONAL}"
    );
    assert_eq!(Play::new().fail(1, Some(3), &said), (2, 1));
}

#[test]
fn qemu_names_itself_without_a_unique_part() {
    let said = format!(
        "InitiatorName=iqn.2008-11.org.linux-kvm TargetName=iqn.2026-12.lab:tgt SessionType=Normal \
         {LIBISCSI_OPERATIONAL}"
    );
    let (session, _) = Play::new().finish(1, &said);
    assert_eq!(session.parameters, usual());
}

#[test]
fn a_firmware_that_says_little_gets_the_defaults() {
    let hello = "InitiatorName=iqn.2010-04.org.ipxe:host TargetName=iqn.2026-12.lab:tgt SessionType=Normal \
        AuthMethod=CHAP,None";
    let mut play = Play::new();
    let response = play.say(0, Some(1), hello);
    assert!(response.transit);
    assert!(pairs(&response.data).ends_with("AuthMethod=None"));
    let said = "HeaderDigest=None DataDigest=None MaxConnections=1 InitialR2T=Yes ImmediateData=No \
        MaxRecvDataSegmentLength=8192 MaxBurstLength=262144 DefaultTime2Wait=0 DefaultTime2Retain=0 \
        MaxOutstandingR2T=1 DataPDUInOrder=Yes DataSequenceInOrder=Yes ErrorRecoveryLevel=0";
    let (session, _) = play.finish(1, said);
    let expected = Parameters {
        immediate_data: false,
        target_max_recv_data_segment_length: 262_144,
        default_time2retain: 0,
        ..Parameters::default()
    };
    assert_eq!(session.parameters, expected);
}

#[test]
fn from_security_straight_to_full_feature_all_defaults_hold() {
    let hello = "InitiatorName=iqn.x:y TargetName=iqn.2026-12.lab:tgt AuthMethod=None";
    let (session, heard) = Play::new().finish(0, hello);
    assert_eq!(heard, "TargetAlias=the open one TargetPortalGroupTag=3 AuthMethod=None");
    assert_eq!(session.parameters, Parameters::default());
}

#[test]
fn discovery_may_require_authentication() {
    let mut play = Play { login: login_to(Lab::with_discovery_auth(), Offer::default()) };
    assert_eq!(play.fail(1, Some(3), LINUX_DISCOVERY), (2, 1));

    let mut play = Play { login: login_to(Lab::with_discovery_auth(), Offer::default()) };
    play.say(0, None, "InitiatorName=iqn.2026-12.bar:vm SessionType=Discovery AuthMethod=CHAP,None");
    play.say(0, None, "CHAP_A=8,7,6,5");
    let proof = "CHAP_N=alice CHAP_R=0xb1529c6445fc9df904e03543b97e2e17ba99da6d017a2d15aaada020fdb48b95";
    assert!(play.say(0, Some(1), proof).transit);
    play.finish(1, "MaxRecvDataSegmentLength=32768");
}

/// What was proved to an open target is no proof for discovery.
#[test]
fn the_kind_of_session_is_settled_by_the_first_text() {
    let names = "InitiatorName=iqn.x:y TargetName=iqn.2026-12.lab:tgt";
    for csg in [0, 1] {
        let mut play = Play { login: login_to(Lab::with_discovery_auth(), Offer::default()) };
        play.say(csg, (csg == 0).then_some(1), names);
        assert_eq!(play.fail(1, Some(3), "SessionType=Discovery"), (2, 0x00));
        // Said late, but it changes nothing.
        let mut play = Play { login: login_to(Lab::with_discovery_auth(), Offer::default()) };
        play.say(csg, (csg == 0).then_some(1), names);
        let (session, _) = play.finish(1, "SessionType=Normal");
        assert_eq!(session.session_type, SessionType::Normal);
    }
    let mut play = Play::new();
    play.say(1, None, "InitiatorName=iqn.x:y SessionType=Discovery");
    let (session, _) = play.finish(1, "TargetName=iqn.2026-12.lab:chap");
    assert_eq!((session.session_type, session.target_name), (SessionType::Discovery, None));
}
