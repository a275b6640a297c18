use super::*;
use crate::scsi::command::DeviceServer;
use crate::scsi::sense::{Asc, SenseKey};
use crate::testing::{Bench, nexus, sense_of};

fn report(bench: &Bench, nexus: &Arc<Nexus>, which: u8) -> Vec<u8> {
    let response = bench.run_as(nexus, &[0xa3, 0x0e, which << 6, 0, 0, 0, 0, 0, 1, 0, 0, 0], &[]);
    assert_eq!(sense_of(&response), None);
    response.data_in.to_bytes().to_vec()
}

fn set(bench: &Bench, which: u8, list: &[u8]) -> crate::scsi::command::Response {
    bench.run(&[0xa4, 0x0e, which << 6, 0, 0, 0, 0, 0, 0, list.len() as u8, 0, 0], list)
}

fn id(nexus: &Nexus) -> Vec<u8> {
    transport_id::encode(&InitiatorPort::new(&nexus.initiator_name, nexus.isid))
}

/// A list that names a nexus.
fn list(priority: u8, nexus: &Nexus) -> Vec<u8> {
    let id = id(nexus);
    [&[priority, 0, 0, nexus.relative_port as u8, 0, 0, 0, id.len() as u8], &id[..]].concat()
}

fn told(bench: &Bench, nexus: &Arc<Nexus>) -> Option<(SenseKey, Asc)> {
    sense_of(&bench.run_as(nexus, &[0; 6], &[]))
}

const CHANGED: Option<(SenseKey, Asc)> = Some((SenseKey::UnitAttention, asc::PRIORITY_CHANGED));

#[test]
fn own_priority() {
    let bench = Bench::new();
    let id = id(&bench.nexus);
    let descriptor = |priority| [&[priority, 0, 0, 1, 0, 0, 0, id.len() as u8], &id[..]].concat();
    let one = |priority| [&[0, 0, 0, 8 + id.len() as u8][..], &descriptor(priority)].concat();
    assert_eq!(report(&bench, &bench.nexus, 0), one(0));
    assert_eq!(report(&bench, &bench.nexus, 1), [0; 4], "nobody has one of its own");
    assert_eq!(sense_of(&set(&bench, 0, &[9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])), None);
    assert_eq!(report(&bench, &bench.nexus, 0), one(9));
    assert_eq!(report(&bench, &bench.nexus, 1), one(9));
    assert_eq!(told(&bench, &bench.nexus), None);
    assert_eq!(sense_of(&set(&bench, 0, &[0; 8])), None);
    assert_eq!(report(&bench, &bench.nexus, 1), [0; 4]);
}

#[test]
fn who_has_none_has_the_initial_one() {
    let bench = Bench::new();
    let page = [&[0, 0, 0, 0, 0x4a, 1, 0, 28, 7, 5][..], &[0; 26]].concat();
    bench.good(&[0x15, 0x10, 0, 0, page.len() as u8, 0], &page);
    assert_eq!(report(&bench, &bench.nexus, 0)[4], 5);
}

#[test]
fn of_another_nexus_and_of_all() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(sense_of(&set(&bench, 1, &list(3, &other))), None);
    assert_eq!(told(&bench, &other), CHANGED);
    assert_eq!(report(&bench, &other, 0)[4], 3);
    assert_eq!(report(&bench, &bench.nexus, 0)[4], 0);
    assert_eq!(sense_of(&set(&bench, 1, &list(4, &bench.nexus))), None);
    assert_eq!(told(&bench, &bench.nexus), None);
    let all = report(&bench, &bench.nexus, 1);
    let own = 8 + id(&bench.nexus).len();
    assert_eq!((all[4], all[4 + own]), (4, 3), "in the order in which they came");
    assert_eq!(all.len(), 4 + own + 8 + id(&other).len());

    assert_eq!(sense_of(&set(&bench, 2, &[15; 8])), None);
    assert_eq!(told(&bench, &other), CHANGED);
    assert_eq!(told(&bench, &bench.nexus), None);
    assert_eq!(report(&bench, &bench.nexus, 1), [0; 4]);

    assert_eq!(sense_of(&set(&bench, 1, &list(3, &other))), None);
    bench.target.nexus_lost(&other);
    assert_eq!(report(&bench, &bench.nexus, 1), [0; 4], "who left has none");
}

#[test]
fn what_is_refused() {
    let bench = Bench::new();
    let fault = |which, list: &[u8]| {
        let response = set(&bench, which, list);
        (sense_of(&response).unwrap().1, response.sense[15..18].to_vec())
    };
    assert_eq!(fault(3, &[1; 8]), (asc::INVALID_FIELD_IN_CDB, vec![0xcf, 0, 2]));
    let good = list(3, &bench.nexus);
    for length in 1..good.len() {
        assert_eq!(fault(1, &good[..length]).0, asc::PARAMETER_LIST_LENGTH_ERROR, "{length}");
    }
    for length in 1..8 {
        assert_eq!(fault(0, &good[..length]).0, asc::PARAMETER_LIST_LENGTH_ERROR, "{length}");
    }
    for which in 0..3 {
        assert_eq!(sense_of(&set(&bench, which, &[])), None, "nothing is to be set");
    }
    let mut port = good.clone();
    port[3] = 2;
    assert_eq!(fault(1, &port), (asc::INVALID_FIELD_IN_PARAMETER_LIST, vec![0x80, 0, 2]));
    let parameter = (asc::INVALID_FIELD_IN_PARAMETER_LIST, vec![0x80, 0, 8]);
    assert_eq!(fault(1, &list(3, &nexus(2))), parameter, "not logged in");
    let mut name = good.clone();
    name[8] = 0x05;
    assert_eq!(fault(1, &name), parameter, "a name is no port");
    assert_eq!(report(&bench, &bench.nexus, 1), [0; 4]);
    let which = bench.run(&[0xa3, 0x0e, 0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0], &[]);
    assert_eq!(which.sense[15..18], [0xcf, 0, 2]);
}
