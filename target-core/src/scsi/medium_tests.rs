//! Commands that work on blocks.

use super::asc;
use super::sense::{Asc, SenseKey, Status};
use crate::device::DeviceError;
use crate::lun::lanes::LANES;
use crate::scsi::command::{DeviceServer, Outcome};
use crate::testing::{Bench, RamDevice, config, finish, poll, sense_of};
use std::pin::pin;

pub(super) const ILLEGAL: SenseKey = SenseKey::IllegalRequest;

pub(super) fn calls(bench: &Bench) -> Vec<String> {
    std::mem::take(&mut *bench.device().calls.lock().unwrap())
}

pub(super) fn ten(opcode: u8, flags: u8, lba: u32, blocks: u16) -> [u8; 10] {
    let [a, b, c, d] = lba.to_be_bytes();
    let [e, f] = blocks.to_be_bytes();
    [opcode, flags, a, b, c, d, 0, e, f, 0]
}

pub(super) fn sixteen(opcode: u8, flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[opcode, flags]);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

#[test]
fn long_transfers_are_split_and_the_longest_is_told() {
    let bench = Bench::new();
    let data = vec![5; 1 << 20];
    bench.good(&ten(0x2a, 0, 0, 2048), &data);
    assert_eq!(calls(&bench).len(), 16);
    assert_eq!(bench.good(&ten(0x28, 0, 0, 2048), &[]), data);
    let mut config = config(512);
    config.max_transfer = 4096;
    let bench = Bench::with(config, RamDevice::new(1 << 20));
    for (opcode, length_byte) in [(0x28, 7), (0x2a, 7)] {
        let response = bench.fails(&ten(opcode, 0, 0, 9), &[0; 9 * 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
        assert_eq!(response.sense[17], length_byte);
    }
    assert_eq!(calls(&bench), [""; 0]);
}

#[test]
fn write_takes_what_the_initiator_sends() {
    let bench = Bench::new();
    bench.good(&ten(0x2a, 0, 0, 2), &[b'a'; 1024]);
    let short = bench.run(&ten(0x2a, 0, 0, 2), &[b'b'; 512]);
    assert_eq!((short.status, short.data_out_wanted), (Status::Good, 1024));
    let none = bench.run(&ten(0x2a, 0, 0, 1), &[]);
    assert_eq!((none.status, none.data_out_wanted), (Status::Good, 512));
    let long = bench.run(&ten(0x2a, 0, 2, 1), &[b'c'; 1024]);
    assert_eq!((long.status, long.data_out_wanted), (Status::Good, 512));
    let torn = bench.fails(
        &ten(0x2a, 0, 0, 1),
        &[b'd'; 200],
        ILLEGAL,
        asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT,
    );
    assert_eq!(torn.data_out_wanted, 512);
    let data = bench.good(&ten(0x28, 0, 0, 4), &[]);
    let want = [[b'b'; 512], [b'a'; 512], [b'c'; 512], [0; 512]].concat();
    assert_eq!(data, want);
    assert_eq!(bench.run(&ten(0x28, 0, 0, 1), &[1; 512]).data_out_wanted, 0);
}

#[test]
fn six_byte_commands_have_no_flags() {
    let bench = Bench::with(config(512), RamDevice::new(1 << 20));
    bench.fails(&[0x08, 0x1f, 0xff, 0xff, 1, 0], &[], ILLEGAL, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
    assert_eq!(bench.good(&[0x08, 0, 0, 0, 0, 0], &[]).len(), 256 * 512);
    calls(&bench);
    let bench = Bench::with(config(512), RamDevice::new(512 << 20 | 1 << 20));
    bench.good(&[0x0a, 0x08, 0, 0, 1, 0], &[1; 512]);
    assert_eq!(calls(&bench), [format!("write {} 512 false", 0x8_0000 * 512)]);
}

#[test]
fn protection_information_is_refused() {
    let bench = Bench::new();
    for protect in 1..8_u8 {
        for opcode in [0x28, 0x2a, 0x2e, 0x2f, 0x41] {
            bench.fails(&ten(opcode, protect << 5, 0, 1), &[0; 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
        }
        for opcode in [0x88, 0x89, 0x8a, 0x8e, 0x8f, 0x93] {
            bench.fails(&sixteen(opcode, protect << 5, 0, 1), &[0; 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
        }
    }
    assert_eq!(calls(&bench), [""; 0]);
}

#[test]
fn beyond_the_end_nothing_is_done() {
    let bench = Bench::new();
    for opcode in [0x28, 0x2a, 0x2e, 0x2f, 0x34, 0x35, 0x41] {
        for (lba, blocks, first) in
            [(2047, 2, 2048), (2049, 0, 2049), (u32::MAX, 1, u32::MAX), (0x8000_0000, 0, 0x8000_0000)]
        {
            let response = bench.fails(
                &ten(opcode, 0, lba, blocks),
                &[0; 1024],
                ILLEGAL,
                asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE,
            );
            assert_eq!(response.sense_value.unwrap().information, Some(u64::from(first)));
        }
    }
    for opcode in [0x88, 0x8a, 0x8e, 0x8f, 0x90, 0x91, 0x93] {
        for lba in [2049, 1 << 63, u64::MAX] {
            bench.fails(
                &sixteen(opcode, 0, lba, 1),
                &[0; 512],
                ILLEGAL,
                asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE,
            );
        }
    }
    assert_eq!(calls(&bench), [""; 0]);
}

#[test]
fn nothing_to_transfer_is_good() {
    let bench = Bench::new();
    for opcode in [0x28, 0x2a, 0x2e, 0x2f, 0x34] {
        for lba in [0, 2047, 2048] {
            bench.good(&ten(opcode, 0, lba, 0), &[]);
        }
    }
    bench.good(&[0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    bench.good(&ten(0x42, 0, 0, 0), &[]);
    assert_eq!(calls(&bench), [""; 0]);
}

#[test]
fn verify_compares_as_bytchk_says() {
    let bench = Bench::new();
    let data: Vec<u8> = (0..150 * 512_u32).map(|i| (i / 512) as u8).collect();
    bench.good(&ten(0x2a, 0, 0, 150), &data);
    bench.good(&ten(0x2f, 0x10, 0, 150), &[]);
    bench.good(&ten(0x2f, 0x00, 0, 150), &[0xee; 512]);
    bench.good(&ten(0x2f, 0x02, 0, 150), &data);
    bench.good(&sixteen(0x8f, 0x02, 1, 149), &data[512..]);
    let mut other = data.clone();
    other[140 * 512 + 3] ^= 1;
    let miscompare = asc::MISCOMPARE_DURING_VERIFY_OPERATION;
    let response = bench.fails(&ten(0x2f, 0x02, 0, 150), &other, SenseKey::Miscompare, miscompare);
    assert_eq!(response.sense_value.unwrap().information, Some(140 * 512 + 3));
    bench.good(&ten(0x2f, 0x06, 3, 1), &[3; 512]);
    let response = bench.fails(&ten(0x2f, 0x06, 3, 2), &[3; 512], SenseKey::Miscompare, miscompare);
    assert_eq!(response.sense_value.unwrap().information, Some(512));
    assert_eq!(response.data_out_wanted, 512);
    bench.fails(&ten(0x2f, 0x04, 0, 1), &[0; 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
    let short = asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT;
    bench.fails(&ten(0x2f, 0x02, 0, 2), &data[..512], ILLEGAL, short);
    bench.fails(&ten(0x2f, 0x06, 0, 2), &[], ILLEGAL, short);
}

#[test]
fn verify_holds_little_memory_however_much_the_device_reads_at_a_time() {
    let mut device = RamDevice::new(4 << 20);
    device.capabilities.max_transfer = 4 << 20;
    let bench = Bench::with(config(512), device);
    bench.good(&sixteen(0x8f, 0, 0, 4096), &[]);
    assert_eq!(calls(&bench), ["read 0 1048576", "read 1048576 1048576"]);
    bench.good(&sixteen(0x8f, 0x06, 0, 2050), &[0; 512]);
    assert_eq!(calls(&bench), ["read 0 1048576", "read 1048576 1024"]);
    bench.good(&sixteen(0x8f, 0x02, 1, 2048), &[0; 1 << 20]);
    assert_eq!(calls(&bench), ["read 512 1048576"]);
}

#[test]
fn few_commands_without_data_have_much_in_memory_at_a_time() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.max_transfer = 1 << 20;
    let bench = Bench::with(config(512), device);
    let cdbs = [sixteen(0x8f, 0, 0, 1024), sixteen(0x8f, 0x06, 0, 1024), sixteen(0x8f, 0, 0, 128)];
    let sent: Vec<_> = cdbs.iter().cycle().take(60).collect();
    bench.device().hold(true);
    let run = |cdb: &&[u8; 16]| {
        let command = Bench::command(&cdb[..], &[0; 512]);
        Box::pin(bench.target.execute(&bench.nexus, command))
    };
    let mut running: Vec<_> = sent.iter().map(run).collect();
    running.iter_mut().for_each(|command| assert!(poll(command.as_mut()).is_pending()));
    let large = calls(&bench).iter().filter(|call| *call == "read 0 524288").count();
    assert_eq!(large, LANES);
    // One that is given up lets others go on.
    drop(running.remove(0));
    running.iter_mut().for_each(|command| assert!(poll(command.as_mut()).is_pending()));
    bench.device().hold(false);
    for command in running {
        let Outcome::Done(response) = finish(command) else { panic!("aborted") };
        assert_eq!(response.status, Status::Good);
    }
}

#[test]
fn write_and_verify() {
    let bench = Bench::new();
    bench.good(&ten(0x2e, 0, 0, 1), &[1; 512]);
    bench.good(&[0xae, 0x12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], &[2; 512]);
    bench.good(&sixteen(0x8e, 0x02, 2, 1), &[3; 512]);
    assert_eq!(calls(&bench)[..2], ["write 0 512 true", "read 0 512"]);
    assert_eq!(bench.good(&ten(0x28, 0, 0, 3), &[]), [[1; 512], [2; 512], [3; 512]].concat());
    bench.fails(&ten(0x2e, 0x04, 0, 1), &[0; 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
}

#[test]
fn with_immed_the_answer_comes_before_the_flush() {
    let (bench, crew) = Bench::with_crew(config(512), RamDevice::new(1 << 20));
    bench.good(&ten(0x35, 2, 0, 0), &[]);
    assert_eq!(calls(&bench), [""; 0]);
    crew.finish();
    assert_eq!(calls(&bench), ["flush"]);
    // No more than so many at a time: the one after them flushes itself.
    for _ in 0..64 {
        bench.good(&ten(0x35, 2, 0, 0), &[]);
    }
    assert_eq!(calls(&bench), [""; 0]);
    bench.good(&ten(0x35, 2, 0, 0), &[]);
    assert_eq!(calls(&bench), ["flush"]);
}

#[test]
fn synchronize_cache_and_prefetch() {
    let bench = Bench::new();
    for cdb in [ten(0x35, 0, 0, 0), ten(0x35, 2, 5, 3), ten(0x35, 6, 0, 0)] {
        bench.good(&cdb, &[]);
    }
    bench.good(&sixteen(0x91, 2, 0, 0), &[]);
    assert_eq!(calls(&bench), ["flush"; 4]);
    bench.good(&ten(0x34, 2, 0, 1), &[]);
    bench.good(&sixteen(0x90, 0, 0, 0), &[]);
    *bench.device().error.lock().unwrap() = Some(DeviceError::FlushFailed);
    bench.fails(&ten(0x35, 0, 0, 0), &[], SenseKey::MediumError, asc::WRITE_ERROR);
}

#[test]
fn compare_and_write() {
    let bench = Bench::new();
    let cdb = [0x89, 0x08, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0];
    let (old, new) = ([0; 1024], [6; 1024]);
    bench.good(&cdb, &[old, new].concat());
    assert_eq!(calls(&bench), ["read 1536 1024", "write 1536 1024 true"]);
    let mut wrong = new;
    wrong[700] = 1;
    let response = bench.fails(
        &cdb,
        &[wrong, old].concat(),
        SenseKey::Miscompare,
        asc::MISCOMPARE_DURING_VERIFY_OPERATION,
    );
    assert_eq!(response.sense_value.unwrap().information, Some(700));
    assert_eq!(response.data_out_wanted, 2048);
    for data in [&[6; 1024][..], &[6; 2047], &[6; 4096]] {
        let response = bench.fails(&cdb, data, ILLEGAL, asc::INVALID_FIELD_IN_CDB);
        assert_eq!(response.sense[15..18], [0xcf, 0, 13]);
    }
    let too_many = [0x89, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0];
    bench.fails(&too_many, &[6; 2 * 256 * 512], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
    assert_eq!(bench.good(&ten(0x28, 0, 3, 2), &[]), new[..]);
}

#[test]
fn compare_and_write_of_as_many_blocks_as_its_length_can_tell() {
    let bench = Bench::new();
    let len = 255 * 512;
    let cdb = [0x89, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 255, 0, 0];
    bench.good(&cdb, &[vec![0; len], vec![3; len]].concat());
    assert!(bench.good(&ten(0x28, 0, 1, 255), &[]).iter().all(|byte| *byte == 3));
    let mut verify = vec![3; len];
    verify[len - 1] = 4;
    let response = bench.fails(
        &cdb,
        &[verify, vec![9; len]].concat(),
        SenseKey::Miscompare,
        asc::MISCOMPARE_DURING_VERIFY_OPERATION,
    );
    assert_eq!(response.sense[..7], [0xf0, 0, 0x0e, 0, 1, 0xfd, 0xff], "INFORMATION: 130559");
    assert!(bench.good(&ten(0x28, 0, 1, 255), &[]).iter().all(|byte| *byte == 3), "nothing was written");
}

#[test]
fn nothing_comes_between_comparing_and_writing() {
    let bench = Bench::new();
    bench.device().hold(true);
    let compare =
        Bench::command(&[0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], &[[0; 512], [1; 512]].concat());
    let mut first = pin!(bench.target.execute(&bench.nexus, compare.clone()));
    for _ in 0..3 {
        assert!(poll(first.as_mut()).is_pending());
    }
    let mut second = pin!(bench.target.execute(&bench.nexus, compare));
    let mut write = pin!(bench.target.execute(&bench.nexus, Bench::command(&ten(0x2a, 0, 0, 1), &[2; 512])));
    let mut elsewhere =
        pin!(bench.target.execute(&bench.nexus, Bench::command(&ten(0x2a, 0, 1, 1), &[3; 512])));
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(write.as_mut()).is_pending());
    assert!(poll(elsewhere.as_mut()).is_pending());
    assert_eq!(*bench.device().calls.lock().unwrap(), ["read 0 512", "write 512 512 false"]);
    bench.device().hold(false);
    let status = |outcome| match outcome {
        Outcome::Done(response) => response.status,
        Outcome::Aborted => panic!("aborted"),
    };
    assert_eq!(status(finish(first)), Status::Good);
    assert_eq!(status(finish(second)), Status::CheckCondition);
    assert_eq!(status(finish(write)), Status::Good);
    assert_eq!(status(finish(elsewhere)), Status::Good);
    assert_eq!(bench.good(&ten(0x28, 0, 0, 2), &[]), [[2; 512], [3; 512]].concat());
}

#[test]
fn device_errors_have_their_sense() {
    let bench = Bench::new();
    let check = |key, asc: (u8, u8)| Some((key, Asc(asc.0, asc.1)));
    for (error, read, write) in [
        (DeviceError::Unreachable, check(SenseKey::NotReady, (4, 0xc)), check(SenseKey::NotReady, (4, 0xc))),
        (
            DeviceError::OwnershipLost,
            check(SenseKey::AbortedCommand, (0x2f, 2)),
            check(SenseKey::AbortedCommand, (0x2f, 2)),
        ),
        (
            DeviceError::Transitioning,
            check(SenseKey::NotReady, (4, 0xa)),
            check(SenseKey::NotReady, (4, 0xa)),
        ),
        (
            DeviceError::Medium,
            check(SenseKey::MediumError, (0x11, 0)),
            check(SenseKey::MediumError, (0x0c, 0)),
        ),
        (
            DeviceError::NoSpace,
            check(SenseKey::DataProtect, (0x27, 7)),
            check(SenseKey::DataProtect, (0x27, 7)),
        ),
        (
            DeviceError::ReadOnly,
            check(SenseKey::DataProtect, (0x27, 0)),
            check(SenseKey::DataProtect, (0x27, 0)),
        ),
        (DeviceError::Gone, check(SenseKey::NotReady, (4, 3)), check(SenseKey::NotReady, (4, 3))),
        (DeviceError::OutOfRange, check(ILLEGAL, (0x21, 0)), check(ILLEGAL, (0x21, 0))),
        (DeviceError::Busy, None, None),
    ] {
        *bench.device().error.lock().unwrap() = Some(error);
        for (cdb, want) in [(ten(0x28, 0, 0, 1), read), (ten(0x2a, 0, 0, 1), write)] {
            let response = bench.run(&cdb, &[0; 512]);
            assert_eq!(sense_of(&response), want, "{error:?}");
            if want.is_none() {
                assert_eq!(response.status, Status::TaskSetFull);
            }
        }
    }
}
