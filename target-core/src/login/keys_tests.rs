use super::*;
use std::collections::BTreeSet;

/// RFC 7143 clause 13 and §12.1.3, RFC 7144 §4: all of them, each once.
#[test]
fn the_table_has_every_key() {
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    let standard = "HeaderDigest DataDigest MaxConnections SendTargets TargetName InitiatorName TargetAlias InitiatorAlias \
        TargetAddress TargetPortalGroupTag InitialR2T ImmediateData MaxRecvDataSegmentLength MaxBurstLength \
        FirstBurstLength DefaultTime2Wait DefaultTime2Retain MaxOutstandingR2T DataPDUInOrder DataSequenceInOrder \
        ErrorRecoveryLevel SessionType TaskReporting iSCSIProtocolLevel IFMarker OFMarker IFMarkInt OFMarkInt AuthMethod \
        X#NodeArchitecture CHAP_A CHAP_I CHAP_C CHAP_N CHAP_R";
    assert_eq!(names, standard.split_whitespace().collect());
}

#[test]
fn defaults_are_within_their_ranges() {
    let defaults = Parameters::default();
    for key in &KEYS {
        if let Rule::Number(rule) = &key.rule {
            assert!(rule.range.contains(&(rule.read)(&defaults)), "{}", key.name);
        }
    }
}

#[test]
fn each_number_has_a_field_of_its_own_that_holds_its_range() {
    for key in &KEYS {
        let Rule::Number(rule) = &key.rule else { continue };
        for value in [*rule.range.start(), *rule.range.end()] {
            let mut parameters = Parameters::default();
            (rule.write)(&mut parameters, value);
            assert_eq!((rule.read)(&parameters), value, "{}", key.name);
            for other in &KEYS {
                let Rule::Number(untouched) = &other.rule else { continue };
                if other.name != key.name {
                    assert_eq!((untouched.read)(&parameters), (untouched.read)(&Parameters::default()));
                }
            }
        }
    }
}

#[test]
fn what_bounds_another_key_stands_before_it() {
    let row = |name| find(name).map(|(row, _)| row);
    assert!(row("MaxBurstLength") < row("FirstBurstLength"));
    assert!(row("SessionType") < row("MaxConnections"));
}
