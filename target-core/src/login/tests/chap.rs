//! CHAP as part of a login.

use super::bench::{CHAP, ONE_WAY, OPEN, Play, SHARED, pairs};
use crate::login::failure::{AuthenticationFailure, LoginFailure};

const MD5: &str = "CHAP_R=0xb92a9c5ccc2b992ec25315128b65d531";

fn hello(target: &str, methods: &str) -> String {
    format!("InitiatorName=iqn.x:y TargetName={target} AuthMethod={methods}")
}

/// A login in which our challenge for MD5 is out.
fn challenged(target: &str) -> Play {
    let mut play = Play::new();
    play.say(0, None, &hello(target, "CHAP"));
    play.say(0, None, "CHAP_A=5");
    play
}

#[test]
fn each_hash_proves_and_the_first_known_of_the_list_is_taken() {
    let table = [
        ("5", "5", "0xb92a9c5ccc2b992ec25315128b65d531"),
        ("6,5", "6", "0x7e35e6285dfd209d379413be1da108f9de16da32"),
        ("9,0x7,5", "7", "0xedcbcef1e8ced5d7d8be15d44ef39ecdb1bd32714b8e148f46841f8217606ca4"),
        ("none,8,7", "8", "0xb1529c6445fc9df904e03543b97e2e17ba99da6d017a2d15aaada020fdb48b95"),
        // The same as the first, in base64.
        ("5", "5", "0buSqcXMwrmS7CUxUSi2XVMQ=="),
    ];
    for (list, chosen, response) in table {
        let mut play = Play::new();
        play.say(0, None, &hello(CHAP, "CHAP"));
        let heard = pairs(&play.say(0, None, &format!("CHAP_A={list}")).data);
        assert!(heard.starts_with(&format!("CHAP_A={chosen} CHAP_I=90 CHAP_C=0x5a5a")), "{heard}");
        assert!(play.say(0, Some(1), &format!("CHAP_N=alice CHAP_R={response}")).transit, "{list}");
        play.finish(1, "");
    }
}

#[test]
fn mutual_with_each_hash() {
    let table = [
        ("5", "b92a9c5ccc2b992ec25315128b65d531", "43573fbac86e950d86a2f860db7bb2b9"),
        ("6", "7e35e6285dfd209d379413be1da108f9de16da32", "7794e61a3c060f656eb370eba8c3ab7566598582"),
        (
            "7",
            "edcbcef1e8ced5d7d8be15d44ef39ecdb1bd32714b8e148f46841f8217606ca4",
            "9f242b5f16cfa79abacc5cab2b946b7bdcc875adca5fea406f7ec0c9bfb7ebe8",
        ),
        (
            "8",
            "b1529c6445fc9df904e03543b97e2e17ba99da6d017a2d15aaada020fdb48b95",
            "43931a19f5d9099a2e50eb7c569d632207b735e93c7305ffebd301177fc7fcdf",
        ),
    ];
    for (algorithm, initiator, target) in table {
        let mut play = Play::new();
        play.say(0, None, &hello(CHAP, "CHAP"));
        play.say(0, None, &format!("CHAP_A={algorithm}"));
        let said = format!("CHAP_N=alice CHAP_R=0x{initiator} CHAP_I=17 CHAP_C=0x{}", "22".repeat(16));
        let response = play.say(0, Some(1), &said);
        assert!(response.transit);
        assert_eq!(pairs(&response.data), format!("CHAP_N=target CHAP_R=0x{target}"));
    }
}

#[test]
fn transit_may_be_asked_for_after_the_proof() {
    let mut play = challenged(CHAP);
    assert!(!play.say(0, None, &format!("CHAP_N=alice {MD5}")).transit);
    assert!(play.say(0, Some(1), "").transit);
    play.finish(1, "");
}

#[test]
fn method_is_chosen_by_the_policy_from_what_is_offered() {
    for (target, methods, chosen) in [
        (OPEN, "None", "None"),
        (OPEN, "CHAP,None", "None"),
        (OPEN, "KRB5,SRP,None", "None"),
        (CHAP, "CHAP", "CHAP"),
        (CHAP, "None,CHAP", "CHAP"),
        (CHAP, "KRB5,CHAP", "CHAP"),
    ] {
        let heard = pairs(&Play::new().say(0, None, &hello(target, methods)).data);
        assert!(heard.ends_with(&format!("AuthMethod={chosen}")), "{heard}");
    }
}

#[test]
fn no_transit_before_the_proof() {
    let mut play = Play::new();
    assert!(!play.say(0, Some(3), &hello(CHAP, "CHAP")).transit);
    assert!(!play.say(0, Some(3), "CHAP_A=5").transit);
    play.finish(0, &format!("CHAP_N=alice {MD5}"));
}

