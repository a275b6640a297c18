//! QEMU's own iSCSI driver (libiscsi), as captured from qemu-img: opening, then discards, zeroes and allocation.

use super::*;

/// What it sends when it opens a disk.
fn open(host: &Host) {
    host.attention(RESET);
    host.write(&TEST_UNIT_READY, &[]);
    let inquiry = host.read(&[0x12, 0, 0, 0, 64, 0], 64);
    assert_eq!(inquiry[0] & 0x1f, 0, "a disk");
    host.read(&[0x12, 0, 0, 0, inquiry[4] + 5, 0], u32::from(inquiry[4]) + 5);
    let modes = host.read(&[0x1a, 0x08, 0x3f, 0, 255, 0], 255);
    assert_eq!((usize::from(modes[0]) + 1, modes[2] & 0x80), (modes.len(), 0), "not write protected");
    let capacity = host.read(&long(0x9e, 0x10, 0, 32), 32);
    assert_eq!(capacity[14] & 0xc0, 0xc0, "LBPME and LBPRZ");
    for page in [0x00, 0x83, 0xb0, 0xb2] {
        // It begins with 64 bytes, and asks again for what did not fit.
        let begin = host.read(&[0x12, 1, page, 0, 64, 0], 64);
        let length = u16::from_be_bytes([begin[2], begin[3]]) + 4;
        let all = host.vital(page);
        assert_eq!((all.len(), &all[..begin.len()]), (usize::from(length), &begin[..]));
    }
}

#[test]
fn opens_a_disk() {
    let [host] = hosts();
    open(&host);
    assert_eq!(host.read(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], 512), [0; 512]);
}

#[test]
fn discards_zeroes_and_asks_what_is_allocated() {
    let [host] = hosts();
    open(&host);
    host.write(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 128, 0], &[7; 128 * 512]);
    assert_eq!(status_at(&host, 0), (128, true));
    // discard=unmap
    let (cdb, list) = unmap(&[(0, 32)]);
    host.write(&cdb, &list);
    // detect-zeroes=unmap, then zeroes that have to be allocated.
    host.write(&long(0x93, 0x08, 32, 32), &[0; 512]);
    host.write(&long(0x93, 0x00, 64, 32), &[0; 512]);
    host.write(&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]);
    assert_eq!((status_at(&host, 0), status_at(&host, 64)), ((64, false), (64, true)));
    let data = host.read(&[0x28, 0, 0, 0, 0, 0, 0, 0, 128, 0], 128 * 512);
    assert!(data[..96 * 512].iter().all(|byte| *byte == 0));
    assert!(data[96 * 512..].iter().all(|byte| *byte == 7));
}
