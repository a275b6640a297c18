use super::*;
use crate::device::DeviceError;
use crate::scsi::command::{DeviceServer, Outcome, TaskManagement};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Status;
use crate::testing::{Bench, RamDevice, config, finish, nexus, poll, sense_of};
use std::pin::pin;
use std::time::Duration;

fn self_test(code: u8) -> [u8; 6] {
    [0x1d, code << 5, 0, 0, 0, 0]
}

/// The newest results, without parameter header.
fn results<const N: usize>(bench: &Bench) -> [[u8; 16]; N] {
    let page = bench.good(&[0x4d, 0, 0x10, 0, 0, 0, 0, 0xff, 0xff, 0], &[]);
    let mut parameters = page[4..].chunks_exact(20);
    std::array::from_fn(|_| parameters.next().unwrap()[4..].try_into().unwrap())
}

fn passed(code: u8) -> [u8; 16] {
    let mut result = [0xff; 16];
    result[..4].copy_from_slice(&[code << 5, 0, 0, 0]);
    result[12..].fill(0);
    result
}

#[test]
fn the_default_self_test_reads_a_block() {
    let bench = Bench::new();
    bench.good(&[0x1d, 0x04, 0, 0, 0, 0], &[]);
    bench.good(&[0x1d, 0x07, 0, 0, 0, 0], &[]);
    bench.good(&[0x1d, 0, 0, 0, 0, 0], &[]);
    assert_eq!(*bench.device().calls.lock().unwrap(), ["read 1048064 512"; 2]);
    assert_eq!(results::<1>(&bench), [[0; 16]], "nothing to keep");
}

#[test]
fn self_tests_and_their_results() {
    let bench = Bench::new();
    bench.good(&self_test(5), &[]);
    assert_eq!(
        *bench.device().calls.lock().unwrap(),
        ["read 0 512", "read 349184 512", "read 698368 512", "read 1048064 512"]
    );
    bench.good(&self_test(2), &[]);
    assert_eq!(bench.device().calls.lock().unwrap().len(), 4 + 1024);
    assert_eq!(results(&bench), [passed(2), passed(5), [0; 16]]);

    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.fails(&self_test(6), &[], SenseKey::HardwareError, asc::LOGICAL_UNIT_FAILED_SELF_TEST);
    bench.good(&self_test(1), &[]);
    let failed = |code: u8| [code << 5 | 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0x11, 0, 0];
    assert_eq!(results(&bench), [failed(1), failed(6), passed(2), passed(5), [0; 16]]);

    *bench.device().error.lock().unwrap() = None;
    (0..30).for_each(|_| drop(bench.good(&self_test(1), &[])));
    assert_eq!(results(&bench), [passed(1); 20]);
}

