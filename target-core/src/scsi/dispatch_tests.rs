use super::*;
use crate::scsi::asc;
use crate::testing::Bench;

#[test]
fn a_unit_attention_outlives_the_abort_of_its_messenger() {
    for abort in [Abort::Silent, Abort::TaskAborted] {
        let bench = Bench::new();
        let told = Sense::new(SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
        let outcome = conclude(&bench.unit, bench.nexus.id, Err(told.into()), Some(abort), 0);
        match (abort, outcome) {
            (Abort::Silent, Outcome::Aborted) => {}
            (Abort::TaskAborted, Outcome::Done(response)) => assert_eq!(response.status, Status::TaskAborted),
            (abort, outcome) => panic!("{abort:?}: {outcome:?}"),
        }
        bench.fails(&[0; 6], &[], SenseKey::UnitAttention, asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
        bench.good(&[0; 6], &[]);
    }
}
