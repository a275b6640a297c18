//! Commands that give blocks back, make zeros or repeat a block, and what is told of the mapping.

use super::asc;
use super::medium_tests::{ILLEGAL, calls, sixteen, ten};
use crate::scsi::command::DeviceServer;
use crate::testing::{Bench, RamDevice, config, finish, poll, sense_of};
use std::pin::pin;

fn unmap_list(descriptors: &[(u64, u32)]) -> Vec<u8> {
    let length = descriptors.len() as u16 * 16;
    let mut list = Vec::new();
    list.extend_from_slice(&(length + 6).to_be_bytes());
    list.extend_from_slice(&length.to_be_bytes());
    list.extend_from_slice(&[0; 4]);
    for (lba, blocks) in descriptors {
        list.extend_from_slice(&lba.to_be_bytes());
        list.extend_from_slice(&blocks.to_be_bytes());
        list.extend_from_slice(&[0; 4]);
    }
    list
}

#[test]
fn unmap() {
    let bench = Bench::new();
    bench.good(&ten(0x2a, 0, 0, 16), &[1; 16 * 512]);
    calls(&bench);
    let list = unmap_list(&[(0, 2), (4, 0), (8, 1), (2048, 0)]);
    bench.good(&ten(0x42, 0, 0, list.len() as u16), &list);
    assert_eq!(calls(&bench), ["discard 0 1024", "discard 4096 512"]);
    let data = bench.good(&ten(0x28, 0, 0, 3), &[]);
    assert_eq!(data, [[0; 512], [0; 512], [1; 512]].concat());
}

#[test]
fn unmap_takes_neighbours_together() {
    let bench = Bench::new();
    let list = unmap_list(&[(8, 2), (10, 6), (16, 0), (16, 8), (32, 8), (24, 8)]);
    bench.good(&ten(0x42, 0, 0, list.len() as u16), &list);
    assert_eq!(calls(&bench), ["discard 4096 8192", "discard 16384 4096", "discard 12288 4096"]);
}

