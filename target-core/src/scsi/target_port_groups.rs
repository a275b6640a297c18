//! REPORT TARGET PORT GROUPS and SET TARGET PORT GROUPS (SPC-5 6.37, 6.45). All ports of this target are one group, and its state is the
//! unit's.

use super::asc;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::alua::{AccessState, TARGET_PORT_GROUP};

/// States that the group may be in: transitioning, unavailable, standby, active/non-optimized, active/optimized.
const SUPPORTED_STATES: u8 = 0x8f;
/// Bytes of the header of SET TARGET PORT GROUPS, and of each of its descriptors.
const UNIT: usize = 4;

/// The group with its ports, in either format.
pub fn report_target_port_groups<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let mut data = match request.cdb().u8(1) >> 5 {
        0b000 => vec![0; 4],
        // The extended header: format 001b, IMPLICIT TRANSITION TIME not told.
        0b001 => vec![0, 0, 0, 0, 0x10, 0, 0, 0],
        _ => return Err(Sense::invalid_field_in_cdb(1, 7).into()),
    };
    let ports = request.target.ports(request.nexus);
    let [group_high, group_low] = TARGET_PORT_GROUP.to_be_bytes();
    data.extend_from_slice(&[
        request.unit.access_state() as u8,
        SUPPORTED_STATES,
        group_high,
        group_low,
        0,
        request.unit.access_change() as u8,
        0,
        u8::try_from(ports.len()).unwrap_or(u8::MAX),
    ]);
    for port in ports.keys().take(usize::from(u8::MAX)) {
        data.extend_from_slice(&u32::from(*port).to_be_bytes());
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    Ok(Reply::data(data))
}

/// Makes the group active in one of the two ways. The only group there is does not go out of service: nobody could reach the unit then.
pub fn set_target_port_groups<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let list = request.parameter_list()?;
    if list.is_empty() {
        return Ok(Reply::good());
    }
    if !list.len().is_multiple_of(UNIT) {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR).into());
    }
    let mut wanted = None;
    for (at, descriptor) in list.chunks_exact(UNIT).enumerate().skip(1) {
        let fields = Fields(descriptor);
        // A list that is longer than pointers reach is wrong long before: there is but one group to be named, once.
        let invalid = |byte: usize| {
            Sense::invalid_field_in_parameters(u16::try_from(at * UNIT + byte).unwrap_or(u16::MAX))
        };
        let state = match fields.u8(0) {
            0x0 => AccessState::ActiveOptimized,
            0x1 => AccessState::ActiveNonOptimized,
            _ => return Err(invalid(0).into()),
        };
        if fields.u16(2) != TARGET_PORT_GROUP || wanted.is_some() {
            return Err(invalid(2).into());
        }
        wanted = Some(state);
    }
    if let Some(state) = wanted {
        request.unit.set_access_state_for(request.nexus.id, state);
    }
    Ok(Reply::good())
}

#[cfg(test)]
#[path = "target_port_groups_tests.rs"]
mod tests;
