//! REPORT LUNS (SPC-5 6.33).

use super::asc;
use super::lun_address::LunAddress;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// Lists the units, and takes back the attention that the list has changed (SAM-5 5.14.4).
pub fn report_luns<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let units = request.target.units();
    for (_, unit) in units.iter() {
        unit.attentions()
            .take(request.nexus.id, |condition| condition == asc::REPORTED_LUNS_DATA_HAS_CHANGED);
    }
    let numbers = units.iter().map(|(number, _)| *number);
    Ok(Reply::data(lun_list(request.cdb().u8(2), numbers)?))
}

/// The parameter data for a SELECT REPORT. This target has no administrative and no subsidiary units.
pub fn lun_list(select_report: u8, units: impl Iterator<Item = u16>) -> Result<Vec<u8>, Sense> {
    let (ordinary, well_known) = match select_report {
        0x00 => (true, false),
        0x01 => (false, true),
        0x02 => (true, true),
        0x10 => (false, false), // administrative units
        0x11 => (true, false),  // ordinary and administrative units
        0x12 => (false, false), // units that are subsidiary to the one addressed
        _ => return Err(Sense::invalid_field_in_cdb(2, 7)),
    };
    let mut list = vec![0; 8];
    units.filter(|_| ordinary).for_each(|number| list.extend_from_slice(&LunAddress::from_number(number).0));
    if well_known {
        list.extend_from_slice(&LunAddress::REPORT_LUNS.0);
    }
    let length = list.len() as u32 - 8;
    if let Some(place) = list.first_chunk_mut() {
        *place = length.to_be_bytes();
    }
    Ok(list)
}