#[test]
fn what_is_not_proof_ends_the_login() {
    use AuthenticationFailure::*;
    let challenge = format!("CHAP_C=0x{}", "22".repeat(16));
    let too_long = format!("CHAP_C=0x{}", "22".repeat(1025));
    let reflected = format!("CHAP_C=0x{}", "5a".repeat(32));
    let reflected_base64 = format!("CHAP_C=0b{}Wlo=", "Wlpa".repeat(10));
    let table: Vec<(&str, String, AuthenticationFailure)> = vec![
        (CHAP, "CHAP_N=alice CHAP_R=0xb92a9c5ccc2b992ec25315128b65d532".into(), WrongProof),
        (CHAP, format!("CHAP_N=mallory {MD5}"), WrongProof),
        (CHAP, format!("CHAP_N=bob {MD5}"), WrongProof),
        (CHAP, format!("CHAP_N=Alice {MD5}"), WrongProof),
        (CHAP, "CHAP_N=alice CHAP_R=0xb9".into(), WrongProof),
        (CHAP, format!("CHAP_N=alice CHAP_R=0x{}", "00".repeat(33)), Malformed("CHAP_R")),
        (CHAP, "CHAP_N=alice CHAP_R=0xzz".into(), Malformed("CHAP_R")),
        (CHAP, "CHAP_N=alice CHAP_R=0x".into(), Malformed("CHAP_R")),
        (CHAP, "CHAP_N=alice CHAP_R=".into(), Malformed("CHAP_R")),
        (CHAP, "CHAP_N=alice".into(), Incomplete("CHAP_R")),
        (CHAP, MD5.into(), Incomplete("CHAP_N")),
        (CHAP, String::new(), Incomplete("CHAP_N")),
        (CHAP, format!("CHAP_N=alice {MD5} CHAP_I=17"), Incomplete("CHAP_C")),
        (CHAP, format!("CHAP_N=alice {MD5} {challenge}"), Incomplete("CHAP_I")),
        (CHAP, format!("CHAP_N=alice {MD5} CHAP_I=256 {challenge}"), Malformed("CHAP_I")),
        (CHAP, format!("CHAP_N=alice {MD5} CHAP_I=17 {too_long}"), Malformed("CHAP_C")),
        (CHAP, format!("CHAP_N=alice {MD5} CHAP_I=17 {reflected}"), ReflectedChallenge),
        (CHAP, format!("CHAP_N=alice {MD5} CHAP_I=90 {reflected_base64}"), ReflectedChallenge),
        (ONE_WAY, format!("CHAP_N=alice {MD5} CHAP_I=17 {challenge}"), NoTargetSecret),
        (SHARED, format!("CHAP_N=alice {MD5} CHAP_I=17 {challenge}"), SharedSecret),
        // A wrong proof gets no answer to its challenge, whatever the target could say.
        (ONE_WAY, format!("CHAP_N=alice CHAP_R=0xb9 CHAP_I=17 {challenge}"), WrongProof),
    ];
    for (target, said, why) in table {
        let mut play = challenged(target);
        assert_eq!(play.fail(0, Some(1), &said), (2, 1), "{said}");
        assert_eq!(play.login.failure(), Some(LoginFailure::Authentication(why)), "{said}");
        // There is no second try.
        assert_eq!(play.fail(0, Some(1), &format!("CHAP_N=alice {MD5}")), (2, 0));
    }
}

#[test]
fn an_exchange_that_cannot_begin_ends_the_login() {
    use AuthenticationFailure::*;
    for (target, methods) in [(CHAP, "None"), (OPEN, "CHAP"), (CHAP, "chap"), (CHAP, "KRB5"), (CHAP, "")] {
        let mut play = Play::new();
        assert_eq!(play.fail(0, Some(1), &hello(target, methods)), (2, 1), "{methods}");
        assert_eq!(play.login.failure(), Some(NoCommonMethod.into()));
    }
    for (said, why) in
        [("CHAP_A=1,2,9", NoCommonAlgorithm), ("CHAP_A=", NoCommonAlgorithm), ("", Incomplete("CHAP_A"))]
    {
        let mut play = Play::new();
        play.say(0, None, &hello(CHAP, "CHAP"));
        assert_eq!(play.fail(0, None, said), (2, 1), "{said}");
        assert_eq!(play.login.failure(), Some(why.into()));
    }
    let mut play = Play::new();
    assert_eq!(play.fail(0, Some(1), &format!("InitiatorName=iqn.x:y TargetName={CHAP}")), (2, 1));
    assert_eq!(play.login.failure(), Some(Required.into()));
}

#[test]
fn chap_keys_out_of_turn_end_the_login() {
    assert_eq!(Play::new().fail(0, None, &format!("{} CHAP_A=5", hello(CHAP, "CHAP"))), (2, 0));
    assert_eq!(Play::new().fail(0, None, &format!("InitiatorName=a TargetName={CHAP} CHAP_A=5")), (2, 0));
    let mut play = Play::new();
    play.say(0, None, &hello(OPEN, "None"));
    assert_eq!(play.fail(0, None, "CHAP_A=5"), (2, 0));
    let mut play = challenged(CHAP);
    assert_eq!(play.fail(0, None, "CHAP_A=5"), (2, 0));
}

#[test]
fn nothing_that_is_printed_holds_a_secret() {
    let secret = super::bench::credentials("alice", "secret1234567");
    assert_eq!(format!("{secret:?}"), r#"ChapCredentials { name: "alice", secret: Secret(..) }"#);
    let mut play = challenged(CHAP);
    play.fail(0, Some(1), "CHAP_N=alice CHAP_R=0xb9");
    let told = play.login.failure().map(|failure| format!("{failure} {failure:?}")).unwrap_or_default();
    assert_eq!(told, "authentication failed: name or secret is wrong Authentication(WrongProof)");
}
