//! INQUIRY data byte by byte.

use super::asc;
use super::sense::SenseKey;
use crate::testing::{Bench, RamDevice, config};

fn page(bench: &Bench, code: u8) -> Vec<u8> {
    bench.good(&[0x12, 1, code, 2, 0, 0], &[]).to_vec()
}

#[test]
fn standard() {
    let mut want = vec![0x00, 0x00, 0x06, 0x02, 91, 0x38, 0x00, 0x02];
    want.extend_from_slice(b"GLINT   Block volume    0.1 ");
    want.resize(58, 0);
    want.extend_from_slice(&[0x00, 0xa0, 0x09, 0x60, 0x04, 0x60, 0x05, 0xc0, 0x04, 0xc0, 0x06, 0x00]);
    want.resize(96, 0);
    let bench = Bench::new();
    assert_eq!(bench.good(&[0x12, 0, 0, 2, 0, 0], &[]), want);
    for room in [0, 1, 5, 36, 95, 96, 97, 255] {
        assert_eq!(bench.good(&[0x12, 0, 0, 0, room, 0], &[]), want[..usize::from(room).min(96)]);
    }
    let mut removable = config(512);
    removable.removable = true;
    let bench = Bench::with(removable, RamDevice::new(1 << 20));
    assert_eq!(bench.good(&[0x12, 0, 0, 0, 2, 0], &[])[..], [0, 0x80]);
}

#[test]
fn wrong_pages() {
    let bench = Bench::new();
    let refused = |cdb: [u8; 6]| bench.fails(&cdb, &[], SenseKey::IllegalRequest, asc::INVALID_FIELD_IN_CDB);
    assert_eq!(refused([0x12, 0, 1, 0, 96, 0]).sense[15..18], [0xcf, 0, 2]);
    refused([0x12, 1, 1, 0, 96, 0]);
    // CMDDT
    assert_eq!(refused([0x12, 2, 0, 0, 96, 0]).sense[15..18], [0xc9, 0, 1]);
}

#[test]
fn list_of_pages_names_pages_that_there_are() {
    let bench = Bench::new();
    let list = page(&bench, 0);
    assert_eq!(list, [0, 0, 0, 10, 0x00, 0x80, 0x83, 0x86, 0x87, 0x88, 0x8f, 0xb0, 0xb1, 0xb2]);
    for code in &list[4..] {
        let data = page(&bench, *code);
        assert_eq!(data[1], *code);
        assert_eq!(usize::from(u16::from_be_bytes([data[2], data[3]])) + 4, data.len());
    }
}

#[test]
fn serial_number() {
    assert_eq!(page(&Bench::new(), 0x80), *b"\0\x80\0\x0a0123456789");
}

#[test]
fn device_identification() {
    // The NAA designator is 3h and the lower 60 bits of the first half of SHA-256("0123456789").
    let naa = [0x34, 0xd8, 0x98, 0x77, 0xf0, 0xd4, 0x04, 0x1e];
    let mut want = vec![0, 0x83, 0, 0];
    want.extend_from_slice(&[0x01, 0x03, 0, 8]);
    want.extend_from_slice(&naa);
    want.extend_from_slice(&[0x02, 0x01, 0, 18]);
    want.extend_from_slice(b"GLINT   0123456789");
    want.extend_from_slice(&[0x03, 0x08, 0, 24]);
    want.extend_from_slice(b"naa.34D89877F0D4041E\0\0\0\0");
    want.extend_from_slice(&[0x51, 0x94, 0, 4, 0, 0, 0, 1]);
    want.extend_from_slice(&[0x51, 0x95, 0, 4, 0, 0, 0, 1]);
    want.extend_from_slice(&[0x53, 0x98, 0, 36]);
    want.extend_from_slice(b"iqn.2026-12.io.glint:demo,t,0x0001\0\0");
    want.extend_from_slice(&[0x53, 0xa8, 0, 28]);
    want.extend_from_slice(b"iqn.2026-12.io.glint:demo\0\0\0");
    want[3] = (want.len() - 4) as u8;
    assert_eq!(page(&Bench::new(), 0x83), want);
}

