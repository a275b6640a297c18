use super::*;
use crate::lun::unit::LogicalUnit;
use crate::scsi::command::Response;
use crate::scsi::sense::SenseKey;
use crate::testing::{Bench, RamDevice, config, nexus, sense_of};

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

/// The groups of three nodes, of which this is the first and the second owns the unit.
#[derive(Debug, Default)]
struct Nodes {
    optimized: std::sync::Mutex<Vec<u16>>,
}

impl PortGroups for Nodes {
    fn groups(&self) -> Arc<[PortGroup]> {
        let group = |number, state, is_preferred, ports: &[u16]| PortGroup {
            number,
            state,
            is_preferred,
            ports: ports.to_vec(),
        };
        Arc::new([
            group(1, AccessState::ActiveNonOptimized, true, &[1, 2]),
            group(5, AccessState::ActiveOptimized, false, &[3]),
            group(0x102, AccessState::Unavailable, false, &[]),
        ])
    }

    fn own(&self) -> u16 {
        1
    }

    fn change(&self) -> Change {
        Change::Implicit
    }

    fn optimize(&self, group: u16) -> Result<(), Sense> {
        self.optimized.lock().unwrap().push(group);
        Ok(())
    }
}

fn shared() -> (Bench, Arc<Nodes>) {
    let nodes = Arc::new(Nodes::default());
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_port_groups(nodes.clone());
    (Bench::serving(unit), nodes)
}

#[test]
fn the_groups_of_all_nodes_are_told() {
    let (bench, _) = shared();
    let data = bench.good(&[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    #[rustfmt::skip]
    assert_eq!(data[..], [
        0, 0, 0, 36,
        0x81, 0x8f, 0, 1, 0, 2, 0, 2,  0, 0, 0, 1,  0, 0, 0, 2,
        0x00, 0x8f, 0, 5, 0, 2, 0, 1,  0, 0, 0, 3,
        0x03, 0x8f, 1, 2, 0, 2, 0, 0,
    ]);
    let page = bench.good(&[0x12, 1, 0x83, 0, 255, 0], &[]);
    let group = [0x51, 0x95, 0, 4, 0, 0, 0, 1];
    assert!(page.windows(group.len()).any(|part| part == group), "the group of this node's port");
}

#[test]
fn another_group_is_optimized_on_demand() {
    let (bench, nodes) = shared();
    let asked = || std::mem::take(&mut *nodes.optimized.lock().unwrap());
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 0, 0, 0, 1])), None);
    assert_eq!(asked(), [1]);
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 0, 1])), None, "both at once");
    assert_eq!(asked(), [1]);
    assert_eq!(sense_of(&set(&bench, &[0, 0, 0, 0, 1, 0, 0, 1])), None, "it is so already");
    for (list, byte) in [
        // The owner's gives it up to nobody.
        (&[0, 0, 0, 0, 1, 0, 0, 5][..], 4),
        // Unknown, named twice, two of them optimized, unavailable.
        (&[0, 0, 0, 0, 0, 0, 0, 2], 6),
        (&[0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1], 10),
        (&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5], 8),
        (&[0, 0, 0, 0, 3, 0, 0, 1], 4),
    ] {
        let response = set(&bench, list);
        assert_eq!(sense_of(&response).unwrap().1, asc::INVALID_FIELD_IN_PARAMETER_LIST, "{list:?}");
        assert_eq!(response.sense[15..18], [0x80, 0, byte], "{list:?}");
        assert!(asked().is_empty(), "{list:?}");
    }
}
