use super::*;

const NEXUS: NexusId = NexusId(1);
const OTHER: NexusId = NexusId(2);

fn drain(attentions: &Attentions, nexus: NexusId) -> Vec<Asc> {
    std::iter::from_fn(|| attentions.take(nexus, |_| true)).collect()
}

fn fresh() -> Attentions {
    let attentions = Attentions::default();
    for nexus in [NEXUS, OTHER] {
        attentions.admit(nexus, asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED);
        assert_eq!(drain(&attentions, nexus), [asc::POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED]);
    }
    attentions
}

#[test]
fn each_nexus_has_its_own() {
    let attentions = fresh();
    attentions.raise_except(NEXUS, asc::MODE_PARAMETERS_CHANGED);
    attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    attentions.raise_for(NEXUS, asc::MEDIUM_MAY_HAVE_CHANGED);
    assert!(attentions.is_pending(NEXUS) && attentions.is_pending(OTHER));
    assert_eq!(drain(&attentions, NEXUS), [asc::CAPACITY_DATA_HAS_CHANGED, asc::MEDIUM_MAY_HAVE_CHANGED]);
    assert!(!attentions.is_pending(NEXUS) && attentions.is_pending(OTHER));
    assert_eq!(drain(&attentions, OTHER), [asc::MODE_PARAMETERS_CHANGED, asc::CAPACITY_DATA_HAS_CHANGED]);
}

#[test]
fn a_pending_condition_is_not_queued_again() {
    let attentions = fresh();
    attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    assert_eq!(drain(&attentions, NEXUS), [asc::CAPACITY_DATA_HAS_CHANGED]);
}

#[test]
fn the_weightiest_reset_goes_first_and_alone() {
    let attentions = fresh();
    attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    attentions.raise(asc::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
    attentions.raise(asc::SCSI_BUS_RESET_OCCURRED);
    attentions.raise(asc::I_T_NEXUS_LOSS_OCCURRED);
    assert_eq!(drain(&attentions, NEXUS), [asc::SCSI_BUS_RESET_OCCURRED, asc::CAPACITY_DATA_HAS_CHANGED]);
}

#[test]
fn counts_survive_a_nexus_that_goes() {
    let attentions = fresh();
    attentions.raise(asc::CAPACITY_DATA_HAS_CHANGED);
    attentions.forget(OTHER);
    attentions.raise_for(OTHER, asc::CAPACITY_DATA_HAS_CHANGED);
    assert_eq!(drain(&attentions, OTHER), []);
    assert_eq!(drain(&attentions, NEXUS), [asc::CAPACITY_DATA_HAS_CHANGED]);
    assert_eq!(attentions.pending.load(Ordering::SeqCst), 0);
}
