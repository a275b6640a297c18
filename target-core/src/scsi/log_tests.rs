//! LOG SENSE page by page, and LOG SELECT.

use crate::device::DeviceError;
use crate::scsi::asc;
use crate::scsi::command::Response;
use crate::scsi::sense::SenseKey;
use crate::testing::{Bench, RamDevice, config, nexus, sense_of};

fn sense(code: u8, subpage: u8, pointer: u8) -> [u8; 10] {
    [0x4d, 0, code, subpage, 0, 0, pointer, 0xff, 0xff, 0]
}

fn page(bench: &Bench, code: u8) -> Vec<u8> {
    bench.good(&sense(code, 0, 0), &[]).to_vec()
}

fn refused(response: &Response) -> [u8; 3] {
    assert_eq!(sense_of(response), Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB)));
    response.sense[15..18].try_into().unwrap()
}

/// The values of an error counter page by parameter code.
fn counters(bench: &Bench, code: u8) -> Vec<u64> {
    let page = page(bench, code);
    assert_eq!(page[..4], [0x80 | code & 0x3f, 0, 0, 84]);
    let parameters = page[4..].chunks_exact(12).enumerate();
    parameters
        .map(|(at, parameter)| {
            assert_eq!(parameter[..4], [0, at as u8, 0x20, 8]);
            u64::from_be_bytes(parameter[4..].try_into().unwrap())
        })
        .collect()
}

#[test]
fn supported_pages_and_subpages() {
    let bench = Bench::new();
    let pages = [0x00, 0x02, 0x03, 0x0c, 0x0d, 0x0e, 0x10, 0x2f];
    assert_eq!(page(&bench, 0), [&[0, 0, 0, 8][..], &pages].concat());
    for page_control in [0x40, 0x80, 0xc0] {
        assert_eq!(page(&bench, page_control)[4..], pages, "PC does not matter");
    }
    let with_subpages = bench.good(&sense(0, 0xff, 0), &[]);
    let pairs: Vec<u8> = pages.iter().flat_map(|code| [*code, 0, *code, 0xff]).collect();
    assert_eq!(with_subpages, [&[0x40, 0xff, 0, 32][..], &pairs].concat());
    assert_eq!(bench.good(&sense(0x0d, 0xff, 0), &[])[..], [0x4d, 0xff, 0, 4, 0x0d, 0, 0x0d, 0xff]);
    for code in pages {
        let data = page(&bench, 0x40 | code);
        assert_eq!((data[0] & 0x3f, data[1]), (code, 0));
        assert_eq!(usize::from(u16::from_be_bytes([data[2], data[3]])) + 4, data.len());
    }
}

#[test]
fn pages_byte_by_byte() {
    let bench = Bench::new();
    assert_eq!(page(&bench, 0x0d), [0x8d, 0, 0, 6, 0, 0, 0x23, 2, 0, 0xff]);
    assert_eq!(page(&bench, 0x0e), [0x8e, 0, 0, 8, 0, 4, 0x23, 4, 0, 0, 0, 0]);
    assert_eq!(page(&bench, 0x2f), [0xaf, 0, 0, 8, 0, 0, 0x23, 4, 0, 0, 0xff, 0]);
    let results = page(&bench, 0x10);
    assert_eq!(results[..4], [0x90, 0, 1, 0x90]);
    for (at, parameter) in results[4..].chunks_exact(20).enumerate() {
        assert_eq!(parameter[..4], [0, at as u8 + 1, 0x23, 16]);
        assert_eq!(parameter[4..], [0; 16]);
    }
}

#[test]
fn wrong_fields() {
    let bench = Bench::new();
    let ask = |cdb: [u8; 10]| refused(&bench.run(&cdb, &[]));
    assert_eq!(ask(sense(0x05, 0, 0)), [0xcd, 0, 2]);
    assert_eq!(ask(sense(0x0d, 1, 0)), [0xcf, 0, 3]);
    assert_eq!(ask(sense(0x02, 0, 0)), [0xcf, 0, 2], "threshold values");
    assert_eq!(ask(sense(0x82, 0, 0)), [0xcf, 0, 2], "default threshold values");
    assert_eq!(ask(sense(0x42, 0, 7)), [0xcf, 0, 5]);
    assert_eq!(ask(sense(0x00, 0, 1)), [0xcf, 0, 5]);
    let mut save = sense(0x0d, 0, 0);
    save[1] = 1;
    assert_eq!(ask(save), [0xc8, 0, 1]);
    save[1] = 2;
    assert_eq!(ask(save), [0xc9, 0, 1], "PPC");
}

