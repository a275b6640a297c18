//! Linux's iSCSI initiator with its sd driver, as captured: probing, then what the block layer makes of discards and of zeroes.

use super::*;

/// REPORT SUPPORTED OPERATION CODES for one opcode, with the length that sd asks with.
fn supports(host: &Host, cdb: [u8; 12], room: u32) -> bool {
    host.read(&cdb, room)[1] & 7 == 3
}

#[test]
fn probes_a_disk() {
    let [host] = hosts();
    // Before the first unit attention: INQUIRY and REPORT LUNS neither meet it nor take it away.
    let inquiry = host.read(&[0x12, 0, 0, 0, 36, 0], 36);
    let length = inquiry[4] + 5;
    assert_eq!(host.read(&[0x12, 0, 0, 0, length, 0], length.into()).len(), usize::from(length));
    let pages = host.vital(0x00);
    for page in [0x80, 0x83, 0xb0, 0xb1, 0xb2] {
        assert!(pages[4..].contains(&page), "{page:02x} is not in {pages:02x?}");
        host.vital(page);
    }
    let luns = host.read(&[0xa0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0], 4096);
    assert_eq!((u32_at(&luns, 0), luns.len()), (8, 16));
    host.attention(RESET);
    host.write(&TEST_UNIT_READY, &[]);

    let capacity = host.read(&long(0x9e, 0x10, 0, 32), 32);
    assert_eq!((u32_at(&capacity, 4), u32_at(&capacity, 8)), ((64 << 11) - 1, 512));
    // Write protection, then the caching page: its header, then all of it.
    let modes = host.read(&[0x1a, 0, 0x3f, 0, 4, 0], 4);
    assert_eq!(modes[2] & 0x80, 0, "write protected");
    assert_ne!(modes[2] & 0x10, 0, "DPOFUA: FUA is used for barriers");
    let header = host.read(&[0x1a, 0, 0x08, 0, 4, 0], 4);
    assert_eq!(header[3], 8, "sd looks for the page behind the block descriptor");
    let caching = host.read(&[0x1a, 0, 0x08, 0, 32, 0], 32);
    assert_eq!((caching[12] & 0x3f, caching[14] & 0x04), (0x08, 0x04), "WCE: it has to flush");
    assert!(supports(&host, [0xa3, 0x0c, 1, 0x12, 0, 0, 0, 0, 0, 10, 0, 0], 10));
    assert!(supports(&host, [0xa3, 0x0c, 1, 0x93, 0, 0, 0, 0, 0, 20, 0, 0], 20));
    assert!(supports(&host, [0xa3, 0x0c, 1, 0x41, 0, 0, 0, 0, 0, 14, 0, 0], 14));
}

#[test]
fn discards_what_the_limits_allow() {
    let host = host();
    let capacity = host.read(&long(0x9e, 0x10, 0, 32), 32);
    assert_ne!(capacity[14] & 0x80, 0, "LBPME: without it sd asks no further");
    let (limits, provisioning) = (host.vital(0xb0), host.vital(0xb2));
    assert_ne!(provisioning[5] & 0x80, 0, "LBPU: sd sends UNMAP");
    assert_eq!(provisioning[5] >> 2 & 7, 1, "LBPRZ: what was given back reads as zeros");
    let (most, descriptors, granularity) = (u32_at(&limits, 20), u32_at(&limits, 24), u32_at(&limits, 28));
    assert!(most > 0 && descriptors > 0);
    assert_eq!(granularity, 8, "the file system's blocks");
    assert_eq!(u32_at(&limits, 32), 0x8000_0000, "UGAVALID");

    host.write(&long(0x8a, 0, 0, 64), &[0xa5; 64 * 512]);
    assert_eq!(status_at(&host, 0), (64, true));
    // sd sends one descriptor, as long as the limit says.
    let (cdb, list) = unmap(&[(8, 16)]);
    host.write(&cdb, &list);
    assert_eq!(status_at(&host, 8), (16, false));
    assert!(host.read(&long(0x88, 0, 8, 16), 16 * 512).iter().all(|byte| *byte == 0));
    let (cdb, list) = unmap(&[(0, most.min(64 << 11))]);
    host.write(&cdb, &list);
    assert_eq!(status_at(&host, 0), (64 << 11, false));
}

#[test]
fn zeroes_with_write_same() {
    let host = host();
    let limits = host.vital(0xb0);
    assert!(u32_at(&limits, 36) == 0 && u32_at(&limits, 40) >= 0xffff, "MAXIMUM WRITE SAME LENGTH");
    // BLKZEROOUT, then REQ_NOUNMAP: as captured from mkfs.ext4.
    host.write(&long(0x8a, 0, 0, 64), &[0xff; 64 * 512]);
    host.write(&long(0x93, 0x08, 0, 32), &[0; 512]);
    host.write(&long(0x93, 0x00, 32, 32), &[0; 512]);
    assert!(host.read(&long(0x88, 0, 0, 64), 64 * 512).iter().all(|byte| *byte == 0));
    assert_eq!(status_at(&host, 0), (32, false));
    // What may not be unmapped keeps its space.
    assert_eq!(status_at(&host, 32), (32, true));
    host.write(&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!(host.bench.device().calls.lock().unwrap().last().unwrap(), "flush");
}

/// REQ_FUA: the data has to reach the device as such, not by a flush that the host does not send.
#[test]
fn writes_through_with_fua() {
    let host = host();
    host.write(&[0x2a, 0x08, 0, 0, 0, 0, 0, 0, 8, 0], &[1; 4096]);
    assert_eq!(host.bench.device().calls.lock().unwrap().last().unwrap(), "write 0 4096 true");
}
