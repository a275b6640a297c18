use crate::testing::{Bench, RamDevice, config};
use std::collections::BTreeMap;

/// The descriptors of the page by type.
fn descriptors(bench: &Bench) -> BTreeMap<u16, Vec<u8>> {
    let page = bench.good(&[0x12, 1, 0x8f, 0xff, 0xff, 0], &[]);
    assert_eq!(page[..2], [0, 0x8f]);
    assert_eq!(usize::from(u16::from_be_bytes([page[2], page[3]])), page.len() - 4);
    let mut rest = &page[4..];
    let mut all = BTreeMap::new();
    let mut kinds = Vec::new();
    while let [a, b, c, d, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*c, *d]));
        assert_eq!(length % 4, 0);
        let kind = u16::from_be_bytes([*a, *b]);
        kinds.push(kind);
        all.insert(kind, after[..length].to_vec());
        rest = &after[length..];
    }
    assert!(rest.is_empty() && kinds.is_sorted());
    all
}

#[test]
fn descriptors_as_windows_and_sg_vpd_read_them() {
    let all = descriptors(&Bench::with(config(4096), RamDevice::new(1 << 20)));
    let kinds: Vec<u16> = all.keys().copied().collect();
    assert_eq!(kinds, [0x0000, 0x0001, 0x0004, 0x0008, 0x000c, 0x0106, 0x0108, 0x8001]);
    let mut rod_limits = vec![0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 1, 44, 0, 0, 0, 30];
    rod_limits.extend_from_slice(&0x1_0000_u64.to_be_bytes());
    rod_limits.extend_from_slice(&0x4000_u64.to_be_bytes());
    assert_eq!(all[&0], rod_limits);
    assert_eq!(all[&1][..15], [14, 0x83, 5, 0, 1, 0x10, 0x11, 0x1c, 0x84, 5, 0, 3, 4, 5, 7]);
    assert_eq!(all[&4].len(), 28);
    assert_eq!(all[&4][4..12], [0, 64, 1, 0, 0, 0, 0x24, 0]);
    assert_eq!(all[&8], [2, 0x02, 0xe4, 0]);
    assert_eq!(all[&0x0c], [0, 2, 0xff, 0xff]);
    let features = &all[&0x0106];
    assert_eq!(features[20..24], [0, 0, 1, 44]);
    assert_eq!(features[42..48], [0, 48, 0, 0, 0, 0x2c]);
    assert_eq!(features[50..60], [0, 1, 0, 0, 0, 0, 0x10, 0, 0, 0]);
    assert_eq!(features.len(), 44 + 48);
    let types = &all[&0x0108];
    assert_eq!(types[2..4], [1, 0]);
    let told: Vec<(u32, u8)> = types[4..]
        .chunks(64)
        .map(|entry| (u32::from_be_bytes(entry[..4].try_into().unwrap()), entry[4]))
        .collect();
    assert_eq!(told, [(0x0080_0000, 3), (0x0080_0001, 3), (0x0080_ffff, 1), (0xffff_0001, 2)]);
    assert_eq!(types[4 + 64 + 6..][..2], [0xff, 0xff]);
    let general = &all[&0x8001];
    assert_eq!(general[..14], [0, 0, 0, 16, 0, 0, 0, 16, 0x0f, 0xff, 0xf0, 0, 9, 0]);
    assert_eq!(general.len(), 32);
}