#[test]
fn parameter_pointer() {
    let bench = Bench::new();
    let from = bench.good(&sense(0x42, 0, 5), &[]);
    assert_eq!(from[..8], [0x82, 0, 0, 24, 0, 5, 0x20, 8]);
    assert_eq!(bench.good(&sense(0x0e, 0, 2), &[])[4..8], [0, 4, 0x23, 4], "the next that there is");
}

#[test]
fn reads_and_writes_are_counted() {
    let bench = Bench::new();
    bench.good(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 2, 0], &[1; 1024]);
    bench.good(&[0x28, 0, 0, 0, 0, 0, 0, 0, 3, 0], &[]);
    bench.good(&[0x2f, 2, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.fails(&[0x28, 0, 0, 0, 0, 0, 0, 0, 3, 0], &[], SenseKey::MediumError, asc::UNRECOVERED_READ_ERROR);
    *bench.device().error.lock().unwrap() = Some(DeviceError::NoSpace);
    let full = asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT;
    bench.fails(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512], SenseKey::DataProtect, full);
    assert_eq!(counters(&bench, 0x42), [0, 0, 0, 0, 0, 1024, 0]);
    assert_eq!(counters(&bench, 0x43), [0, 0, 0, 0, 0, 2048, 1]);
    assert_eq!(counters(&bench, 0xc3), [0; 7], "the defaults");
}

#[test]
fn counters_are_reset_and_others_learn_of_it() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let write = || bench.good(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
    let read = || bench.good(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[]);
    write();
    read();
    let select = |flags, page, subpage| bench.good(&[0x4c, flags, page, subpage, 0, 0, 0, 0, 0, 0], &[]);
    select(0, 0x40, 0);
    select(0, 0, 0);
    select(2, 0x02, 0);
    assert_eq!((counters(&bench, 0x42)[5], counters(&bench, 0x43)[5]), (0, 512));
    assert_eq!(
        sense_of(&bench.run_as(&other, &[0; 6], &[])),
        Some((SenseKey::UnitAttention, asc::LOG_PARAMETERS_CHANGED))
    );
    write();
    select(2, 0, 0);
    assert_eq!((counters(&bench, 0x42)[5], counters(&bench, 0x43)[5]), (0, 0));
    write();
    select(0, 0xc0, 0xff);
    assert_eq!(counters(&bench, 0x42)[5], 0);
}

#[test]
fn log_select_refuses_all_else() {
    let bench = Bench::new();
    let ask = |cdb: [u8; 10], list: &[u8]| refused(&bench.run(&cdb, list));
    assert_eq!(ask([0x4c, 1, 0, 0, 0, 0, 0, 0, 0, 0], &[]), [0xc8, 0, 1], "SP");
    assert_eq!(ask([0x4c, 2, 0, 0, 0, 0, 0, 0, 4, 0], &[0; 4]), [0xc9, 0, 1]);
    assert_eq!(ask([0x4c, 0, 2, 0, 0, 0, 0, 0, 4, 0], &[0; 4]), [0xcd, 0, 2]);
    assert_eq!(ask([0x4c, 0, 0, 1, 0, 0, 0, 0, 4, 0], &[0; 4]), [0xcf, 0, 3]);
    assert_eq!(ask([0x4c, 2, 0x11, 0, 0, 0, 0, 0, 0, 0], &[]), [0xcd, 0, 2]);
    assert_eq!(ask([0x4c, 2, 2, 1, 0, 0, 0, 0, 0, 0], &[]), [0xcf, 0, 3]);
    let list = [2, 0, 0, 12, 0, 5, 0x20, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    bench.fails(
        &[0x4c, 0, 0, 0, 0, 0, 0, 0, 16, 0],
        &list,
        SenseKey::IllegalRequest,
        asc::INVALID_FIELD_IN_PARAMETER_LIST,
    );
    let short = bench.run(&[0x4c, 0, 0, 0, 0, 0, 0, 0, 17, 0], &list);
    assert_eq!(sense_of(&short), Some((SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR)));
}

#[test]
fn the_medium_in_and_out_is_a_cycle() {
    let mut removable = config(512);
    removable.removable = true;
    let bench = Bench::with(removable, RamDevice::new(1 << 20));
    for _ in 0..2 {
        bench.good(&[0x1b, 0, 0, 0, 2, 0], &[]);
        bench.good(&[0x1b, 0, 0, 0, 3, 0], &[]);
    }
    assert_eq!(page(&bench, 0x0e)[8..], [0, 0, 0, 2]);
}
