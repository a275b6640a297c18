//! Fields of all PDUs.

use bytes::Bytes;
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::{Isid, RESERVED_TAG, Serial};
use glint_target_core::scsi::lun_address::LunAddress;
use proptest::collection::vec;
use proptest::prelude::*;

pub fn digest() -> impl Strategy<Value = Digest> {
    prop_oneof![Just(Digest::None), Just(Digest::Crc32c)]
}

pub fn serial() -> impl Strategy<Value = Serial> {
    any::<u32>().prop_map(Serial)
}

pub fn lun() -> impl Strategy<Value = LunAddress> {
    any::<[u8; 8]>().prop_map(LunAddress)
}

/// A tag of a task.
pub fn tag() -> impl Strategy<Value = u32> {
    0..RESERVED_TAG
}

pub fn any_tag() -> impl Strategy<Value = u32> {
    prop_oneof![4 => tag(), 1 => Just(RESERVED_TAG)]
}

pub fn data() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..70).prop_map(Bytes::from)
}

pub fn isid() -> impl Strategy<Value = Isid> {
    any::<[u8; 6]>().prop_map(Isid)
}
