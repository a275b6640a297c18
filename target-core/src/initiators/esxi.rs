//! VMware ESXi: its hardware acceleration (VAAI) - locks by COMPARE AND WRITE, zeroes by WRITE SAME, UNMAP -, the pages by which it finds
//! out about that, and the older reservations that it falls back on. Copying has tests of its own.

use super::*;
use crate::scsi::command::{TaskManagement, TaskManagementOutcome};
use crate::testing::finish;
use std::thread;

const RESERVE: [u8; 6] = [0x16, 0, 0, 0, 0, 0];
const RELEASE: [u8; 6] = [0x17, 0, 0, 0, 0, 0];

/// A lock of VMFS is a block: what it is thought to be, then what it is to be.
fn test_and_set(lba: u64, old: u8, new: u8) -> ([u8; 16], Vec<u8>) {
    let mut cdb = long(0x89, 0, lba, 0);
    cdb[13] = 1;
    (cdb, [[old; 512], [new; 512]].concat())
}

#[test]
fn finds_out_what_is_accelerated() {
    let host = host();
    let inquiry = host.read(&[0x12, 0, 0, 0, 36, 0], 36);
    assert_ne!(inquiry[5] & 0x10, 0, "implicit ALUA");
    assert_ne!(inquiry[5] & 0x08, 0, "third-party copy");
    assert!(host.vital(0x00)[4..].contains(&0x86), "extended INQUIRY data");
    assert_eq!(host.vital(0x86).len(), 64);
    let designators = host.vital(0x83);
    assert!(designators[4..].windows(3).any(|head| head == [0x01, 0x03, 0]), "an NAA name: the datastore's");
    let (limits, provisioning) = (host.vital(0xb0), host.vital(0xb2));
    assert!(limits[5] >= 1, "MAXIMUM COMPARE AND WRITE LENGTH");
    assert!(u32_at(&limits, 20) > 0 && u32_at(&limits, 24) > 0, "UNMAP");
    assert_ne!(provisioning[5] & 0x80, 0, "LBPU");
    assert_eq!(provisioning[6] & 7, 2, "thin: it tells how full a datastore may become");
}

#[test]
fn takes_locks_atomically() {
    let [first, second] = hosts();
    [&first, &second].iter().for_each(|host| host.attention(RESET));
    let (cdb, data) = test_and_set(5, 0, 1);
    first.write(&cdb, &data);
    // The other one lost, and learns where the block differs: at its first byte.
    let (cdb, data) = test_and_set(5, 0, 2);
    let lost = second.fails(&cdb, &data, SenseKey::Miscompare, Asc(0x1d, 0));
    assert_eq!((lost.sense[0], u32_at(&lost.sense, 3)), (0xf0, 0), "INFORMATION is valid, offset 0");
    assert_eq!(second.read(&long(0x88, 0, 5, 1), 512), [1; 512]);
}

#[test]
fn only_one_of_many_takes_a_lock() {
    let hosts: [Host; 8] = hosts();
    hosts.iter().for_each(|host| host.attention(RESET));
    for round in 0..50 {
        let taken: usize = thread::scope(|scope| {
            let take = |host: &Host, new| {
                let (cdb, data) = test_and_set(9, round, new);
                host.disk(&cdb, &data, 0).status == Status::Good
            };
            let threads: Vec<_> =
                hosts.iter().map(|host| scope.spawn(move || take(host, round + 1))).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        });
        assert_eq!(taken, 1, "round {round}");
    }
}

#[test]
fn zeroes_a_new_disk_and_gives_a_deleted_one_back() {
    let host = host();
    // "Eager zeroed": a MiB at a time, one block of zeros.
    host.write(&long(0x8a, 0, 0, 128), &[9; 128 * 512]);
    for part in 0..4 {
        host.write(&long(0x93, 0, part * 2048, 2048), &[0; 512]);
    }
    assert!(host.read(&long(0x88, 0, 0, 128), 128 * 512).iter().all(|byte| *byte == 0));
    assert_eq!(status_at(&host, 0), (4 * 2048, true));
    // Many extents in a list.
    let extents: Vec<_> = (0..100).map(|at| (at * 16, 8)).collect();
    let (cdb, list) = unmap(&extents);
    host.write(&cdb, &list);
    assert_eq!((status_at(&host, 0), status_at(&host, 8)), ((8, false), (8, true)));
    assert_eq!((status_at(&host, 99 * 16), status_at(&host, 99 * 16 + 8).1), ((8, false), true));
}

#[test]
fn reserves_and_breaks_reservations_of_others() {
    let [first, second] = hosts();
    [&first, &second].iter().for_each(|host| host.attention(RESET));
    first.write(&RESERVE, &[]);
    first.write(&RESERVE, &[]);
    second.conflicts(&RESERVE, &[]);
    second.conflicts(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &[0; 512]);
    // Another's RELEASE does nothing and is no error.
    second.write(&RELEASE, &[]);
    second.conflicts(&RESERVE, &[]);
    // What a host does whose peer has died with the reservation.
    let reset = TaskManagement::LogicalUnitReset { lun: LunAddress::default() };
    let done = finish(second.bench.target.manage(&second.nexus, reset));
    assert_eq!(done, TaskManagementOutcome::Complete);
    let told = first.disk(&TEST_UNIT_READY, &[], 0);
    assert_eq!(sense_of(&told).map(|(key, code)| (key, code.0)), Some((SenseKey::UnitAttention, 0x29)));
    let own = second.disk(&RESERVE, &[], 0);
    if own.status != Status::Good {
        assert_eq!(sense_of(&own).map(|(_, code)| code.0), Some(0x29));
        second.write(&RESERVE, &[]);
    }
    first.conflicts(&RESERVE, &[]);
    second.write(&RELEASE, &[]);
    first.write(&RESERVE, &[]);
    // A host that vanishes leaves nothing behind.
    first.bench.target.nexus_lost(&first.nexus);
    second.write(&RESERVE, &[]);
}
