use super::*;
use crate::device::DeviceError;
use crate::lun::memory::{Document, MemoryError};
use crate::lun::unit::LogicalUnit;
use crate::scsi::command::{DeviceServer, Outcome};
use crate::scsi::sense::{SenseKey, SenseSpecific, Status};
use crate::testing::{Bench, Crew, RamDevice, RamMemory, config, finish, nexus, poll, sense_of};
use std::sync::Arc;

const SIZE: usize = 1 << 20;
const IMMED: u8 = 0x80;
const UNRESTRICTED: u8 = 0x20;
const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const EXIT: [u8; 10] = [0x48, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0];

fn overwrite_cdb(flags: u8, length: u16) -> [u8; 10] {
    let [high, low] = length.to_be_bytes();
    [0x48, flags | 0x01, 0, 0, 0, 0, 0, high, low, 0]
}

fn list(first: u8, pattern: &[u8]) -> Vec<u8> {
    [&[first, 0], &(pattern.len() as u16).to_be_bytes()[..], pattern].concat()
}

fn erase(flags: u8) -> [u8; 10] {
    [0x48, flags | 0x02, 0, 0, 0, 0, 0, 0, 0, 0]
}

fn bench() -> (Bench, Arc<Crew>) {
    let device = RamDevice::new(SIZE);
    device.data.lock().unwrap().fill(0x77);
    Bench::with_crew(config(512), device)
}

fn refused(bench: &Bench, cdb: &[u8]) -> (SenseKey, u8, u8) {
    let sense = bench.run(cdb, &[]).sense_value.unwrap();
    (sense.key, sense.asc.0, sense.asc.1)
}

#[test]
fn overwrite_repeats_the_pattern_in_every_block() {
    let bench = Bench::new();
    bench.good(&overwrite_cdb(0, 7), &list(1, b"abc"));
    let block: Vec<u8> = b"abc".iter().copied().cycle().take(512).collect();
    assert!(bench.device().data.lock().unwrap().chunks(512).all(|own| own == block));
}

#[test]
fn passes_and_inversion() {
    let plain = fill(&[0x0f], 512);
    let inverted = fill(&[0xf0], 512);
    let passes = |first| overwrite(&list(first, &[0x0f]), 512).unwrap();
    assert_eq!(passes(0x03), vec![Pass::Write(plain.clone()); 3]);
    let write = |inverse: bool| Pass::Write(if inverse { inverted.clone() } else { plain.clone() });
    assert_eq!(passes(0x84), [true, false, true, false].map(write));
    assert_eq!(passes(0x83), [false, true, false].map(write));
    assert_eq!(passes(0x1f).len(), 31);
}

#[test]
fn block_erase_gives_everything_back() {
    let (bench, crew) = bench();
    bench.good(&erase(IMMED), &[]);
    crew.finish();
    assert_eq!(bench.good(&READ, &[]), [0; 512][..]);
    let status = bench.good(&[0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], &[]);
    assert_eq!(status[16..], [0, 0, 0x08, 0, 1, 0, 0, 0], "one run, deallocated");
}

#[test]
fn only_a_device_that_can_give_back_has_block_erase() {
    let mut device = RamDevice::new(SIZE);
    device.capabilities.discard = None;
    let bench = Bench::with(config(512), device);
    assert_eq!(refused(&bench, &erase(0)), (SenseKey::IllegalRequest, 0x24, 0));
    let page = |bench: &Bench| bench.good(&[0x12, 1, 0xb1, 0, 64, 0], &[])[7];
    assert_eq!((page(&bench), page(&Bench::new())), (0, 0x40), "WABEREQ");
}

