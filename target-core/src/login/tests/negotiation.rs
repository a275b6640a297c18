//! Answers key by key.

use super::bench::{Lab, OPEN, Play, login_to, pairs, request};
use crate::login::parameters::{Digest, Offer, Parameters};
use crate::pdu::initiator::LoginRequest;

fn names() -> String {
    format!("InitiatorName=iqn.x:y TargetName={OPEN}")
}

fn offering(offer: Offer) -> Play {
    Play { login: login_to(Lab::new(), offer) }
}

/// What is heard for one pair, with the default offer, after the introduction.
fn heard(said: &str) -> String {
    let mut play = Play::new();
    play.say(0, Some(1), &names());
    let response = play.say(1, None, said);
    pairs(&response.data).replace("MaxRecvDataSegmentLength=262144", "").trim().to_owned()
}

#[test]
fn each_key_and_its_answer() {
    let table = [
        ("HeaderDigest=CRC32C,None", "HeaderDigest=CRC32C"),
        ("HeaderDigest=None,CRC32C", "HeaderDigest=None"),
        ("HeaderDigest=MD5,CRC32C", "HeaderDigest=CRC32C"),
        ("HeaderDigest=MD5", "HeaderDigest=Reject"),
        ("DataDigest=", "DataDigest=Reject"),
        ("DataDigest=CRC32C", "DataDigest=CRC32C"),
        ("MaxConnections=8", "MaxConnections=1"),
        ("MaxConnections=0", "MaxConnections=Reject"),
        ("MaxConnections=65536", "MaxConnections=Reject"),
        ("InitialR2T=Yes", "InitialR2T=Yes"),
        ("InitialR2T=No", "InitialR2T=No"),
        ("InitialR2T=yes", "InitialR2T=Reject"),
        ("ImmediateData=Yes", "ImmediateData=Yes"),
        ("ImmediateData=No", "ImmediateData=No"),
        ("MaxBurstLength=16776192", "MaxBurstLength=1048576"),
        ("MaxBurstLength=0x10000", "MaxBurstLength=65536"),
        ("MaxBurstLength=511", "MaxBurstLength=Reject"),
        ("MaxBurstLength=16777216", "MaxBurstLength=Reject"),
        ("MaxBurstLength=-5", "MaxBurstLength=Reject"),
        ("MaxBurstLength=99999999999999999999", "MaxBurstLength=Reject"),
        ("FirstBurstLength=1024", "FirstBurstLength=1024"),
        ("FirstBurstLength=16777215", "FirstBurstLength=262144"),
        // Whatever the order in the text.
        ("FirstBurstLength=65536 MaxBurstLength=4096", "MaxBurstLength=4096 FirstBurstLength=4096"),
        ("DefaultTime2Wait=0", "DefaultTime2Wait=2"),
        ("DefaultTime2Wait=3600", "DefaultTime2Wait=3600"),
        ("DefaultTime2Wait=3601", "DefaultTime2Wait=Reject"),
        ("DefaultTime2Retain=3600", "DefaultTime2Retain=20"),
        ("DefaultTime2Retain=0", "DefaultTime2Retain=0"),
        ("MaxOutstandingR2T=64", "MaxOutstandingR2T=8"),
        ("MaxOutstandingR2T=1", "MaxOutstandingR2T=1"),
        ("DataPDUInOrder=No", "DataPDUInOrder=Yes"),
        ("DataSequenceInOrder=No", "DataSequenceInOrder=Yes"),
        ("ErrorRecoveryLevel=2", "ErrorRecoveryLevel=0"),
        ("ErrorRecoveryLevel=3", "ErrorRecoveryLevel=Reject"),
        ("TaskReporting=FastAbort,ResponseFence,RFC3720", "TaskReporting=RFC3720"),
        ("TaskReporting=FastAbort", "TaskReporting=Reject"),
        ("iSCSIProtocolLevel=1", "iSCSIProtocolLevel=1"),
        ("iSCSIProtocolLevel=31", "iSCSIProtocolLevel=2"),
        ("iSCSIProtocolLevel=32", "iSCSIProtocolLevel=Reject"),
        ("IFMarker=Yes", "IFMarker=No"),
        ("OFMarker=No", "OFMarker=No"),
        ("IFMarkInt=2048~8192", "IFMarkInt=Reject"),
        ("OFMarkInt=2048~8192", "OFMarkInt=Reject"),
        ("X-com.example.knob=1", "X-com.example.knob=NotUnderstood"),
        ("X#knob=1", "X#knob=NotUnderstood"),
        ("Y-auth=1", "Y-auth=NotUnderstood"),
        ("Z-digest=1", "Z-digest=NotUnderstood"),
        ("headerdigest=None", "headerdigest=NotUnderstood"),
        ("InitiatorAlias=me", ""),
        ("X#NodeArchitecture=other/1", ""),
        ("MaxRecvDataSegmentLength=512", ""),
    ];
    for (said, answer) in table {
        assert_eq!(heard(said), answer, "{said}");
    }
}

