use super::*;
use crate::lun::memory::MemoryError;
use crate::lun::unit::LogicalUnit;
use crate::scsi::sense::Asc;
use crate::testing::{Bench, RamDevice, RamMemory, config, finish, nexus, sense_of};
use std::sync::Arc;

fn set(bench: &Bench, code: u8, information: &[u8]) -> Option<(SenseKey, Asc)> {
    let [high, low] = (information.len() as u16).to_be_bytes();
    sense_of(&bench.run(&[0xa4, 6, 0, 0, 0, 0, 0, 0, high, low, code << 1, 0], information))
}

fn report(bench: &Bench, code: u8) -> Vec<u8> {
    bench.good(&[0xa3, 5, 0, 0, 0, 0, 0, 0, 4, 0, code << 1, 0], &[]).to_vec()
}

fn invalid(code: Asc) -> Option<(SenseKey, Asc)> {
    Some((SenseKey::IllegalRequest, code))
}

#[test]
fn types_that_there_are() {
    let bench = Bench::new();
    assert_eq!(report(&bench, 0x7f), [0, 0, 0, 8, 0, 0, 2, 0, 4, 0, 1, 0]);
    assert_eq!(report(&bench, 0), [0; 4]);
    assert_eq!(report(&bench, 2), [0; 4]);
    let unknown = bench.run(&[0xa3, 5, 0, 0, 0, 0, 0, 0, 4, 0, 2, 0], &[]);
    assert_eq!(sense_of(&unknown), invalid(asc::INVALID_FIELD_IN_CDB));
    assert_eq!(unknown.sense[15..18], [0xcf, 0, 10]);
}

#[test]
fn what_is_set_is_reported_and_outlives_a_restart() {
    let memory = Arc::new(RamMemory::default());
    let start = || {
        let unit =
            Arc::new(LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_memory(memory.clone()));
        finish(unit.recall()).unwrap();
        let bench = Bench::serving(LogicalUnit::new(config(512), RamDevice::new(1 << 20)));
        bench.target.add_unit(0, unit.clone());
        bench.fails(&[0; 6], &[], SenseKey::UnitAttention, Asc(0x29, 0));
        Bench { unit, ..bench }
    };
    let bench = start();
    assert_eq!(set(&bench, 0, &[7; 512]), None);
    assert_eq!(set(&bench, 2, b"backup of J\xc3\xbcrgen\0"), None);
    for bench in [&bench, &start()] {
        assert_eq!(report(bench, 0), [&[0, 0, 2, 0][..], &[7; 512]].concat());
        assert_eq!(report(bench, 2), [&[0, 0, 0, 18][..], b"backup of J\xc3\xbcrgen\0"].concat());
    }
    assert_eq!(bench.good(&[0xa3, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0], &[])[..], [0, 0, 2, 0, 7, 7]);
    assert_eq!(set(&bench, 0, &[]), None);
    assert_eq!((report(&bench, 0).len(), report(&bench, 2).len()), (4, 22));
    assert_eq!(report(&start(), 0), [0; 4]);
}

#[test]
fn others_learn_of_a_change_and_of_nothing_else() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let told = || sense_of(&bench.run_as(&other, &[0; 6], &[]));
    assert_eq!(set(&bench, 0, b"abc"), None);
    assert_eq!(told(), Some((SenseKey::UnitAttention, asc::DEVICE_IDENTIFIER_CHANGED)));
    assert_eq!(set(&bench, 0, b"abc"), None);
    assert_eq!(told(), None);
    assert_eq!(sense_of(&bench.run(&[0; 6], &[])), None);
}

#[test]
fn what_is_refused_changes_nothing() {
    let bench = Bench::new();
    let pointer = |cdb: [u8; 12], data: &[u8]| bench.run(&cdb, data).sense[15..18].to_vec();
    assert_eq!(set(&bench, 0, &[1; 513]), invalid(asc::INVALID_FIELD_IN_CDB));
    assert_eq!(pointer([0xa4, 6, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0], &[1; 513]), [0xcf, 0, 6]);
    assert_eq!(set(&bench, 2, &[b'a'; 257]), invalid(asc::INVALID_FIELD_IN_CDB));
    assert_eq!(set(&bench, 1, b"a"), invalid(asc::INVALID_FIELD_IN_CDB));
    assert_eq!(set(&bench, 0x7f, b"a"), invalid(asc::INVALID_FIELD_IN_CDB));
    for (text, at) in [(&b"abc"[..], 2), (b"a\0b\0", 1), (b"ab\xff\0", 2)] {
        let cdb = [0xa4, 6, 0, 0, 0, 0, 0, 0, 0, text.len() as u8, 4, 0];
        assert_eq!(set(&bench, 2, text), invalid(asc::INVALID_FIELD_IN_PARAMETER_LIST));
        assert_eq!(pointer(cdb, text), [0x80, 0, at]);
    }
    let short = bench.run(&[0xa4, 6, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0], b"12345678");
    assert_eq!(sense_of(&short), invalid(asc::PARAMETER_LIST_LENGTH_ERROR));
    assert_eq!((report(&bench, 0), report(&bench, 2)), (vec![0; 4], vec![0; 4]));
}

#[test]
fn what_cannot_be_kept_is_not_taken_over() {
    let memory = Arc::new(RamMemory::default());
    let bench = Bench::remembering(config(512), RamDevice::new(1 << 20), memory.clone());
    *memory.error.lock().unwrap() = Some(MemoryError::Store("no space".into()));
    assert_eq!(set(&bench, 0, b"abc"), Some((SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE)));
    assert_eq!(report(&bench, 0), [0; 4]);
    // Nor is it found by the next start.
    *memory.error.lock().unwrap() = None;
    *memory.slips.lock().unwrap() = 1;
    assert_eq!(set(&bench, 0, b"abc"), Some((SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE)));
    assert!(memory.document(Document::IdentifyingInformation).is_empty());
}
