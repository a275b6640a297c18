//! What PERSISTENT RESERVE OUT leaves behind for the next start.

use super::asc;
use super::persistent_tests::{EXCLUSIVE, out, run};
use super::sense::{Asc, SenseKey, Status};
use crate::lun::memory::{Document, MemoryError};
use crate::lun::unit::LogicalUnit;
use crate::testing::{Bench, RamDevice, RamMemory, config, finish};
use std::sync::Arc;

pub(super) fn with_memory() -> (Bench, Arc<RamMemory>) {
    let mut bench = Bench::new();
    let memory = Arc::new(RamMemory::default());
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_memory(memory.clone());
    bench.unit = Arc::new(unit);
    bench.target.add_unit(0, bench.unit.clone());
    bench.fails(&[0; 6], &[], SenseKey::UnitAttention, Asc(0x29, 0));
    (bench, memory)
}

#[test]
fn what_was_refused_is_not_what_the_next_start_finds() {
    let (bench, memory) = with_memory();
    const APTPL: u8 = 1;
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, APTPL)), Status::Good);
    let before = memory.document(Document::Reservations);
    *memory.slips.lock().unwrap() = 1;
    let (cdb, list) = out(3, 0, 1, 0, 0);
    bench.fails(&cdb, &list, SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE);
    assert_eq!(memory.document(Document::Reservations), before);
    assert_eq!(run(&bench, &bench.nexus, out(1, EXCLUSIVE, 1, 0, 0)), Status::Good);
}

#[test]
fn nothing_is_written_that_need_not_be() {
    let (bench, memory) = with_memory();
    *memory.error.lock().unwrap() = Some(MemoryError::Store("told to fail".into()));
    // Neither of these has to outlive the process.
    assert_eq!(run(&bench, &bench.nexus, out(0, 0, 0, 1, 0)), Status::Good);
    assert_eq!(run(&bench, &bench.nexus, out(1, 1, 1, 0, 0)), Status::Good);
    let (cdb, list) = out(0, 0, 1, 2, 1);
    bench.fails(&cdb, &list, SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE);
    assert_eq!(bench.unit.reservations().state().reservation_key(), 1, "the old key");
    *memory.error.lock().unwrap() = None;
    assert_eq!(run(&bench, &bench.nexus, (cdb, list)), Status::Good);
    let kept = memory.documents.lock().unwrap().get(&Document::Reservations).cloned().unwrap();
    assert!(String::from_utf8(kept.to_vec()).unwrap().contains("0x0000000000000002"));
}

#[test]
fn a_damaged_document_is_an_error() {
    let memory = RamMemory::default();
    memory.documents.lock().unwrap().insert(Document::Reservations, "{".into());
    let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_memory(Arc::new(memory));
    assert!(finish(Arc::new(unit).recall()).is_err());
}
