use crate::device::DeviceError;
use crate::scsi::asc;
use crate::scsi::command::{DeviceServer, Outcome};
use crate::scsi::sense::{SenseKey, Status};
use crate::testing::{Bench, RamDevice, config, finish, poll};
use std::pin::pin;

fn cdb(flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[0x8b, flags]);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

#[test]
fn sets_bits_and_clears_none() {
    let bench = Bench::new();
    bench.device().data.lock().unwrap()[512..1536].fill(0b0101_0000);
    bench.good(&cdb(0, 1, 2), &[[0b1100_0000; 512], [0b0000_0011; 512]].concat());
    let stored = bench.device().data.lock().unwrap()[..2048].to_vec();
    assert_eq!(stored, [[0; 512], [0b1101_0000; 512], [0b0101_0011; 512], [0; 512]].concat());
    let calls = std::mem::take(&mut *bench.device().calls.lock().unwrap());
    assert_eq!(calls, ["read 512 1024", "write 512 1024 false"]);
    bench.good(&cdb(0x08, 0, 1), &[1; 512]);
    assert_eq!(bench.device().calls.lock().unwrap()[1], "write 0 512 true", "FUA");
}

#[test]
fn takes_the_longest_transfer_in_pieces() {
    let bench = Bench::new();
    let data: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    bench.good(&cdb(0, 0, 2048), &data);
    assert_eq!(*bench.device().data.lock().unwrap(), data);
    let mut small = config(512);
    small.max_transfer = 4096;
    let bench = Bench::with(small, RamDevice::new(1 << 20));
    bench.fails(&cdb(0, 0, 9), &[0; 9 * 512], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
}

#[test]
fn refuses_what_lies_beyond_and_what_is_not_all_there() {
    let bench = Bench::new();
    let illegal = SenseKey::IllegalRequest;
    bench.fails(&cdb(0, 2047, 2), &[0; 1024], illegal, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
    bench.fails(&cdb(0, 0, 2), &[0; 512], illegal, asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
    bench.fails(&cdb(0x20, 0, 1), &[0; 512], illegal, asc::INVALID_FIELD_IN_CDB);
    bench.good(&cdb(0, 0, 0), &[]);
    assert!(bench.device().calls.lock().unwrap().is_empty());
    *bench.device().error.lock().unwrap() = Some(DeviceError::Medium);
    bench.fails(&cdb(0, 0, 1), &[0; 512], SenseKey::MediumError, asc::UNRECOVERED_READ_ERROR);
}

#[test]
fn nothing_comes_between_reading_and_writing() {
    let bench = Bench::new();
    bench.device().hold(true);
    let mut or = pin!(bench.target.execute(&bench.nexus, Bench::command(&cdb(0, 0, 1), &[0x0f; 512])));
    assert!(poll(or.as_mut()).is_pending());
    let mut write = Bench::command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[0xf0; 512]);
    write.tag.0 += 1;
    let mut write = pin!(bench.target.execute(&bench.nexus, write));
    assert!(poll(write.as_mut()).is_pending());
    bench.device().hold(false);
    assert!(matches!(finish(or), Outcome::Done(response) if response.status == Status::Good));
    finish(write);
    assert_eq!(bench.device().data.lock().unwrap()[..512], [0xf0; 512], "the write came after all of it");
    let calls = bench.device().calls.lock().unwrap().join(", ");
    assert_eq!(calls, "read 0 512, write 0 512 false, write 0 512 false");
}