#[test]
fn lengths_and_fields() {
    let bench = Bench::new();
    let before = bench.device().data.lock().unwrap().clone();
    for length in [0, 1, 4, 517] {
        let response = bench.run(&overwrite_cdb(0, length), &[0; 600]);
        let pointer = Some(SenseSpecific::Field { in_cdb: true, byte: 7, bit: Some(7) });
        assert_eq!(response.sense_value.unwrap().specific, pointer, "{length}");
    }
    for (first, pattern, byte) in [(0, 8, 0), (0x21, 8, 0), (1, 0, 2), (1, 513, 2)] {
        let mut list = list(first, &[1; 8]);
        list[2..4].copy_from_slice(&u16::to_be_bytes(pattern));
        let response = bench.run(&overwrite_cdb(0, list.len() as u16), &list);
        let pointer = Some(SenseSpecific::Field { in_cdb: false, byte, bit: None });
        assert_eq!(response.sense_value.unwrap().specific, pointer, "{first:02x} {pattern}");
    }
    let short = bench.run(&overwrite_cdb(0, 8), &list(1, &[1; 3]));
    assert_eq!(sense_of(&short), Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR)));
    let cut = bench.run(&overwrite_cdb(0, 7), &[&[1, 0, 0, 4][..], &[1; 3]].concat());
    assert_eq!(sense_of(&cut), Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR)));
    for cdb in [[0x48, 0x02, 0, 0, 0, 0, 0, 0, 8, 0], [0x48, 0x1f, 0, 0, 0, 0, 0, 0, 8, 0]] {
        assert_eq!(sense_of(&bench.run(&cdb, &[0; 8])).unwrap().1, asc::INVALID_FIELD_IN_CDB);
    }
    // CRYPTOGRAPHIC ERASE, and ZNR.
    for byte in [0x03, 0x42] {
        assert_eq!(
            refused(&bench, &[0x48, byte, 0, 0, 0, 0, 0, 0, 0, 0]),
            (SenseKey::IllegalRequest, 0x24, 0)
        );
    }
    assert_eq!(*bench.device().data.lock().unwrap(), before);
}

