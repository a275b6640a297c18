//! MODE SENSE and MODE SELECT.

use super::asc;
use super::command::{DeviceServer, Response};
use super::sense::{Asc, SenseKey, Status};
use crate::device::DeviceError;
use crate::testing::{Bench, RamDevice, config, finish, nexus, poll, sense_of};
use std::pin::pin;

const RECOVERY: [u8; 12] = [0x01, 0x0a, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DISCONNECT: [u8; 16] = [0x02, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const CACHING: [u8; 20] = [0x08, 0x12, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const CONTROL: [u8; 12] = [0x0a, 0x0a, 2, 0x10, 0, 0x40, 0, 0, 0, 0, 0, 60];
const EXTENSION: [u8; 32] =
    [0x4a, 1, 0, 28, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const EXCEPTIONS: [u8; 12] = [0x1c, 0x0a, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// Without a threshold.
const PROVISIONING: [u8; 24] = [0x5c, 2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];

fn control(bits: [u8; 3]) -> Vec<u8> {
    let mut page = CONTROL.to_vec();
    (page[2], page[4], page[5]) = (bits[0] | 2, bits[1], bits[2]);
    page
}

/// MODE SELECT(6) of pages without block descriptor.
fn select(bench: &Bench, pages: &[u8]) -> Response {
    let list = [&[0; 4], pages].concat();
    bench.run(&[0x15, 0x10, 0, 0, list.len() as u8, 0], &list)
}

fn refused(response: &Response, code: Asc) -> [u8; 3] {
    assert_eq!(sense_of(response), Some((SenseKey::IllegalRequest, code)));
    response.sense[15..18].try_into().unwrap()
}

#[test]
fn all_pages() {
    let bench = Bench::new();
    let pages = [&RECOVERY[..], &DISCONNECT, &CACHING, &CONTROL, &EXCEPTIONS].concat();
    let descriptor = [0, 0, 8, 0, 0, 0, 2, 0];
    let want = [&[83, 0, 0x10, 8][..], &descriptor, &pages].concat();
    assert_eq!(bench.good(&[0x1a, 0, 0x3f, 0, 255, 0], &[]), want);
    assert_eq!(bench.good(&[0x1a, 0, 0x3f, 0, 4, 0], &[]), want[..4]);
    let with_subpages =
        [&RECOVERY[..], &DISCONNECT, &CACHING, &CONTROL, &EXTENSION, &EXCEPTIONS, &PROVISIONING].concat();
    let want_all = [&[139, 0, 0x10, 8][..], &descriptor, &with_subpages].concat();
    assert_eq!(bench.good(&[0x1a, 0, 0x3f, 0xff, 255, 0], &[]), want_all);
    let controls = [&[47, 0, 0x10, 0][..], &CONTROL, &EXTENSION].concat();
    assert_eq!(bench.good(&[0x1a, 8, 0x0a, 0xff, 255, 0], &[]), controls);
    assert_eq!(bench.good(&[0x1a, 8, 0x0a, 1, 255, 0], &[])[4..], EXTENSION);
    let want = [&[75, 0, 0x10, 0][..], &pages].concat();
    assert_eq!(bench.good(&[0x1a, 8, 0x3f, 0, 255, 0], &[]), want);
}

#[test]
fn ten_byte_form() {
    let bench = Bench::new();
    let sense = |flags| bench.good(&[0x5a, flags, 0x08, 0, 0, 0, 0, 1, 0, 0], &[]);
    let short = [&[0, 34, 0, 0x10, 0, 0, 0, 8][..], &[0, 0, 8, 0, 0, 0, 2, 0], &CACHING].concat();
    assert_eq!(sense(0), short);
    let long =
        [&[0, 42, 0, 0x10, 1, 0, 0, 16][..], &[0, 0, 0, 0, 0, 0, 8, 0], &[0, 0, 0, 0, 0, 0, 2, 0], &CACHING];
    assert_eq!(sense(0x10), long.concat());
    assert_eq!(sense(0x18), [&[0, 26, 0, 0x10, 0, 0, 0, 0][..], &CACHING].concat());
}

#[test]
fn changeable_default_and_saved() {
    let bench = Bench::new();
    let sense = |page: u8| bench.good(&[0x1a, 8, page, 0, 255, 0], &[])[4..].to_vec();
    let mut caching = [0; 20];
    caching[..3].copy_from_slice(&[0x08, 0x12, 4]);
    assert_eq!(sense(0x48), caching);
    assert_eq!(sense(0x4a), [0x0a, 0x0a, 4, 0, 8, 0x40, 0, 0, 0, 0, 0, 0]);
    assert_eq!(sense(0x5c), [0x1c, 0x0a, 0x1c, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(select(&bench, &control([4, 8, 0])).status, Status::Good);
    assert_eq!(sense(0x0a), control([4, 8, 0]));
    assert_eq!(sense(0x8a), CONTROL);
    let saved = bench.run(&[0x1a, 8, 0xca, 0, 255, 0], &[]);
    assert_eq!(sense_of(&saved), Some((SenseKey::IllegalRequest, asc::SAVING_PARAMETERS_NOT_SUPPORTED)));
}

#[test]
fn unknown_pages() {
    let bench = Bench::new();
    let refused = |page, subpage| {
        refused(&bench.run(&[0x1a, 0, page, subpage, 255, 0], &[]), asc::INVALID_FIELD_IN_CDB)
    };
    assert_eq!(refused(0x05, 0), [0xcd, 0, 2]);
    assert_eq!(refused(0x0a, 7), [0xcf, 0, 3]);
    assert_eq!(refused(0x3f, 7), [0xcf, 0, 3]);
}

#[test]
fn software_write_protection() {
    let bench = Bench::new();
    assert_eq!(select(&bench, &control([0, 8, 0x40])).status, Status::Good);
    bench.fails(
        &[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        &[1; 512],
        SenseKey::DataProtect,
        asc::LOGICAL_UNIT_SOFTWARE_WRITE_PROTECTED,
    );
    bench.good(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[]);
    assert_eq!(bench.good(&[0x1a, 8, 0x0a, 0, 4, 0], &[])[2], 0x90);
    assert_eq!(select(&bench, &CONTROL).status, Status::Good);
    bench.good(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
}

#[test]
fn descriptor_sense() {
    let bench = Bench::new();
    assert_eq!(select(&bench, &control([4, 0, 0x40])).status, Status::Good);
    let response = bench.run(&[0xff, 0, 0, 0, 0, 0], &[]);
    assert_eq!(response.sense.as_slice(), [0x72, 5, 0x20, 0, 0, 0, 0, 0]);
}

#[test]
fn without_write_cache_every_write_is_forced() {
    let bench = Bench::new();
    let mut page = CACHING;
    page[2] = 0;
    assert_eq!(select(&bench, &page).status, Status::Good);
    bench.good(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[1; 512]);
    bench.good(&[0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], &[0; 512]);
    assert_eq!(*bench.device().calls.lock().unwrap(), ["flush", "write 0 512 true", "zero 0 512", "flush"]);
}

#[test]
fn the_write_cache_is_emptied_before_it_is_off() {
    let bench = Bench::new();
    let mut off = CACHING;
    off[2] = 0;
    let list = [&[0; 4], &off[..]].concat();
    let cdb = [0x15, 0x10, 0, 0, list.len() as u8, 0];
    *bench.device().error.lock().unwrap() = Some(DeviceError::FlushFailed);
    bench.fails(&cdb, &list, SenseKey::MediumError, asc::WRITE_ERROR);
    assert!(bench.unit.modes().get().wce, "what cannot be flushed stays told as cached");
    *bench.device().error.lock().unwrap() = None;
    bench.device().calls.lock().unwrap().clear();

    bench.device().hold(true);
    let write = |lba| Bench::command(&[0x2a, 0, 0, 0, 0, lba, 0, 0, 1, 0], &[1; 512]);
    let mut before = pin!(bench.target.execute(&bench.nexus, write(0)));
    let mut select = pin!(bench.target.execute(&bench.nexus, Bench::command(&cdb, &list)));
    let mut after = pin!(bench.target.execute(&bench.nexus, write(1)));
    for task in [&mut before, &mut select, &mut after] {
        assert!(poll(task.as_mut()).is_pending());
    }
    bench.device().hold(false);
    finish(before);
    finish(select);
    finish(after);
    assert_eq!(*bench.device().calls.lock().unwrap(), ["write 0 512 false", "flush", "write 512 512 true"]);
    bench.good(&cdb, &list);
    assert_eq!(bench.device().calls.lock().unwrap().len(), 3, "it is off already");
}

#[test]
fn no_volatile_cache_no_wce() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.volatile_cache = false;
    let bench = Bench::with(config(512), device);
    let mut page = CACHING;
    page[2] = 0;
    assert_eq!(bench.good(&[0x1a, 8, 0x08, 0, 255, 0], &[])[4..], page);
    assert_eq!(bench.good(&[0x1a, 8, 0x48, 0, 255, 0], &[])[6], 0);
    assert_eq!(refused(&select(&bench, &CACHING), asc::INVALID_FIELD_IN_PARAMETER_LIST), [0x80, 0, 6]);
}

#[test]
fn other_nexuses_learn_of_changes_and_only_of_changes() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(select(&bench, &CONTROL).status, Status::Good);
    assert_eq!(bench.run_as(&other, &[0; 6], &[]).status, Status::Good);
    assert_eq!(select(&bench, &control([4, 0, 0x40])).status, Status::Good);
    assert_eq!(
        sense_of(&bench.run_as(&other, &[0; 6], &[])),
        Some((SenseKey::UnitAttention, asc::MODE_PARAMETERS_CHANGED))
    );
    assert_eq!(bench.run(&[0; 6], &[]).status, Status::Good);
}

#[test]
fn what_cannot_be_changed_is_refused_and_nothing_is_taken_over() {
    let bench = Bench::new();
    let list_refused = |pages: &[u8]| refused(&select(&bench, pages), asc::INVALID_FIELD_IN_PARAMETER_LIST);
    let good_then_bad = [&control([0, 8, 0x40])[..], &{
        let mut page = EXCEPTIONS;
        page[11] = 2;
        page
    }]
    .concat();
    assert_eq!(list_refused(&good_then_bad), [0x80, 0, 4 + 12 + 11]);
    assert!(!bench.unit.modes().get().swp);
    assert_eq!(list_refused(&[0x05, 0]), [0x80, 0, 4]);
    assert_eq!(list_refused(&[0x4a, 2, 0, 0]), [0x80, 0, 4]);
    // PAGE LENGTH of a page, and of a subpage.
    assert_eq!(list_refused(&[0x0a, 1, 0]), [0x80, 0, 4 + 1]);
    assert_eq!(list_refused(&[&CONTROL[..], &[0x4a, 1, 0, 1, 0]].concat()), [0x80, 0, 4 + 12 + 2]);
}

#[test]
fn lists_that_are_cut() {
    let bench = Bench::new();
    let cut = |list: &[u8], length: u8| {
        sense_of(&bench.run(&[0x15, 0x10, 0, 0, length, 0], list)).map(|(_, code)| code)
    };
    assert_eq!(cut(&[], 0), None);
    for list in [&[0; 3][..], &[0, 0, 0, 8, 0], &[&[0; 4], &CONTROL[..11]].concat(), &[0, 0, 0, 0, 0x0a]] {
        assert_eq!(cut(list, list.len() as u8), Some(asc::PARAMETER_LIST_LENGTH_ERROR), "{list:02x?}");
    }
    assert_eq!(cut(&[0; 4], 5), Some(asc::PARAMETER_LIST_LENGTH_ERROR), "less sent than announced");
}

#[test]
fn block_descriptors_may_say_what_is_so() {
    let bench = Bench::new();
    let six = |descriptor: &[u8]| {
        let list = [&[0, 0, 0, descriptor.len() as u8], descriptor].concat();
        sense_of(&bench.run(&[0x15, 0x10, 0, 0, list.len() as u8, 0], &list)).map(|(_, code)| code)
    };
    for blocks in [[0, 0, 0, 0], [0, 0, 8, 0], [255; 4]] {
        assert_eq!(six(&[&blocks[..], &[0, 0, 2, 0]].concat()), None);
    }
    let refused = Some(asc::INVALID_FIELD_IN_PARAMETER_LIST);
    assert_eq!(six(&[0, 0, 8, 1, 0, 0, 2, 0]), refused);
    assert_eq!(six(&[0, 0, 8, 0, 0, 0, 16, 0]), refused);
    assert_eq!(six(&[0; 16]), refused);
    let ten = [&[0, 0, 0, 0, 1, 0, 0, 16][..], &[0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0], &CONTROL]
        .concat();
    bench.good(&[0x55, 0x10, 0, 0, 0, 0, 0, 0, ten.len() as u8, 0], &ten);
}

#[test]
fn page_format_is_required_and_without_memory_saving_is_not_possible() {
    let bench = Bench::new();
    let list = [&[0; 4], &CONTROL[..]].concat();
    let without = bench.run(&[0x15, 0, 0, 0, list.len() as u8, 0], &list);
    assert_eq!(refused(&without, asc::INVALID_FIELD_IN_CDB), [0xcc, 0, 1]);
    assert_eq!(refused(&bench.run(&[0x15, 0x11, 0, 0, 0, 0], &[]), asc::INVALID_FIELD_IN_CDB), [0xc8, 0, 1]);
}

#[test]
fn what_is_not_done_is_refused() {
    let bench = Bench::new();
    let control_refused = |at: usize, value: u8| {
        let mut page = CONTROL;
        page[at] = value;
        refused(&select(&bench, &page), asc::INVALID_FIELD_IN_PARAMETER_LIST)
    };
    for (at, value) in [(2, 0x22), (2, 0x03), (2, 0), (3, 0x12), (3, 0), (4, 0x20), (5, 0xc0)] {
        assert_eq!(
            control_refused(at, value),
            [0x80, 0, 4 + at as u8],
            "TST, RLEC, GLTSD, QERR, UA_INTLCK, ATO"
        );
    }
}

#[test]
fn a_false_exception_is_told_as_asked_for() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let exceptions = |flags: u8, method: u8| {
        let mut page = EXCEPTIONS;
        (page[2], page[3]) = (flags, method);
        select(&bench, &page)
    };
    let list_refused = |response: Response| refused(&response, asc::INVALID_FIELD_IN_PARAMETER_LIST);
    assert_eq!(list_refused(exceptions(0x0c, 2)), [0x80, 0, 6]);
    assert_eq!(list_refused(exceptions(0x04, 3)), [0x80, 0, 7]);

    let told = Some((SenseKey::UnitAttention, asc::FAILURE_PREDICTION_THRESHOLD_EXCEEDED_FALSE));
    assert_eq!(exceptions(0x04, 2).status, Status::Good);
    assert_eq!(sense_of(&bench.run(&[0; 6], &[])), told);
    bench.good(&[0; 6], &[]);
    let of_other = |code| {
        let sense = sense_of(&bench.run_as(&other, &[0; 6], &[]));
        assert_eq!(sense, Some((SenseKey::UnitAttention, code)));
    };
    of_other(asc::MODE_PARAMETERS_CHANGED);
    of_other(asc::FAILURE_PREDICTION_THRESHOLD_EXCEEDED_FALSE);

    assert_eq!(exceptions(0x14, 6).status, Status::Good);
    bench.good(&[0; 6], &[]);
    for _ in 0..2 {
        let sense = bench.good(&[0x03, 0, 0, 0, 18, 0], &[]);
        assert_eq!((sense[2], sense[12], sense[13]), (0, 0x5d, 0xff));
    }
    assert_eq!(exceptions(0x08, 0).status, Status::Good);
    assert_eq!(bench.good(&[0x03, 0, 0, 0, 18, 0], &[])[12..14], [0, 0]);
}
