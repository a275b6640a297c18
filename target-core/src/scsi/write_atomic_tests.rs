use crate::scsi::asc;
use crate::scsi::sense::SenseKey;
use crate::testing::{Bench, RamDevice, config};

fn cdb(flags: u8, lba: u64, blocks: u16) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..2].copy_from_slice(&[0x9c, flags]);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[12..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// MAXIMUM ATOMIC TRANSFER LENGTH, ATOMIC ALIGNMENT and what follows them in the Block Limits page.
fn told(bench: &Bench) -> [u8; 20] {
    bench.good(&[0x12, 1, 0xb0, 0, 64, 0], &[])[44..].try_into().unwrap()
}

fn calls(bench: &Bench) -> Vec<String> {
    std::mem::take(&mut *bench.device().calls.lock().unwrap())
}

#[test]
fn what_the_device_promises_is_one_write() {
    let bench = Bench::new();
    assert_eq!(told(&bench), [0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bench.good(&cdb(0, 16, 8), &[7; 4096]);
    bench.good(&cdb(0x08, 8, 3), &[8; 1536]);
    assert_eq!(calls(&bench), ["write 8192 4096 false", "write 4096 1536 true"]);
    let refused = |cdb: &[u8], blocks: usize, byte: u8| {
        let response =
            bench.fails(cdb, &vec![0; blocks * 512], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
        assert_eq!(response.sense[17], byte);
    };
    refused(&cdb(0, 16, 9), 9, 12);
    refused(&cdb(0, 17, 1), 1, 2);
    // ATOMIC BOUNDARY.
    let mut bounded = cdb(0, 0, 8);
    bounded[11] = 4;
    refused(&bounded, 8, 11);
    let illegal = SenseKey::IllegalRequest;
    bench.fails(&cdb(0, 2048, 1), &[0; 512], illegal, asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
    bench.fails(&cdb(0, 0, 8), &[0; 512], illegal, asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
    bench.good(&cdb(0, 0, 0), &[]);
    assert!(calls(&bench).is_empty());
}

#[test]
fn a_device_that_promises_all_is_bounded_by_one_transfer() {
    for (promised, max_transfer, most) in
        [(u32::MAX, 1 << 20, 128), (u32::MAX, 8192, 16), (65536, 1 << 20, 128)]
    {
        let mut device = RamDevice::new(1 << 20);
        device.capabilities.atomic_write = promised;
        let bench = Bench::with(crate::lun::unit::UnitConfig { max_transfer, ..config(512) }, device);
        assert_eq!(told(&bench)[..8], [0, 0, 0, most, 0, 0, 0, 0]);
        bench.good(&cdb(0, 3, most.into()), &vec![1; usize::from(most) * 512]);
        assert_eq!(calls(&bench).len(), 1);
    }
}