#[test]
fn while_it_lasts_others_are_told_how_far_it_is() {
    let device = RamDevice::new(192 << 20);
    let (bench, crew) = Bench::with_crew(config(512), device);
    bench.good(&erase(IMMED), &[]);
    let progress = |bench: &Bench| bench.run(&[0; 6], &[]).sense_value.unwrap().specific;
    assert_eq!(progress(&bench), Some(SenseSpecific::Progress(0)));
    for _ in 0..2 {
        crew.step();
    }
    assert!(matches!(progress(&bench), Some(SenseSpecific::Progress(1..))));
    for cdb in
        [&READ[..], &erase(0), &EXIT, &[0x04, 0, 0, 0, 0, 0], &[0x1b, 1, 0, 0, 2, 0], &[0x1a, 0, 8, 0, 64, 0]]
    {
        assert_eq!(refused(&bench, cdb), (SenseKey::NotReady, 0x04, 0x1b), "{cdb:02x?}");
    }
    bench.good(&[0x12, 0, 0, 0, 64, 0], &[]);
    bench.good(&[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    let sense = bench.good(&[0x03, 0, 0, 0, 18, 0], &[]);
    assert_eq!((sense[2], sense[12], sense[13], sense[15] & 0x80), (2, 0x04, 0x1b, 0x80));
    // No reset and no loss of a nexus ends it.
    bench.target.nexus_lost(&bench.nexus);
    let other = nexus(9);
    bench.target.nexus_established(&other);
    bench.run_as(&other, &[0; 6], &[]);
    let told = bench.run_as(&other, &[0; 6], &[]).sense_value.unwrap();
    assert_eq!(told.asc, asc::NOT_READY_SANITIZE_IN_PROGRESS);
    crew.finish();
    assert_eq!(bench.run_as(&other, &[0; 6], &[]).status, Status::Good);
}

#[test]
fn without_immed_the_answer_comes_with_the_end_and_others_need_not_wait() {
    let (bench, crew) = bench();
    let cdb = erase(0);
    let mut command = Box::pin(bench.target.execute(&bench.nexus, Bench::command(&cdb, &[])));
    assert!(poll(command.as_mut()).is_pending());
    assert_eq!(refused(&bench, &READ), (SenseKey::NotReady, 0x04, 0x1b));
    crew.finish();
    let Outcome::Done(response) = finish(command) else { panic!("aborted") };
    assert_eq!(response.status, Status::Good);
}

#[test]
fn an_aborted_command_leaves_the_work_to_itself() {
    let (bench, crew) = bench();
    let cdb = erase(0);
    let mut command = Box::pin(bench.target.execute(&bench.nexus, Bench::command(&cdb, &[])));
    assert!(poll(command.as_mut()).is_pending());
    bench.unit.tasks().abort(|_, _| Some(crate::lun::task_set::Abort::Silent));
    assert!(matches!(finish(command), Outcome::Aborted));
    assert_eq!(refused(&bench, &[0; 6]), (SenseKey::NotReady, 0x04, 0x1b));
    crew.finish();
    assert_eq!(bench.good(&READ, &[]), [0; 512][..]);
}

#[test]
fn a_failure_keeps_the_medium_away_until_it_is_mended() {
    let (bench, crew) = bench();
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.good(&erase(IMMED | UNRESTRICTED), &[]);
    crew.finish();
    *bench.device().error.lock().unwrap() = None;
    let failed = (SenseKey::MediumError, 0x31, 0x03);
    assert_eq!(refused(&bench, &READ), failed);
    assert_eq!(refused(&bench, &[0x04, 0, 0, 0, 0, 0]), failed);
    bench.good(&EXIT, &[]);
    bench.good(&READ, &[]);
    // The restricted mode is ended by success only.
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.good(&erase(IMMED), &[]);
    crew.finish();
    *bench.device().error.lock().unwrap() = None;
    assert_eq!(refused(&bench, &EXIT), (SenseKey::IllegalRequest, 0x24, 0));
    assert_eq!(refused(&bench, &erase(UNRESTRICTED)), (SenseKey::IllegalRequest, 0x24, 0));
    bench.good(&erase(IMMED), &[]);
    crew.finish();
    assert_eq!(bench.good(&READ, &[]), [0; 512][..]);
    bench.good(&EXIT, &[]);
}

#[test]
fn without_a_crew_the_command_does_it_and_tells_how_it_ended() {
    let bench = Bench::new();
    *bench.device().error.lock().unwrap() = Some(DeviceError::NoSpace);
    assert_eq!(refused(&bench, &erase(0)), (SenseKey::MediumError, 0x31, 0x03));
    *bench.device().error.lock().unwrap() = None;
    bench.good(&erase(IMMED), &[]);
    bench.good(&READ, &[]);
}

#[test]
fn a_restart_takes_it_up_again() {
    let memory = Arc::new(RamMemory::default());
    let start = || {
        let crew = Arc::new(Crew::default());
        let device = RamDevice::new(SIZE);
        device.data.lock().unwrap().fill(0x77);
        let unit =
            LogicalUnit::new(config(512), device).with_spawner(crew.clone()).with_memory(memory.clone());
        let unit = Arc::new(unit);
        finish(unit.recall()).unwrap();
        (Bench::around(unit), crew)
    };
    let (bench, crew) = start();
    bench.good(&overwrite_cdb(IMMED, 5), &list(1, &[0xaa]));
    crew.dismiss();
    assert_eq!(refused(&bench, &READ), (SenseKey::MediumError, 0x31, 0x03));

    let (bench, crew) = start();
    assert_eq!(refused(&bench, &READ), (SenseKey::NotReady, 0x04, 0x1b));
    crew.finish();
    assert_eq!(bench.good(&READ, &[]), [0xaa; 512][..]);
    assert!(memory.document(Document::MediumCondition).is_empty());

    // A failure is remembered as such.
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.good(&erase(IMMED), &[]);
    crew.finish();
    let (bench, _) = start();
    assert_eq!(refused(&bench, &READ), (SenseKey::MediumError, 0x31, 0x03));
    assert_eq!(refused(&bench, &EXIT), (SenseKey::IllegalRequest, 0x24, 0));

    // What cannot be understood is no reason to tell what is on the medium.
    memory.documents.lock().unwrap().insert(Document::MediumCondition, Bytes::from_static(&[9, 9]));
    let (bench, _) = start();
    assert_eq!(refused(&bench, &READ), (SenseKey::MediumError, 0x31, 0x03));
    // Nor is a memory that cannot be read: such a unit is not served.
    *memory.error.lock().unwrap() = Some(MemoryError::Store("told to fail".into()));
    let unit = Arc::new(LogicalUnit::new(config(512), RamDevice::new(SIZE)).with_memory(memory));
    assert!(finish(unit.recall()).is_err());
}

#[test]
fn closing_stops_the_work_and_the_next_start_takes_it_up() {
    let memory = Arc::new(RamMemory::default());
    let start = || {
        let crew = Arc::new(Crew::default());
        let unit = LogicalUnit::new(config(512), RamDevice::new(SIZE)).with_spawner(crew.clone());
        let unit = Arc::new(unit.with_memory(memory.clone()));
        finish(unit.recall()).unwrap();
        (Bench::around(unit), crew)
    };
    let (bench, crew) = start();
    bench.good(&overwrite_cdb(IMMED, 5), &list(31, &[0xaa]));
    crew.step();
    let mut settled = Box::pin(bench.unit.settled());
    assert!(poll(settled.as_mut()).is_pending());
    crew.finish();
    finish(settled);
    assert!(!memory.document(Document::MediumCondition).is_empty());
    let written = bench.device().calls.lock().unwrap().len();
    assert!(written < 31, "{written} calls: it was not stopped");

    let (bench, crew) = start();
    assert_eq!(refused(&bench, &READ), (SenseKey::NotReady, 0x04, 0x1b));
    crew.finish();
    assert_eq!(bench.good(&READ, &[]), [0xaa; 512][..]);
}

/// Where nothing can run in the background, the work within the command stops like any other.
#[test]
fn closing_stops_the_work_within_a_command_too() {
    for closed_before in [false, true] {
        let memory = Arc::new(RamMemory::default());
        let crew = Arc::new(Crew::default());
        let unit = LogicalUnit::new(config(512), RamDevice::new(SIZE)).with_spawner(crew.clone());
        let bench = Bench::serving(unit.with_memory(memory.clone()));
        let background = bench.unit.background();
        match closed_before {
            true => background.close(),
            false => while background.start(|_| std::future::pending()).is_some() {},
        }
        let mut settled = Box::pin(bench.unit.settled());
        let (cdb, list) = (overwrite_cdb(0, 5), list(31, &[0xaa]));
        let mut command = Box::pin(bench.target.execute(&bench.nexus, Bench::command(&cdb, &list)));
        assert!(poll(command.as_mut()).is_pending());
        crew.dismiss();
        assert!(poll(settled.as_mut()).is_pending(), "it is waited for");
        assert!(
            matches!(finish(command), Outcome::Done(response) if response.status == Status::CheckCondition)
        );
        finish(settled);
        let written = bench.device().calls.lock().unwrap().len();
        assert!(written < 31, "{written} calls: it was not stopped");
        assert!(!memory.document(Document::MediumCondition).is_empty(), "the next start takes it up");
    }
}

/// A unit with this memory, which it has recalled.
fn remembering(memory: &Arc<RamMemory>) -> Bench {
    let unit = Arc::new(LogicalUnit::new(config(512), RamDevice::new(SIZE)).with_memory(memory.clone()));
    finish(unit.recall()).unwrap();
    Bench::around(unit)
}

#[test]
fn nothing_begins_that_cannot_be_remembered() {
    let memory = Arc::new(RamMemory::default());
    let bench = remembering(&memory);
    *memory.error.lock().unwrap() = Some(MemoryError::Store("told to fail".into()));
    assert_eq!(refused(&bench, &erase(IMMED)), (SenseKey::HardwareError, 0x44, 0));
    assert!(bench.device().calls.lock().unwrap().is_empty());
    bench.good(&READ, &[]);
}

#[test]
fn the_next_start_begins_nothing_that_was_refused() {
    for slips in [1, 2] {
        let memory = Arc::new(RamMemory::default());
        let bench = remembering(&memory);
        *memory.slips.lock().unwrap() = slips;
        assert_eq!(refused(&bench, &erase(IMMED)), (SenseKey::HardwareError, 0x44, 0));
        bench.good(&READ, &[]);
        assert!(memory.document(Document::MediumCondition).is_empty(), "{slips}");
        remembering(&memory).good(&READ, &[]);
        // A failure from before stays one.
        *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
        refused(&bench, &erase(0));
        *bench.device().error.lock().unwrap() = None;
        *memory.slips.lock().unwrap() = slips;
        assert_eq!(refused(&bench, &erase(0)), (SenseKey::HardwareError, 0x44, 0));
        assert_eq!(refused(&bench, &READ), (SenseKey::MediumError, 0x31, 0x03));
        assert_eq!(refused(&remembering(&memory), &READ), (SenseKey::MediumError, 0x31, 0x03), "{slips}");
    }
}

#[test]
fn a_medium_that_the_next_start_may_erase_is_not_used_until_then() {
    let memory = Arc::new(RamMemory::default());
    let bench = remembering(&memory);
    memory.hold(true);
    let mut command = Box::pin(bench.target.execute(&bench.nexus, Bench::command(&erase(0), &[])));
    assert!(poll(command.as_mut()).is_pending());
    // Given up, while nobody knows whether it will be found remembered.
    drop(command);
    memory.hold(false);
    assert_eq!(refused(&bench, &READ), (SenseKey::MediumError, 0x31, 0x03));
    bench.good(&erase(0), &[]);
    bench.good(&READ, &[]);
}

#[test]
fn read_only_and_reserved_units_are_left_alone() {
    let mut own = config(512);
    own.read_only = true;
    let bench = Bench::with(own, RamDevice::new(SIZE));
    assert_eq!(refused(&bench, &erase(0)), (SenseKey::DataProtect, 0x27, 0));
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    bench.run_as(&other, &[0x16, 0, 0, 0, 0, 0], &[]);
    assert_eq!(bench.run(&erase(0), &[]).status, Status::ReservationConflict);
}
