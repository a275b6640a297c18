//! Windows: the iSCSI initiator's scan, the disk class driver's questions, TRIM, and the persistent reservations of failover clusters
//! (as the cluster's validation tests them). Offloaded data transfer has tests of its own.

use super::*;

/// Registrations were preempted, reservations were preempted or released.
const RELEASED: Asc = Asc(0x2a, 0x04);
const PREEMPTED: Asc = Asc(0x2a, 0x05);
/// WRITE EXCLUSIVE - REGISTRANTS ONLY, which clusters use.
const REGISTRANTS_ONLY: u8 = 5;

const READ: [u8; 16] = [0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0];

/// PERSISTENT RESERVE OUT.
fn out(action: u8, kind: u8, key: u64, action_key: u64) -> ([u8; 10], Vec<u8>) {
    let list = [&key.to_be_bytes()[..], &action_key.to_be_bytes(), &[0; 8]].concat();
    ([0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0], list)
}

fn reserve_out(host: &Host, action: u8, kind: u8, key: u64, action_key: u64) -> Status {
    let (cdb, list) = out(action, kind, key, action_key);
    host.disk(&cdb, &list, 0).status
}

/// READ KEYS.
fn keys(host: &Host) -> Vec<u64> {
    let data = host.read(&[0x5e, 0, 0, 0, 0, 0, 0, 1, 0, 0], 256);
    assert_eq!(u32_at(&data, 4) as usize, data.len() - 8);
    data[8..].chunks(8).map(|key| u64::from_be_bytes(key.try_into().unwrap())).collect()
}

/// READ RESERVATION: holder's key and type.
fn reservation(host: &Host) -> Option<(u64, u8)> {
    let data = host.read(&[0x5e, 1, 0, 0, 0, 0, 0, 1, 0, 0], 256);
    (data.len() > 8).then(|| (u64::from_be_bytes(data[8..16].try_into().unwrap()), data[21] & 0x0f))
}