#[test]
fn extended_inquiry() {
    let mut want = vec![0, 0x86, 0, 60, 0, 0x0f, 0x01, 0x01, 0x08, 0, 0, 1];
    want.resize(64, 0);
    assert_eq!(page(&Bench::new(), 0x86), want);
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.volatile_cache = false;
    want[6] = 0;
    assert_eq!(page(&Bench::with(config(512), device), 0x86), want);
}

#[test]
fn mode_page_policy() {
    assert_eq!(page(&Bench::new(), 0x87), [0, 0x87, 0, 4, 0x3f, 0xff, 0, 0]);
}

#[test]
fn scsi_ports() {
    let bench = Bench::new();
    let port = |relative: u8, name: &[u8]| {
        let header = [0, 0, 0, relative, 0, 0, 0, 0, 0, 0, 0, 40, 0x53, 0x98, 0, 36];
        [&header, name].concat()
    };
    let own = port(1, b"iqn.2026-12.io.glint:demo,t,0x0001\0\0");
    assert_eq!(page(&bench, 0x88), [&[0, 0x88, 0, 52][..], &own].concat());
    bench.target.set_ports([(1, 1), (9, 0x2a)]);
    let other = port(9, b"iqn.2026-12.io.glint:demo,t,0x002a\0\0");
    assert_eq!(page(&bench, 0x88), [&[0, 0x88, 0, 104][..], &own, &other].concat());
}

#[test]
fn block_limits() {
    let mut want = vec![0, 0xb0, 0, 60, 0, 255];
    want.extend_from_slice(&8_u16.to_be_bytes()); // OPTIMAL TRANSFER LENGTH GRANULARITY: 4096
    want.extend_from_slice(&2048_u32.to_be_bytes()); // MAXIMUM TRANSFER LENGTH: 1 MiB
    want.extend_from_slice(&128_u32.to_be_bytes()); // OPTIMAL TRANSFER LENGTH: 64 KiB
    want.extend_from_slice(&0_u32.to_be_bytes());
    want.extend_from_slice(&0x10_0000_u32.to_be_bytes()); // MAXIMUM UNMAP LBA COUNT
    want.extend_from_slice(&256_u32.to_be_bytes());
    want.extend_from_slice(&8_u32.to_be_bytes()); // OPTIMAL UNMAP GRANULARITY
    want.extend_from_slice(&0x8000_0000_u32.to_be_bytes());
    want.extend_from_slice(&0x80_0000_u64.to_be_bytes()); // MAXIMUM WRITE SAME LENGTH
    want.extend_from_slice(&8_u32.to_be_bytes()); // MAXIMUM ATOMIC TRANSFER LENGTH: the device promises 4096 bytes
    want.extend_from_slice(&8_u32.to_be_bytes()); // ATOMIC ALIGNMENT
    want.resize(64, 0);
    assert_eq!(page(&Bench::new(), 0xb0), want);
}

#[test]
fn without_discard_there_is_no_thin_provisioning() {
    let mut device = RamDevice::new(1 << 20);
    device.capabilities.discard = None;
    let bench = Bench::with(config(4096), device);
    let limits = page(&bench, 0xb0);
    assert_eq!(limits[36..44], 0x10_0000_u64.to_be_bytes(), "MAXIMUM WRITE SAME LENGTH: 4 GiB here too");
    assert_eq!(limits[6..8], [0, 1]);
    assert_eq!(limits[8..12], 256_u32.to_be_bytes());
    assert_eq!(limits[20..36], [0; 16]);
    assert_eq!(page(&bench, 0xb2), [0, 0xb2, 0, 4, 0, 0, 0, 0]);
    let capacity = bench.good(&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0], &[]);
    assert_eq!(capacity[..16], [0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0x10, 0, 0, 0, 0, 0]);
}

#[test]
fn characteristics_and_provisioning() {
    let bench = Bench::new();
    let mut want = vec![0, 0xb1, 0, 60, 0, 1, 0, 0x40]; // non-rotating; WABEREQ 01b
    want.resize(64, 0);
    assert_eq!(page(&bench, 0xb1), want);
    assert_eq!(page(&bench, 0xb2), [0, 0xb2, 0, 4, 0, 0xe4, 0x02, 0]);
}