#[test]
fn unmap_checks_all_before_it_does_any() {
    let bench = Bench::new();
    let run = |list: &[u8], length: u16| sense_of(&bench.run(&ten(0x42, 0, 0, length), list)).map(|s| s.1);
    let whole = |list: Vec<u8>| run(&list, list.len() as u16);
    let range = Some(asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
    assert_eq!(whole(unmap_list(&[(0, 1), (2047, 2)])), range);
    assert_eq!(whole(unmap_list(&[(0, 1), (u64::MAX, u32::MAX)])), range);
    assert_eq!(whole(vec![0; 7]), Some(asc::PARAMETER_LIST_LENGTH_ERROR));
    assert_eq!(whole(unmap_list(&[(0, 1); 257])), Some(asc::INVALID_FIELD_IN_PARAMETER_LIST));
    assert_eq!(run(&unmap_list(&[(0, 1)]), 100), Some(asc::PARAMETER_LIST_LENGTH_ERROR));
    let anchor = bench.run(&ten(0x42, 1, 0, 24), &unmap_list(&[(0, 1)]));
    assert_eq!(sense_of(&anchor).map(|s| s.1), Some(asc::INVALID_FIELD_IN_CDB));
    assert_eq!(calls(&bench), [""; 0]);
    assert_eq!(whole(unmap_list(&[(0, 1); 256])), None);
    assert_eq!(calls(&bench).len(), 256);
    // A descriptor that is not whole is ignored.
    assert_eq!(run(&unmap_list(&[(0, 1), (5, 1)]), 8 + 31), None);
    assert_eq!(calls(&bench), ["discard 0 512"]);
}

#[test]
fn unmap_of_more_than_the_limit() {
    let device = RamDevice::new(1 << 20);
    device.geometry.lock().unwrap().size = 1 << 40;
    let bench = Bench::with(config(512), device);
    let list = unmap_list(&[(0, 1), (8, 1 << 20)]);
    let response = bench.fails(&ten(0x42, 0, 0, 40), &list, ILLEGAL, asc::INVALID_FIELD_IN_PARAMETER_LIST);
    assert_eq!(response.sense[15..18], [0x80, 0, 32]);
}

#[test]
fn write_same() {
    let bench = Bench::new();
    bench.good(&ten(0x41, 0, 1, 200), &[7; 512]);
    assert_eq!(calls(&bench), ["write 512 65536 false", "write 66048 36864 false"]);
    bench.good(&ten(0x41, 0, 1, 1), &[0; 512]);
    bench.good(&ten(0x41, 8, 2, 1), &[0; 512]);
    bench.good(&ten(0x41, 8, 3, 1), &[9; 512]);
    bench.good(&sixteen(0x93, 1, 4, 1), &[]);
    bench.good(&sixteen(0x93, 9, 5, 1), &[]);
    assert_eq!(
        calls(&bench),
        ["zero 512 512", "discard 1024 512", "write 1536 512 false", "zero 2048 512", "discard 2560 512"]
    );
    let data = bench.good(&ten(0x28, 0, 0, 7), &[]);
    let want = [[0; 512], [0; 512], [0; 512], [9; 512], [0; 512], [0; 512], [7; 512]].concat();
    assert_eq!(data, want);
    calls(&bench);
    bench.good(&ten(0x41, 0, 1000, 0), &[0; 512]);
    assert_eq!(calls(&bench), [format!("zero {} {}", 1000 * 512, 1048 * 512)]);
}

#[test]
fn write_same_refusals() {
    let bench = Bench::new();
    let field = asc::INVALID_FIELD_IN_CDB;
    for flags in [0x10, 0x18, 0x04, 0x02, 0x01] {
        bench.fails(&ten(0x41, flags, 0, 1), &[0; 512], ILLEGAL, field);
    }
    bench.fails(&sixteen(0x93, 0x11, 0, 1), &[], ILLEGAL, field);
    for block in [&[0; 511][..], &[0; 256], &[0; 1024], &[0; 4096], &[]] {
        bench.fails(&ten(0x41, 8, 0, 1), block, ILLEGAL, field);
        bench.fails(&sixteen(0x93, 8, 0, 1), block, ILLEGAL, field);
    }
    bench.fails(&sixteen(0x93, 1, 0, 1), &[0; 512], ILLEGAL, field);
    assert_eq!(calls(&bench), [""; 0]);
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.discard = None;
    device.geometry.lock().unwrap().size = 1 << 40;
    let bench = Bench::with(config(512), device);
    bench.fails(&ten(0x41, 8, 0, 1), &[0; 512], ILLEGAL, field);
    bench.fails(&ten(0x42, 0, 0, 0), &[], ILLEGAL, asc::INVALID_COMMAND_OPERATION_CODE);
    bench.fails(&sixteen(0x93, 0, 0, (1 << 23) + 1), &[0; 512], ILLEGAL, field);
    bench.fails(&sixteen(0x93, 0, 0, 0), &[0; 512], ILLEGAL, field);
}

#[test]
fn zeros_are_written_where_the_device_has_no_better_way() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.write_zeroes = false;
    let bench = Bench::with(config(512), device);
    bench.good(&ten(0x2a, 0, 0, 2), &[1; 1024]);
    bench.good(&ten(0x41, 0, 0, 1), &[0; 512]);
    assert_eq!(calls(&bench)[1..], ["write 0 512 false"]);
    assert_eq!(bench.good(&ten(0x28, 0, 0, 2), &[]), [[0; 512], [1; 512]].concat());
    bench.device().geometry.lock().unwrap().size = 1 << 40;
    let most = (256 << 20) / 512;
    let told = bench.good(&[0x12, 1, 0xb0, 0, 64, 0], &[]);
    assert_eq!(told[36..44], u64::from(most).to_be_bytes());
    bench.fails(&sixteen(0x93, 1, 0, most + 1), &[], ILLEGAL, asc::INVALID_FIELD_IN_CDB);
}

