use super::*;
use crate::scsi::command::Response;
use crate::scsi::sense::SenseKey;
use crate::testing::{Bench, nexus, sense_of};

fn set(bench: &Bench, list: &[u8]) -> Response {
    bench.run(&[0xa4, 0x0a, 0, 0, 0, 0, 0, 0, 0, list.len() as u8, 0, 0], list)
}

/// State and STATUS CODE.
fn report(bench: &Bench) -> (u8, u8) {
    let data = bench.good(&[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    (data[4], data[9])
}

#[test]
fn the_group_becomes_active_in_either_way() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let told = |nexus| sense_of(&bench.run_as(nexus, &[0; 6], &[]));
    let changed = Some((SenseKey::UnitAttention, asc::ASYMMETRIC_ACCESS_STATE_CHANGED));
    assert_eq!(report(&bench), (0, 0), "never changed");
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 0, 0, 0, 1])), None);
    assert_eq!((report(&bench), told(&other)), ((0, 0), None), "it was so already");
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 1, 0, 0, 1])), None);
    assert_eq!(report(&bench), (1, 1));
    assert_eq!((told(&other), told(&bench.nexus)), (changed, None));
    bench.unit.set_access_state(AccessState::Unavailable);
    assert_eq!((told(&other), told(&bench.nexus)), (changed, changed));
    assert_eq!(report(&bench), (3, 2));
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 0, 0, 0, 1])), None);
    assert_eq!(report(&bench), (0, 1));
}

#[test]
fn what_is_refused_changes_nothing() {
    let bench = Bench::new();
    let invalid = |list: &[u8], byte: u8| {
        let response = set(&bench, list);
        assert_eq!(sense_of(&response).unwrap().1, asc::INVALID_FIELD_IN_PARAMETER_LIST, "{list:?}");
        assert_eq!(response.sense[15..18], [0x80, 0, byte], "{list:?}");
    };
    for state in 2..=0xff {
        invalid(&[0, 0, 0, 0, state, 0, 0, 1], 4);
    }
    invalid(&[0, 0, 0, 0, 1, 0, 0, 2], 6);
    invalid(&[0, 0, 0, 0, 1, 0, 1, 1], 6);
    invalid(&[0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1], 10);
    for length in [1, 2, 3, 5, 6, 7, 9] {
        let error = sense_of(&set(&bench, &vec![1; length]));
        assert_eq!(error, Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR)));
    }
    assert_eq!(sense_of(&set(&bench, &[])), None);
    assert_eq!(sense_of(&set(&bench, &[0; 4])), None);
    assert_eq!(report(&bench), (0, 0));
}
