//! REPORT LUNS (SPC-5 6.33).

use super::asc;
use super::command::NexusId;
use super::lun_address::LunAddress;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::target::TargetDevice;

/// Lists the units, and takes back the attention that the list has changed (SAM-5 5.14.4).
pub fn report_luns<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let select = select(request.cdb().u8(2))?;
    clear_attentions(request.target, request.nexus.id);
    // Looked up after that: a unit that comes meanwhile is in the list, or its attention comes after the list.
    let units = request.target.units();
    Ok(Reply::data(lun_list(select, units.iter().map(|(number, _)| *number))))
}

/// Takes back, in all units, the attention that the list has changed.
pub fn clear_attentions<D: BlockDevice>(target: &TargetDevice<D>, nexus: NexusId) {
    for (_, unit) in target.units().iter() {
        unit.attentions().take(nexus, |condition| condition == asc::REPORTED_LUNS_DATA_HAS_CHANGED);
    }
}

/// The kinds of units that a list is to have.
pub struct Select {
    ordinary: bool,
    well_known: bool,
}

/// A SELECT REPORT. This target has no administrative and no subsidiary units.
pub fn select(report: u8) -> Result<Select, Sense> {
    let (ordinary, well_known) = match report {
        0x00 => (true, false),
        0x01 => (false, true),
        0x02 => (true, true),
        0x10 => (false, false), // administrative units
        0x11 => (true, false),  // ordinary and administrative units
        0x12 => (false, false), // units that are subsidiary to the one addressed
        _ => return Err(Sense::invalid_field_in_cdb(2, 7)),
    };
    Ok(Select { ordinary, well_known })
}

/// The parameter data, for a target whose units have these numbers.
pub fn lun_list(select: Select, units: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut list = vec![0; 8];
    let units = units.filter(|_| select.ordinary);
    units.for_each(|number| list.extend_from_slice(&LunAddress::from_number(number).0));
    if select.well_known {
        list.extend_from_slice(&LunAddress::REPORT_LUNS.0);
    }
    let length = list.len() as u32 - 8;
    if let Some(place) = list.first_chunk_mut() {
        *place = length.to_be_bytes();
    }
    list
}