#[test]
fn write_same_to_the_end_keeps_others_out_of_it() {
    let bench = Bench::new();
    bench.device().hold(true);
    let mut same = pin!(bench.target.execute(&bench.nexus, Bench::command(&ten(0x41, 0, 8, 0), &[0; 512])));
    assert!(poll(same.as_mut()).is_pending());
    let write = |lba| bench.target.execute(&bench.nexus, Bench::command(&ten(0x2a, 0, lba, 1), &[1; 512]));
    let (mut inside, mut outside) = (pin!(write(2047)), pin!(write(7)));
    assert!(poll(inside.as_mut()).is_pending() && poll(outside.as_mut()).is_pending());
    let zero = format!("zero {} {}", 8 * 512, 2040 * 512);
    assert_eq!(*bench.device().calls.lock().unwrap(), [&zero, "write 3584 512 false"]);
    bench.device().hold(false);
    finish(same);
    finish(inside);
    assert_eq!(bench.good(&ten(0x28, 0, 2047, 1), &[]), [1; 512][..]);
}

#[test]
fn unmap_is_only_in_the_way_of_those_who_want_its_blocks_alone() {
    let bench = Bench::new();
    bench.device().hold(true);
    let list = unmap_list(&[(100, 4), (0, 0), (8, 4)]);
    let cdb = ten(0x42, 0, 0, list.len() as u16);
    let mut unmap = pin!(bench.target.execute(&bench.nexus, Bench::command(&cdb, &list)));
    for _ in 0..2 {
        assert!(poll(unmap.as_mut()).is_pending());
    }
    let compare = |lba| {
        let cdb = [0x89, 0, 0, 0, 0, 0, 0, 0, 0, lba, 0, 0, 0, 1, 0, 0];
        bench.target.execute(&bench.nexus, Bench::command(&cdb, &[0; 1024]))
    };
    let (mut below, mut between, mut above) = (pin!(compare(7)), pin!(compare(50)), pin!(compare(104)));
    for task in [&mut below, &mut between, &mut above] {
        assert!(poll(task.as_mut()).is_pending());
    }
    assert_eq!(
        *bench.device().calls.lock().unwrap(),
        ["discard 51200 2048", "read 3584 512", "read 53248 512"]
    );
    bench.device().hold(false);
    finish(unmap);
    finish(between);
}

#[test]
fn lba_status() {
    let bench = Bench::new();
    bench.good(&ten(0x2a, 0, 4, 2), &[1; 1024]);
    let status = |lba: u64, room: u32| {
        let mut cdb = sixteen(0x9e, 0x12, lba, room);
        cdb[10..14].copy_from_slice(&room.to_be_bytes());
        bench.good(&cdb, &[]).to_vec()
    };
    let run = |lba: u64, blocks: u32, status: u8| {
        [&lba.to_be_bytes()[..], &blocks.to_be_bytes(), &[status, 0, 0, 0]].concat()
    };
    let all = [vec![0, 0, 0, 52, 0, 0, 0, 0], run(0, 4, 1), run(4, 2, 0), run(6, 2042, 1)].concat();
    assert_eq!(status(0, 512), all);
    assert_eq!(status(5, 24), [vec![0, 0, 0, 20, 0, 0, 0, 0], run(5, 1, 0)].concat());
    assert_eq!(status(0, 4), [0, 0, 0, 20]);
    let out_of_range = sixteen(0x9e, 0x12, 2048, 24);
    bench.fails(&out_of_range, &[], ILLEGAL, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
}

#[test]
fn lba_status_of_large_blocks_and_of_devices_that_cannot_tell() {
    let bench = Bench::with(config(4096), RamDevice::new(1 << 20));
    bench.good(&ten(0x2a, 0, 1, 1), &[1; 4096]);
    let list = unmap_list(&[(1, 1)]);
    let data = bench.good(&sixteen(0x9e, 0x12, 0, 512), &[]);
    assert_eq!(data.len(), 8 + 3 * 16);
    bench.good(&ten(0x42, 0, 0, 24), &list);
    assert_eq!(bench.good(&sixteen(0x9e, 0x12, 0, 512), &[]).len(), 8 + 16);
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.allocation_map = false;
    let bench = Bench::with(config(512), device);
    let data = bench.good(&sixteen(0x9e, 0x12, 8, 24), &[]);
    assert_eq!(data[8..], [0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 7, 0xf8, 0, 0, 0, 0]);
}
