//! Block device range descriptors (SBC-4 5.12.3).

use super::limits;
use crate::scsi::asc;
use crate::scsi::extent::Extent;
use crate::scsi::fields::Fields;
use crate::scsi::sense::Sense;
use std::ops::Range;

/// Bytes of a descriptor.
const LENGTH: usize = 16;

/// The ranges of a list whose length stands at `length_at` and which follows it: all of them within the capacity and the limits, none twice;
/// empty ones are left out. A last one that is not whole is ignored, and so are those that the parameter list has no room for.
pub fn parse(
    list: &[u8],
    length_at: usize,
    capacity: u64,
    block_size: u32,
) -> Result<Vec<Range<u64>>, Sense> {
    let length = usize::from(Fields(list).u16(length_at));
    if length < LENGTH {
        return Err(Sense::invalid_field_in_parameters(length_at as u16));
    }
    let rest = list.get(length_at + 2..).unwrap_or(&[]);
    let descriptors = rest.get(..length).unwrap_or(rest).chunks_exact(LENGTH);
    if descriptors.len() > usize::from(limits::RANGES) {
        return Err(Sense::illegal(asc::TOO_MANY_SEGMENT_DESCRIPTORS));
    }
    let fault = |at: usize| Sense::invalid_field_in_parameters((length_at + 2 + LENGTH * at) as u16);
    let most = limits::TOKEN_BYTES / u64::from(block_size);
    let mut total = 0;
    let mut ranges: Vec<Range<u64>> = Vec::with_capacity(descriptors.len());
    for (at, fields) in descriptors.map(Fields).enumerate() {
        let extent = Extent { lba: fields.u64(0), blocks: u64::from(fields.u32(8)) };
        let range = extent.within(capacity)?;
        if ranges.iter().any(|other| other.start < range.end && range.start < other.end) {
            return Err(fault(at));
        }
        total += extent.blocks;
        if total > most {
            return Err(fault(at));
        }
        if !range.is_empty() {
            ranges.push(range);
        }
    }
    Ok(ranges)
}
