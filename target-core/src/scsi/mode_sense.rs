//! MODE SENSE(6) and (10) (SPC-5 6.16, 6.17).

use super::asc;
use super::mode_pages::{ModePage, PAGES};
use super::mode_values::ModeValues;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::unit::LogicalUnit;

/// All pages; with subpage FFh all subpages too.
const ALL: u8 = 0x3f;
/// All subpages.
const ALL_SUBPAGES: u8 = 0xff;

/// Header of four bytes, and a block descriptor of 8.
pub fn mode_sense_6<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let pages = pages(request)?;
    let descriptor = match request.cdb().bit(1, 3) {
        true => Vec::new(),
        false => short_descriptor(request.unit),
    };
    let length = 3 + descriptor.len() + pages.len();
    let mut data = vec![
        u8::try_from(length).unwrap_or(u8::MAX),
        0, // MEDIUM TYPE
        device_specific(request.unit),
        descriptor.len() as u8,
    ];
    data.extend(descriptor);
    data.extend(pages);
    Ok(Reply::data(data))
}

/// Header of eight bytes, and a block descriptor of 8 or with LLBAA of 16.
pub fn mode_sense_10<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let pages = pages(request)?;
    let long = request.cdb().bit(1, 4);
    let descriptor = match (request.cdb().bit(1, 3), long) {
        (true, _) => Vec::new(),
        (false, false) => short_descriptor(request.unit),
        (false, true) => long_descriptor(request.unit),
    };
    let length = 6 + descriptor.len() + pages.len();
    let mut data = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes().to_vec();
    let long_lba = u8::from(long && !descriptor.is_empty());
    data.extend_from_slice(&[0, device_specific(request.unit), long_lba, 0, 0, descriptor.len() as u8]);
    data.extend(descriptor);
    data.extend(pages);
    Ok(Reply::data(data))
}

/// DEVICE-SPECIFIC PARAMETER (SBC-4 6.5.1): WP and DPOFUA.
fn device_specific<D: BlockDevice>(unit: &LogicalUnit<D>) -> u8 {
    let protected = unit.is_read_only() || unit.modes().get().swp;
    u8::from(protected) << 7 | 0x10
}

/// SBC-4 6.5.2.2: FFFFFFFFh where the number of blocks does not fit.
fn short_descriptor<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<u8> {
    let blocks = u32::try_from(unit.capacity()).unwrap_or(u32::MAX);
    let mut descriptor = blocks.to_be_bytes().to_vec();
    descriptor.extend_from_slice(&unit.block_size().to_be_bytes()); // the first byte is reserved, and zero
    descriptor
}

/// SBC-4 6.5.2.3.
fn long_descriptor<D: BlockDevice>(unit: &LogicalUnit<D>) -> Vec<u8> {
    let mut descriptor = unit.capacity().to_be_bytes().to_vec();
    descriptor.extend_from_slice(&[0; 4]);
    descriptor.extend_from_slice(&unit.block_size().to_be_bytes());
    descriptor
}

/// The pages that PAGE CODE and SUBPAGE CODE name, with the values that PC asks for.
fn pages<D: BlockDevice>(request: &Request<'_, D>) -> Result<Vec<u8>, Sense> {
    let cdb = request.cdb();
    let (code, subpage) = (cdb.u8(2) & 0x3f, cdb.u8(3));
    let volatile_cache = request.unit.device().capabilities().volatile_cache;
    let now = request.unit.modes().get();
    let defaults = ModeValues { threshold: now.threshold, ..ModeValues::defaults(volatile_cache) };
    let saved = request.unit.modes().saved();
    let saveable = request.unit.memory().is_some();
    let show = |page: &ModePage| match cdb.u8(2) >> 6 {
        0b00 => page.page(&now, saveable),
        0b01 => page.changeable(volatile_cache, saveable),
        0b10 => page.page(&defaults, saveable),
        _ => page.page(&saved, saveable),
    };
    if cdb.u8(2) >> 6 == 0b11 && !saveable {
        return Err(Sense::illegal(asc::SAVING_PARAMETERS_NOT_SUPPORTED));
    }
    let named = |page: &&ModePage| {
        (code == ALL || page.code == code) && (subpage == ALL_SUBPAGES || page.subpage == subpage)
    };
    let data: Vec<u8> = PAGES.iter().filter(named).flat_map(show).collect();
    match data.is_empty() {
        false => Ok(data),
        true if code != ALL && !PAGES.iter().any(|page| page.code == code) => {
            Err(Sense::invalid_field_in_cdb(2, 5))
        }
        true => Err(Sense::invalid_field_in_cdb(3, 7)),
    }
}