#[test]
fn declared_once_and_as_early_as_may_be() {
    let mut play = Play::new();
    let first = play.say(0, None, &names());
    assert_eq!(pairs(&first.data), "TargetAlias=the open one TargetPortalGroupTag=3");
    assert_eq!(pairs(&play.say(0, Some(1), "").data), "");
    assert_eq!(pairs(&play.say(1, None, "").data), "MaxRecvDataSegmentLength=262144");
    let (session, heard) = play.finish(1, "MaxRecvDataSegmentLength=16777215");
    assert_eq!(heard, "");
    assert_eq!(session.parameters.target_max_recv_data_segment_length, 262_144);
    assert_eq!(session.parameters.initiator_max_recv_data_segment_length, 16_777_215);
}

#[test]
fn rejected_keys_stay_at_their_defaults() {
    let said = format!("{} MaxBurstLength=1 InitialR2T=maybe HeaderDigest=MD5 ErrorRecoveryLevel=7", names());
    let (session, _) = Play::new().finish(1, &said);
    let expected = Parameters { target_max_recv_data_segment_length: 262_144, ..Parameters::default() };
    assert_eq!(session.parameters, expected);
}

#[test]
fn nothing_is_proposed_where_the_defaults_do() {
    let (_, heard) = Play::new().finish(1, &names());
    assert_eq!(heard, "TargetAlias=the open one TargetPortalGroupTag=3 MaxRecvDataSegmentLength=262144");
}

fn narrow() -> Offer {
    Offer {
        max_burst_length: 16384,
        first_burst_length: 4096,
        immediate_data: false,
        default_time2wait: 5,
        default_time2retain: 0,
        ..Offer::default()
    }
}

#[test]
fn what_the_initiator_is_silent_about_is_proposed() {
    let mut play = offering(narrow());
    let response = play.say(1, Some(3), &format!("{} DefaultTime2Wait=9", names()));
    assert!(!response.transit);
    let heard = pairs(&response.data);
    let proposals = "ImmediateData=No MaxBurstLength=16384 FirstBurstLength=4096 DefaultTime2Retain=0";
    assert!(heard.ends_with(&format!("DefaultTime2Wait=9 {proposals}")), "{heard}");
    // The initiator answers, and answers are not answered.
    let answers = "ImmediateData=No MaxBurstLength=8192 FirstBurstLength=2048 DefaultTime2Retain=0";
    let (session, heard) = play.finish(1, answers);
    assert_eq!(heard, "");
    let expected = Parameters {
        immediate_data: false,
        target_max_recv_data_segment_length: 262_144,
        max_burst_length: 8192,
        first_burst_length: 2048,
        default_time2wait: 9,
        default_time2retain: 0,
        ..Parameters::default()
    };
    assert_eq!(session.parameters, expected);
}