#[test]
fn scans_a_target() {
    let [host] = hosts();
    // REPORT LUNS comes before any unit attention has been taken, to LUN 0 and to the well-known unit, with a large buffer.
    let cdb = [0xa0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x08, 0, 0];
    for lun in [LunAddress::default(), LunAddress([0xc1, 1, 0, 0, 0, 0, 0, 0])] {
        let told = host.send(lun, &cdb, &[], 0x808);
        assert_eq!(told.status, Status::Good);
        assert_eq!(told.data_in.to_bytes()[..], [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    let well_known = LunAddress::REPORT_LUNS;
    let inquiry = host.send(well_known, &[0x12, 0, 0, 0, 36, 0], &[], 36).data_in.to_bytes();
    assert_eq!(inquiry[0] & 0x1f, 0x1e, "a well-known unit is no disk");
    // LUNs that are not there are no error either: nothing is connected there.
    for number in 1..8 {
        let absent = host.send(LunAddress::from_number(number), &[0x12, 0, 0, 0, 36, 0], &[], 36);
        assert_eq!((absent.status, absent.data_in.to_bytes()[0]), (Status::Good, 0x7f));
    }
    let inquiry = host.read(&[0x12, 0, 0, 0, 36, 0], 36);
    assert_eq!((inquiry[0], inquiry[2] >= 5, inquiry[3] & 0x0f), (0, true, 2));
    let pages = host.vital(0x00);
    for page in [0x80, 0x83, 0xb0, 0xb1, 0xb2] {
        assert!(pages[4..].contains(&page), "{page:02x}");
        // Its buffers are of 255 bytes.
        let data = host.read(&[0x12, 1, page, 0, 0xff, 0], 0xff);
        assert_eq!((data[0], data[1]), (0, page));
    }
    host.attention(RESET);
}

#[test]
fn the_disk_driver_asks() {
    let host = host();
    assert_eq!(u32_at(&host.read(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8), 4), 512);
    let capacity = host.read(&long(0x9e, 0x10, 0, 32), 32);
    assert_eq!(capacity[13] & 0x0f, 3, "eight logical blocks to a physical one: it aligns partitions");
    // All pages, caching, informational exceptions; with block descriptors, into buffers of 192 bytes.
    for page in [0x3f, 0x08, 0x1c] {
        let modes = host.read(&[0x1a, 0, page, 0, 192, 0], 192);
        assert_eq!((usize::from(modes[0]) + 1, modes[3]), (modes.len(), 8), "page {page:02x}");
        if page != 0x3f {
            assert_eq!(modes[12] & 0x3f, page);
        }
        let modes = host.read(&[0x5a, 0, page, 0, 0, 0, 0, 0, 192, 0], 192);
        assert_eq!(usize::from(u16::from_be_bytes([modes[0], modes[1]])) + 2, modes.len(), "page {page:02x}");
    }
    // Thin disks are "optimized" when block limits and provisioning say so.
    let (limits, provisioning) = (host.vital(0xb0), host.vital(0xb2));
    assert!(u32_at(&limits, 20) > 0 && u32_at(&limits, 24) > 0 && u32_at(&limits, 28) > 0);
    assert_eq!((provisioning[5] & 0x80, provisioning[6] & 7), (0x80, 2));
    assert_eq!(
        u16::from_be_bytes([host.vital(0xb1)[4], host.vital(0xb1)[5]]),
        1,
        "solid state: no defragmenting"
    );
}

#[test]
fn reads_and_writes_with_long_commands() {
    let host = host();
    let kept = |host: &Host| host.read(&long(0x88, 0, 96, 8), 4096).iter().all(|byte| *byte == 3);
    host.write(&long(0x8a, 0x08, 96, 16), &[3; 8192]);
    assert!(kept(&host));
    host.write(&long(0x91, 0, 0, 0), &[]);
    host.write(&long(0x8f, 0, 96, 16), &[]);
    // TRIM: what was deleted, in one list.
    let (cdb, list) = unmap(&[(80, 8), (104, 8)]);
    host.write(&cdb, &list);
    assert!(kept(&host));
    assert_eq!((status_at(&host, 96), status_at(&host, 104).1), ((8, true), false));
}

#[test]
fn a_cluster_takes_hands_over_and_defends_a_disk() {
    let [first, second, third] = hosts();
    [&first, &second, &third].iter().for_each(|host| host.attention(RESET));
    // Nodes register whatever was registered before, and only one can reserve.
    assert_eq!(reserve_out(&first, 6, 0, 0, 0xa), Status::Good);
    assert_eq!(reserve_out(&second, 6, 0, 0, 0xb), Status::Good);
    assert_eq!(reserve_out(&first, 1, REGISTRANTS_ONLY, 0xa, 0), Status::Good);
    assert_eq!(reserve_out(&second, 1, REGISTRANTS_ONLY, 0xb, 0), Status::ReservationConflict);
    assert_eq!((keys(&second), reservation(&second)), (vec![0xa, 0xb], Some((0xa, REGISTRANTS_ONLY))));
    // Who is registered writes; who is not reads, and may look and not touch.
    second.write(&long(0x8a, 0, 0, 1), &[1; 512]);
    third.conflicts(&long(0x8a, 0, 0, 1), &[2; 512]);
    assert_eq!(third.read(&READ, 512), [1; 512]);
    assert_eq!(reserve_out(&third, 2, REGISTRANTS_ONLY, 0, 0), Status::ReservationConflict);
    third.conflicts(&[0x16, 0, 0, 0, 0, 0], &[]);
    // The holder gives the disk up: the other is told, and takes it.
    assert_eq!(reserve_out(&first, 2, REGISTRANTS_ONLY, 0xa, 0), Status::Good);
    second.attention(RELEASED);
    assert_eq!(reserve_out(&second, 1, REGISTRANTS_ONLY, 0xb, 0), Status::Good);
    // The holder has died: a survivor registers and preempts it.
    assert_eq!(reserve_out(&third, 6, 0, 0, 0xc), Status::Good);
    assert_eq!(reserve_out(&third, 4, REGISTRANTS_ONLY, 0xc, 0xb), Status::Good);
    assert_eq!((keys(&third), reservation(&third)), (vec![0xa, 0xc], Some((0xc, REGISTRANTS_ONLY))));
    second.attention(PREEMPTED);
    second.conflicts(&long(0x8a, 0, 0, 1), &[3; 512]);
    // Its return: not with the old key.
    assert_eq!(reserve_out(&second, 1, REGISTRANTS_ONLY, 0xb, 0), Status::ReservationConflict);
    // Validation cleans up.
    assert_eq!(reserve_out(&third, 3, 0, 0xc, 0), Status::Good);
    assert_eq!((keys(&third), reservation(&third)), (vec![], None));
    second.write(&long(0x8a, 0, 0, 1), &[4; 512]);
}
