//! Limits of commands, as the Block Limits page tells them (SBC-4 6.6.4).

/// MAXIMUM COMPARE AND WRITE LENGTH: all that the CDB can express.
pub const COMPARE_AND_WRITE_BLOCKS: u8 = u8::MAX;

/// MAXIMUM UNMAP LBA COUNT, for all descriptors of a command together.
pub const UNMAP_BLOCKS: u32 = 1 << 20;

/// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
pub const UNMAP_DESCRIPTORS: u32 = 256;

/// MAXIMUM WRITE SAME LENGTH: at 512 bytes 4 GiB, which is mostly zeros and then costs a device little.
pub const WRITE_SAME_BLOCKS: u64 = 1 << 23;