#[test]
fn a_self_test_can_be_stopped() {
    let bench = Bench::new();
    bench.fails(&self_test(4), &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    let mut test = pin!(bench.target.execute(&bench.nexus, Bench::command(&self_test(2), &[])));
    assert!(poll(test.as_mut()).is_pending());
    assert_eq!(
        results::<2>(&bench),
        [
            {
                let mut running = passed(2);
                running[0] |= 0x0f;
                running
            },
            [0; 16]
        ]
    );
    bench.fails(&self_test(1), &[], SenseKey::NotReady, asc::NOT_READY_SELF_TEST_IN_PROGRESS);
    bench.good(&self_test(4), &[]);
    assert!(matches!(finish(test), Outcome::Done(response) if response.status == Status::Good));
    assert_eq!(results::<1>(&bench)[0][0], 0x41);

    let other = nexus(2);
    bench.login(&other);
    let mut test = pin!(bench.target.execute(&other, Bench::command(&self_test(1), &[])));
    assert!(poll(test.as_mut()).is_pending());
    let abort = TaskManagement::AbortTaskSet { lun: LunAddress([0; 8]) };
    let mut abort = pin!(bench.target.manage(&other, abort));
    assert!(poll(abort.as_mut()).is_pending());
    assert!(matches!(finish(test), Outcome::Aborted));
    finish(abort);
    assert_eq!(results::<1>(&bench)[0][0], 0x22);

    // A reset ends it as well.
    let mut test = pin!(bench.target.execute(&bench.nexus, Bench::command(&self_test(2), &[])));
    assert!(poll(test.as_mut()).is_pending());
    let reset = TaskManagement::LogicalUnitReset { lun: LunAddress([0; 8]) };
    let mut reset = pin!(bench.target.manage(&bench.nexus, reset));
    assert!(poll(reset.as_mut()).is_pending());
    assert!(matches!(finish(test), Outcome::Aborted));
    finish(reset);
    bench.run(&[0; 6], &[]); // the unit attention
    assert_eq!(results::<1>(&bench)[0][0], 0x42);
}

#[test]
fn fields_that_do_not_go_together() {
    let bench = Bench::new();
    let refused = |cdb: &[u8], list: &[u8]| {
        let response = bench.run(cdb, list);
        assert_eq!(
            sense_of(&response),
            Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB)),
            "{cdb:x?}"
        );
        response.sense[15..18].to_vec()
    };
    assert_eq!(refused(&self_test(3), &[]), [0xcf, 0, 1]);
    assert_eq!(refused(&[0x1d, 0x24, 0, 0, 0, 0], &[]), [0xcf, 0, 1]);
    assert_eq!(refused(&[0x1d, 0x20, 0, 0, 4, 0], &[0; 4]), [0xcf, 0, 3]);
    assert_eq!(refused(&[0x1d, 0x14, 0, 0, 4, 0], &[0; 4]), [0xcf, 0, 3]);
    assert_eq!(refused(&[0x1d, 0x00, 0, 0, 4, 0], &[0; 4]), [0xcc, 0, 1]);
    assert_eq!(refused(&[0x1d, 0x10, 0, 0, 3, 0], &[0; 3]), [0xcf, 0, 3]);
    assert_eq!(refused(&[0x1d, 0x10, 0, 0, 4, 0], &[0, 0, 0, 1]), [0xcf, 0, 3]);
    assert_eq!(refused(&[0x1c, 1, 0x40, 0, 4, 0], &[]), [0xcf, 0, 2]);
}

#[test]
fn diagnostic_pages() {
    let bench = Bench::new();
    bench.good(&[0x1d, 0x10, 0, 0, 4, 0], &[0; 4]);
    let receive = |flags| bench.good(&[0x1c, flags, 0, 0, 255, 0], &[]);
    assert_eq!(receive(0)[..], [0, 0, 0, 1, 0]);
    assert_eq!(receive(1)[..], [0, 0, 0, 1, 0]);
    let refused = |page: &[u8]| {
        let response = bench.run(&[0x1d, 0x10, 0, 0, page.len() as u8, 0], page);
        let sense = sense_of(&response);
        assert_eq!(sense, Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_PARAMETER_LIST)));
        response.sense[15..18].to_vec()
    };
    assert_eq!(refused(&[0x40, 0, 0, 0]), [0x80, 0, 0]);
    assert_eq!(refused(&[0, 0, 0, 1, 0]), [0x80, 0, 2]);
}

#[test]
fn results_tell_the_hours() {
    thread_local!(static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(1000) });
    let unit = crate::lun::unit::LogicalUnit::new(config(512), RamDevice::new(1 << 20))
        .with_clock(|| Duration::from_secs(NOW.get()));
    let bench = Bench::serving(unit);
    NOW.set(1000 + 3 * 3600 + 3599);
    bench.good(&self_test(1), &[]);
    assert_eq!(results::<1>(&bench)[0][..4], [0x20, 0, 0, 3]);
}

#[test]
fn blocks_are_spread_over_the_medium() {
    assert!(spread(0, 4).is_empty());
    assert_eq!(spread(1, 4).into_iter().collect::<Vec<_>>(), [0]);
    assert_eq!(spread(3, 1024).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(spread(u64::MAX, 2).into_iter().collect::<Vec<_>>(), [0, u64::MAX - 1]);
}