#[test]
fn answers_beyond_what_was_proposed_end_the_login() {
    for answer in ["ImmediateData=Yes", "MaxBurstLength=16385", "DefaultTime2Retain=1", "MaxBurstLength=much"]
    {
        let mut play = offering(narrow());
        play.say(1, Some(3), &names());
        assert_eq!(play.fail(1, Some(3), answer), (2, 0), "{answer}");
    }
}

#[test]
fn unanswered_and_refused_proposals_leave_the_defaults() {
    for answer in ["", "MaxBurstLength=Reject ImmediateData=NotUnderstood FirstBurstLength=Irrelevant"] {
        let mut play = offering(narrow());
        play.say(1, Some(3), &names());
        let (session, heard) = play.finish(1, answer);
        assert_eq!(heard, "");
        assert_eq!(session.parameters.max_burst_length, 262_144);
        assert!(session.parameters.immediate_data);
    }
}

#[test]
fn discovery_proposes_only_what_means_something() {
    let mut play = offering(narrow());
    let response = play.say(1, Some(3), "InitiatorName=iqn.x:y SessionType=Discovery");
    let expected = "MaxRecvDataSegmentLength=262144 DefaultTime2Wait=5 DefaultTime2Retain=0";
    assert_eq!(pairs(&response.data), expected);
}

#[test]
fn the_first_burst_follows_a_smaller_burst() {
    let mut play = Play::new();
    let response = play.say(1, Some(3), &format!("{} MaxBurstLength=4096", names()));
    assert!(pairs(&response.data).ends_with("MaxBurstLength=4096 FirstBurstLength=4096"));
    let (session, _) = play.finish(1, "FirstBurstLength=4096");
    assert_eq!(session.parameters.first_burst_length, 4096);
    // Also where MaxBurstLength comes late.
    let mut play = Play::new();
    play.say(1, None, &format!("{} FirstBurstLength=65536", names()));
    let (session, _) = play.finish(1, "MaxBurstLength=32768");
    assert_eq!(session.parameters.first_burst_length, 32768);
    // And where the initiator does not answer.
    let mut play = Play::new();
    play.say(1, Some(3), &format!("{} MaxBurstLength=4096", names()));
    let (session, _) = play.finish(1, "");
    assert_eq!(session.parameters.first_burst_length, 4096);
}

#[test]
fn further_connections_do_not_settle_the_session_anew() {
    let said = format!("{} MaxBurstLength=512 HeaderDigest=CRC32C", names());
    let mut play = Play::new();
    let response = play.send(LoginRequest { tsih: 5, ..request(1, None, &said) });
    let heard = pairs(&response.data);
    assert!(heard.ends_with("HeaderDigest=CRC32C MaxBurstLength=Irrelevant"), "{heard}");
    assert_eq!(response.tsih, 5);
}

#[test]
fn offers_out_of_range_are_brought_into_it() {
    let offer = Offer {
        max_recv_data_segment_length: 0,
        max_burst_length: u32::MAX,
        first_burst_length: 1,
        max_outstanding_r2t: 0,
        default_time2wait: u16::MAX,
        max_connections: 0,
        ..Offer::default()
    };
    let said = format!(
        "{} MaxBurstLength=16777215 FirstBurstLength=512 MaxOutstandingR2T=2 DefaultTime2Wait=1 MaxConnections=2 \
         HeaderDigest=CRC32C",
        names()
    );
    let (session, _) = offering(offer).finish(1, &said);
    let expected = Parameters {
        header_digest: Digest::Crc32c,
        target_max_recv_data_segment_length: 512,
        max_burst_length: 16_777_215,
        first_burst_length: 512,
        max_outstanding_r2t: 1,
        default_time2wait: 3600,
        max_connections: 1,
        ..Parameters::default()
    };
    assert_eq!(session.parameters, expected);
}
