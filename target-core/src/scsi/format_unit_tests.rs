use crate::device::DeviceError;
use crate::lun::unit::LogicalUnit;
use crate::scsi::asc;
use crate::scsi::sense::{SenseKey, SenseSpecific};
use crate::testing::{Bench, Crew, RamDevice, RamMemory, config, finish, sense_of};
use std::sync::Arc;

const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const FMTDATA: u8 = 0x10;
const LONGLIST: u8 = 0x20;

fn format(flags: u8, fast: u8) -> [u8; 6] {
    [0x04, flags, 0, 0, fast, 0]
}

fn filled() -> Bench {
    let device = RamDevice::new(1 << 20);
    device.data.lock().unwrap().fill(0x77);
    Bench::with(config(512), device)
}

#[test]
fn without_parameters_all_is_zero_afterwards() {
    for fast in [0, 1] {
        let bench = filled();
        bench.good(&format(0, fast), &[]);
        assert!(bench.device().data.lock().unwrap().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn short_and_long_headers_with_a_pattern() {
    let bench = filled();
    bench.good(&format(FMTDATA, 0), &[0, 0x88, 0, 0, 0, 1, 0, 2, b'x', b'y']);
    assert_eq!(bench.good(&READ, &[]), [b'x', b'y'].repeat(256));
    bench.good(&format(FMTDATA | LONGLIST, 0), &[0, 0x88, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, b'z']);
    assert_eq!(bench.good(&READ, &[]), vec![b'z'; 512]);
    bench.good(&format(FMTDATA, 1), &[0, 0x80, 0, 0]);
    assert_eq!(bench.good(&READ, &[]), vec![0; 512]);
}

#[test]
fn the_residual_tells_how_much_was_taken() {
    let bench = filled();
    let response = bench.run(&format(FMTDATA, 0), &[0, 0x88, 0, 0, 0, 1, 0, 2, 1, 2, 9, 9]);
    assert_eq!(response.data_out_wanted, 10);
    for sent in [&[][..], &[0, 0x80], &[0, 0x88, 0, 0, 0, 1, 0, 2, 1]] {
        let response = bench.run(&format(FMTDATA, 0), sent);
        assert_eq!(sense_of(&response), Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR)));
        assert!(response.data_out_wanted as usize > sent.len());
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let bench = filled();
    let before = bench.device().data.lock().unwrap().clone();
    // Protection information, a complete list or a format without a list, formats that are not for FORMAT UNIT, an unknown FFMT.
    for (cdb, byte, bit) in [
        (format(0x80 | FMTDATA, 0), 1, 7),
        (format(0x08, 0), 1, 3),
        (format(0x03, 0), 1, 2),
        (format(FMTDATA | 0x06, 0), 1, 2),
        (format(0, 2), 4, 1),
    ] {
        let sense = bench.run(&cdb, &[0; 8]).sense_value.unwrap();
        let pointer = SenseSpecific::Field { in_cdb: true, byte, bit: Some(bit) };
        assert_eq!((sense.asc, sense.specific), (asc::INVALID_FIELD_IN_CDB, Some(pointer)), "{cdb:02x?}");
    }
    for (flags, fast, list, byte) in [
        (FMTDATA, 0, &[1, 0x80, 0, 0][..], 0),
        (FMTDATA, 0, &[0, 0x40, 0, 0], 1),
        (FMTDATA, 0, &[0, 0x81, 0, 0], 1),
        (FMTDATA, 0, &[0, 0x80, 0, 4, 0, 0, 0, 1], 2),
        (FMTDATA | LONGLIST, 0, &[0, 0x80, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1], 4),
        (FMTDATA | LONGLIST, 0, &[0, 0x80, 0, 0x10, 0, 0, 0, 0], 3),
        (FMTDATA, 1, &[0, 0x88, 0, 0, 0, 1, 0, 1, 1], 1),
        (FMTDATA, 0, &[0, 0x88, 0, 0, 0x20, 1, 0, 1, 1], 4),
        (FMTDATA, 0, &[0, 0x88, 0, 0, 0, 2, 0, 1, 1], 5),
        (FMTDATA, 0, &[0, 0x88, 0, 0, 0, 1, 0, 0], 6),
        (FMTDATA, 0, &[0, 0x88, 0, 0, 0, 0, 0, 1, 1], 6),
    ] {
        let sense = bench.run(&format(flags, fast), list).sense_value.unwrap();
        let pointer = SenseSpecific::Field { in_cdb: false, byte, bit: None };
        assert_eq!(
            (sense.asc, sense.specific),
            (asc::INVALID_FIELD_IN_PARAMETER_LIST, Some(pointer)),
            "{list:02x?}"
        );
    }
    assert_eq!(*bench.device().data.lock().unwrap(), before);
}

#[test]
fn with_immed_the_unit_is_not_ready_meanwhile() {
    let (bench, crew) = Bench::with_crew(config(512), RamDevice::new(1 << 20));
    bench.good(&format(FMTDATA, 0), &[0, 0x82, 0, 0]);
    let response = bench.run(&READ, &[]);
    assert_eq!(sense_of(&response), Some((SenseKey::NotReady, asc::NOT_READY_FORMAT_IN_PROGRESS)));
    assert_eq!(response.sense_value.unwrap().specific, Some(SenseSpecific::Progress(0)));
    crew.finish();
    bench.good(&READ, &[]);
}

#[test]
fn a_failure_leaves_the_medium_corrupt_until_it_is_formatted() {
    let bench = filled();
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.fails(&format(0, 0), &[], SenseKey::MediumError, asc::FORMAT_COMMAND_FAILED);
    *bench.device().error.lock().unwrap() = None;
    bench.fails(&READ, &[], SenseKey::MediumError, asc::MEDIUM_FORMAT_CORRUPTED);
    bench.good(&[0x1a, 0, 8, 0, 64, 0], &[]);
    bench.good(&format(0, 0), &[]);
    bench.good(&READ, &[]);
}

#[test]
fn after_a_restart_in_its_midst_the_medium_has_to_be_formatted_again() {
    let memory = Arc::new(RamMemory::default());
    let start = || {
        let crew = Arc::new(Crew::default());
        let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 20)).with_spawner(crew.clone());
        let unit = Arc::new(unit.with_memory(memory.clone()));
        finish(unit.recall()).unwrap();
        (Bench::around(unit), crew)
    };
    let (bench, _crew) = start();
    bench.good(&format(FMTDATA, 0), &[0, 0x82, 0, 0]);
    let (bench, crew) = start();
    bench.fails(&READ, &[], SenseKey::MediumError, asc::MEDIUM_FORMAT_CORRUPTED);
    bench.good(&format(FMTDATA, 0), &[0, 0x82, 0, 0]);
    crew.finish();
    bench.good(&READ, &[]);
    start().0.good(&READ, &[]);
}
