use super::*;
use crate::scsi::command::{DeviceServer, TaskManagement};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{SenseKey, Status};
use crate::testing::{Bench, finish, nexus, sense_of};

fn write(mode: u8, id: u8, offset: u32, len: u32) -> [u8; 10] {
    let (offset, len) = (offset.to_be_bytes(), len.to_be_bytes());
    [0x3b, mode, id, offset[1], offset[2], offset[3], len[1], len[2], len[3], 0]
}

fn read(mode: u8, id: u8, offset: u32, len: u32) -> [u8; 10] {
    [&[0x3c], &write(mode, id, offset, len)[1..]].concat().try_into().unwrap()
}

fn read_16(mode: u8, id: u8, offset: u64, len: u32) -> [u8; 16] {
    [&[0x9b, mode][..], &offset.to_be_bytes(), &len.to_be_bytes(), &[id, 0]].concat().try_into().unwrap()
}

#[test]
fn every_nexus_has_its_echo() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    let echo = read(0x0a, 0, 0, 4096);
    bench.fails(&echo, &[], SenseKey::IllegalRequest, asc::COMMAND_SEQUENCE_ERROR);
    bench.good(&write(0x0a, 7, 9, 4), b"mine");
    assert_eq!(bench.run_as(&other, &write(0x0a, 0, 0, 6), b"theirs").status, Status::Good);
    assert_eq!(bench.good(&echo, &[])[..], *b"mine");
    assert_eq!(bench.good(&read(0x0a, 0, 0, 2), &[])[..], *b"mi");
    assert_eq!(bench.good(&read_16(0x0a, 0, 0, 99), &[])[..], *b"mine");
    assert_eq!(bench.run_as(&other, &echo, &[]).data_in.to_bytes()[..], *b"theirs");
    bench.good(&write(0x0a, 0, 0, 4096), &[7; 4096]);
    assert_eq!(bench.good(&echo, &[]), vec![7; 4096]);
    let reset = TaskManagement::ITNexusReset;
    finish(bench.target.manage(&other, reset));
    assert!(bench.unit.buffers().echo(other.id).is_none());
    bench.target.nexus_lost(&bench.nexus);
    assert!(bench.unit.buffers().echo(bench.nexus.id).is_none());
}

#[test]
fn descriptors() {
    let bench = Bench::new();
    assert_eq!(bench.good(&read(0x0b, 0, 0, 4), &[])[..], [1, 0, 0x10, 0]);
    assert_eq!(bench.good(&read(0x03, 0, 0, 4), &[])[..], [0, 1, 0, 0]);
    assert_eq!(bench.good(&read(0x03, 1, 0, 4), &[])[..], [0; 4]);
    assert_eq!(bench.good(&read_16(0x03, 0, 0, 3), &[])[..], [0, 1, 0]);
}

#[test]
fn the_data_buffer_is_shared() {
    let bench = Bench::new();
    let other = nexus(2);
    bench.login(&other);
    assert_eq!(bench.good(&read(0x02, 0, 0, 0xff_ffff), &[]), vec![0; 65536]);
    bench.good(&write(0x02, 0, 100, 3), b"abc");
    let all = bench.run_as(&other, &read(0x02, 0, 99, 6), &[]).data_in.to_bytes();
    assert_eq!(all[..], *b"\0abc\0\0");
    assert_eq!(bench.good(&read_16(0x02, 0, 65535, 6), &[])[..], [0]);
    assert!(bench.good(&read(0x02, 0, 65536, 6), &[]).is_empty());
    bench.good(&write(0x02, 0, 65534, 2), b"zz");
    bench.good(&write(0x02, 0, 65536, 0), b"");
    let reset = TaskManagement::LogicalUnitReset { lun: LunAddress([0; 8]) };
    finish(bench.target.manage(&bench.nexus, reset));
    bench.run(&[0; 6], &[]);
    assert_eq!(bench.good(&read(0x02, 0, 100, 3), &[])[..], [0; 3]);
}

#[test]
fn all_else_is_refused() {
    let bench = Bench::new();
    let refused = |cdb: &[u8], data: &[u8]| {
        let response = bench.run(cdb, data);
        assert_eq!(
            sense_of(&response),
            Some((SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB)),
            "{cdb:x?}"
        );
        response.sense[15..18].to_vec()
    };
    for microcode in [0x04, 0x05, 0x06, 0x07, 0x0d, 0x0e, 0x0f] {
        assert_eq!(refused(&write(microcode, 0, 0, 4), &[0; 4]), [0xcc, 0, 1]);
    }
    assert_eq!(refused(&read(0x1c, 0, 0, 4), &[]), [0xcc, 0, 1]);
    assert_eq!(refused(&read(0x22, 0, 0, 4), &[]), [0xcd, 0, 1], "MODE SPECIFIC");
    assert_eq!(refused(&write(0x02, 1, 0, 4), &[0; 4]), [0xcf, 0, 2]);
    assert_eq!(refused(&read(0x02, 1, 0, 4), &[]), [0xcf, 0, 2]);
    assert_eq!(refused(&read_16(0x02, 1, 0, 4), &[]), [0xcf, 0, 14]);
    assert_eq!(refused(&read(0x02, 0, 65537, 4), &[]), [0xcf, 0, 3]);
    assert_eq!(refused(&read_16(0x02, 0, u64::MAX, 4), &[]), [0xcf, 0, 2]);
    assert_eq!(refused(&write(0x02, 0, 65537, 0), &[]), [0xcf, 0, 3]);
    assert_eq!(refused(&write(0x02, 0, 65535, 2), &[0; 2]), [0xcf, 0, 6]);
    assert_eq!(refused(&write(0x0a, 0, 0, 4097), &[0; 4097]), [0xcf, 0, 6]);
    bench.fails(&write(0x0a, 0, 0, 4), b"abc", SenseKey::IllegalRequest, asc::PARAMETER_LIST_LENGTH_ERROR);
}
