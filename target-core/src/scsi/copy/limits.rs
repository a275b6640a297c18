//! What a copy may ask for, as the Third-party Copy page and RECEIVE COPY OPERATING PARAMETERS tell it.

/// MAXIMUM CSCD DESCRIPTOR COUNT.
pub const CSCDS: u16 = 64;
/// MAXIMUM SEGMENT DESCRIPTOR COUNT.
pub const SEGMENTS: u16 = 256;
/// MAXIMUM DESCRIPTOR LIST LENGTH, for both kinds together.
pub const DESCRIPTOR_LIST: u32 =
    CSCDS as u32 * super::cscd::LENGTH as u32 + SEGMENTS as u32 * super::segment::LENGTH as u32;
/// MAXIMUM SEGMENT LENGTH in bytes: all that a segment descriptor can express, in blocks of 4096 bytes.
pub const SEGMENT_BYTES: u32 = u16::MAX as u32 * 4096;
/// DATA SEGMENT GRANULARITY, as a power of two: the smallest logical block.
pub const GRANULARITY: u8 = 9;
/// Descriptor type codes that are known, in ascending order.
pub const DESCRIPTORS: [u8; 2] = [super::segment::BLOCK_TO_BLOCK, super::cscd::IDENTIFICATION];
/// CSCD DESCRIPTOR ID of the unit that the command was sent to.
pub const OWN_UNIT: u16 = 0xffff;
/// MAXIMUM RANGE DESCRIPTORS of POPULATE TOKEN and WRITE USING TOKEN.
pub const RANGES: u16 = 64;
/// MAXIMUM BYTES IN BLOCK ROD: what a slow store copies within the patience of an initiator.
pub const TOKEN_BYTES: u64 = 256 << 20;
/// OPTIMAL BYTES IN BLOCK ROD TRANSFER.
pub const OPTIMAL_TOKEN_BYTES: u64 = 64 << 20;
