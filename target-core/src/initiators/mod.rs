//! What initiators in use really send to a disk, in the order in which they send it, and what each of them goes by. Linux and QEMU as
//! captured on the wire; Windows and ESXi as their documentation and other targets' bug reports tell.

mod esxi;
mod linux;
mod qemu;
mod windows;

use crate::scsi::command::{Command, DeviceServer, Nexus, Response};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Asc, SenseKey, Status};
use crate::testing::{Bench, RamDevice, config, nexus, sense_of};
use std::sync::Arc;

/// Power on, reset, or bus device reset occurred: what the first command of a session meets.
const RESET: Asc = Asc(0x29, 0x00);
const TEST_UNIT_READY: [u8; 6] = [0; 6];

/// An initiator's way to a target, whose session has just begun.
struct Host {
    bench: Arc<Bench>,
    nexus: Arc<Nexus>,
}

/// As many as are asked for of the hosts of one disk of 64 MiB.
fn hosts<const N: usize>() -> [Host; N] {
    let bench = Arc::new(Bench::with(config(512), RamDevice::new(64 << 20)));
    std::array::from_fn(|index| {
        let nexus = nexus(index as u64 + 2);
        bench.target.nexus_established(&nexus);
        Host { bench: bench.clone(), nexus }
    })
}

/// One host that has met its first unit attention.
fn host() -> Host {
    let [host] = hosts();
    host.attention(RESET);
    host
}

impl Host {
    /// Sends a command as it is; no more than `room` bytes may come back.
    fn send(&self, lun: LunAddress, cdb: &[u8], data_out: &[u8], room: u32) -> Response {
        let command = Command { lun, data_in_room: room, ..Bench::command(cdb, data_out) };
        self.bench.execute(&self.nexus, command)
    }

    fn disk(&self, cdb: &[u8], data_out: &[u8], room: u32) -> Response {
        self.send(LunAddress::default(), cdb, data_out, room)
    }

    /// What a command that has to succeed reads.
    #[track_caller]
    fn read(&self, cdb: &[u8], room: u32) -> Vec<u8> {
        let response = self.disk(cdb, &[], room);
        assert_eq!(response.status, Status::Good, "{cdb:02x?}: {:x?}", response.sense_value);
        response.data_in.to_bytes().to_vec()
    }

    /// A command that has to succeed.
    #[track_caller]
    fn write(&self, cdb: &[u8], data_out: &[u8]) {
        let response = self.disk(cdb, data_out, 0);
        assert_eq!(response.status, Status::Good, "{cdb:02x?}: {:x?}", response.sense_value);
    }

    #[track_caller]
    fn conflicts(&self, cdb: &[u8], data_out: &[u8]) {
        assert_eq!(self.disk(cdb, data_out, 512).status, Status::ReservationConflict, "{cdb:02x?}");
    }

    #[track_caller]
    fn fails(&self, cdb: &[u8], data_out: &[u8], key: SenseKey, code: Asc) -> Response {
        let response = self.disk(cdb, data_out, 512);
        assert_eq!(sense_of(&response), Some((key, code)), "{cdb:02x?}");
        response
    }

    #[track_caller]
    fn attention(&self, code: Asc) {
        self.fails(&TEST_UNIT_READY, &[], SenseKey::UnitAttention, code);
    }

    /// A page of vital product data, read as most do: the header first, then as much as it tells of.
    #[track_caller]
    fn vital(&self, page: u8) -> Vec<u8> {
        let header = self.read(&[0x12, 1, page, 0, 4, 0], 4);
        let length = u16::from_be_bytes([header[2], header[3]]) + 4;
        let [high, low] = length.to_be_bytes();
        let data = self.read(&[0x12, 1, page, high, low, 0], u32::from(length));
        assert_eq!((data[1], data.len()), (page, usize::from(length)), "page {page:02x}");
        data
    }
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

/// A CDB of the 16-byte form: opcode, flags, address, length.
fn long(opcode: u8, flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (opcode, flags);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// UNMAP: CDB and list of extents.
fn unmap(extents: &[(u64, u32)]) -> ([u8; 10], Vec<u8>) {
    let descriptors = extents.len() as u16 * 16;
    let mut list = [(descriptors + 6).to_be_bytes(), descriptors.to_be_bytes(), [0; 2], [0; 2]].concat();
    for (lba, blocks) in extents {
        list.extend_from_slice(&lba.to_be_bytes());
        list.extend_from_slice(&blocks.to_be_bytes());
        list.extend_from_slice(&[0; 4]);
    }
    let [high, low] = (list.len() as u16).to_be_bytes();
    ([0x42, 0, 0, 0, 0, 0, 0, high, low, 0], list)
}

/// GET LBA STATUS of the first extent from an address on: its blocks, and whether it is mapped.
fn status_at(host: &Host, lba: u64) -> (u32, bool) {
    let mut cdb = long(0x9e, 0x12, lba, 24);
    cdb[1] = 0x12;
    let data = host.read(&cdb, 24);
    assert_eq!(data[8..16], lba.to_be_bytes());
    (u32_at(&data, 16), data[20] & 0x0f == 0)
}
