//! CDB usage that several commands share. Protection information is refused everywhere; a GROUP NUMBER is taken and changes nothing.

pub const TRANSFER_6: &[u8] = &[0, 0x1f, 0xff, 0xff, 0xff, 0];
/// DPO, FUA, and FUA_NV, which older initiators set and which asks for less than a backend here does anyway.
pub const TRANSFER_10: &[u8] = &ten(0x1a);
pub const TRANSFER_12: &[u8] = &twelve(0x1a);
pub const TRANSFER_16: &[u8] = &sixteen(0x1a);
/// DPO, BYTCHK of one bit.
pub const WRITE_AND_VERIFY_10: &[u8] = &ten(0x12);
pub const WRITE_AND_VERIFY_12: &[u8] = &twelve(0x12);
pub const WRITE_AND_VERIFY_16: &[u8] = &sixteen(0x12);
/// DPO, BYTCHK of two bits.
pub const VERIFY_10: &[u8] = &ten(0x16);
pub const VERIFY_12: &[u8] = &twelve(0x16);
pub const VERIFY_16: &[u8] = &sixteen(0x16);
/// DPO, FUA, and an ATOMIC BOUNDARY that is zero.
pub const WRITE_ATOMIC_16: &[u8] =
    &[0, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff, 0x3f, 0];
/// IMMED.
pub const IMMED_10: &[u8] = &ten(0x02);
pub const IMMED_16: &[u8] = &sixteen(0x02);
/// IMMED, and the obsolete SYNC_NV.
pub const SYNCHRONIZE_10: &[u8] = &ten(0x06);
pub const SYNCHRONIZE_16: &[u8] = &sixteen(0x06);
/// UNMAP.
pub const WRITE_SAME_10: &[u8] = &ten(0x08);
/// UNMAP, NDOB. ANCHOR is not supported; LBDATA and PBDATA are obsolete.
pub const WRITE_SAME_16: &[u8] = &sixteen(0x09);

const fn ten(flags: u8) -> [u8; 10] {
    [0, flags, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0]
}

const fn twelve(flags: u8) -> [u8; 12] {
    [0, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0]
}

const fn sixteen(flags: u8) -> [u8; 16] {
    [0, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0]
}
