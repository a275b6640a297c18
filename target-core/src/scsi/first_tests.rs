//! What an initiator does first: identify, size, read, write.

use super::asc;
use super::command::DeviceServer;
use super::sense::SenseKey;
use crate::testing::{Bench, sense_of};

#[test]
fn reads_back_what_was_written() {
    let bench = Bench::new();
    let data: Vec<u8> = (0..1024_u32).map(|i| i as u8).collect();
    bench.good(&[0x2a, 0x08, 0, 0, 0, 5, 0, 0, 2, 0], &data);
    assert_eq!(bench.good(&[0x28, 0, 0, 0, 0, 5, 0, 0, 2, 0], &[]), data);
    assert_eq!(bench.good(&[0x08, 0, 0, 5, 2, 0], &[]), data);
    assert_eq!(bench.good(&[0xa8, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0], &[]), data);
    assert_eq!(bench.good(&[0x88, 0x10, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0], &[]), data);
    assert_eq!(
        *bench.device().calls.lock().unwrap(),
        ["write 2560 1024 true", "read 2560 1024", "read 2560 1024", "read 2560 1024", "read 2560 1024"]
    );
}

#[test]
fn capacity() {
    let bench = Bench::new();
    assert_eq!(bench.good(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[])[..], [0, 0, 7, 0xff, 0, 0, 2, 0]);
    let data = bench.good(&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0], &[]);
    let mut want = vec![0, 0, 0, 0, 0, 0, 7, 0xff, 0, 0, 2, 0, 0, 3, 0xc0];
    want.resize(32, 0);
    assert_eq!(data, want);
}

#[test]
fn beyond_the_end() {
    let bench = Bench::new();
    let response = bench.fails(
        &[0x28, 0, 0, 0, 7, 0xff, 0, 0, 2, 0],
        &[],
        SenseKey::IllegalRequest,
        asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE,
    );
    assert_eq!(response.sense_value.unwrap().information, Some(0x800));
    let response = bench.run(&[0xff; 16], &[]);
    assert_eq!(sense_of(&response), Some((SenseKey::IllegalRequest, asc::INVALID_COMMAND_OPERATION_CODE)));
}

#[test]
fn the_future_of_a_command_is_small() {
    let bench = Bench::new();
    let future = DeviceServer::execute(&bench.target, &bench.nexus, Bench::command(&[0; 6], &[]));
    let size = std::mem::size_of_val(&future);
    assert!(size <= 1024, "{size} bytes");
}
