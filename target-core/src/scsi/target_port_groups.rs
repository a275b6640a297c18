//! REPORT TARGET PORT GROUPS and SET TARGET PORT GROUPS (SPC-5 6.37, 6.45). Where one node serves a unit all ports of its target are one group, whose
//! state is the unit's; where several do each has a group of its own, and the one that is active/optimized owns the unit.

use super::asc;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::alua::{AccessState, Change, PortGroup, PortGroups, TARGET_PORT_GROUP};
use std::sync::Arc;

/// States that a group may be in: transitioning, unavailable, standby, active/non-optimized, active/optimized.
const SUPPORTED_STATES: u8 = 0x8f;
/// PREF, beside the state.
const PREFERRED: u8 = 0x80;
/// Bytes of the header of SET TARGET PORT GROUPS, and of each of its descriptors.
const UNIT: usize = 4;

/// All groups with their ports, in either format.
pub fn report_target_port_groups<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let mut data = match request.cdb().u8(1) >> 5 {
        0b000 => vec![0; 4],
        // The extended header: format 001b, IMPLICIT TRANSITION TIME not told.
        0b001 => vec![0, 0, 0, 0, 0x10, 0, 0, 0],
        _ => return Err(Sense::invalid_field_in_cdb(1, 7).into()),
    };
    match request.unit.port_groups() {
        Some(groups) => {
            groups.groups().iter().for_each(|group| describe(group, groups.change(), &mut data));
        }
        None => {
            let group = PortGroup {
                number: TARGET_PORT_GROUP,
                state: request.unit.access_state(),
                is_preferred: false,
                ports: request.target.ports(request.nexus).into_keys().collect(),
            };
            describe(&group, request.unit.access_change(), &mut data);
        }
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    Ok(Reply::data(data))
}

/// Appends a target port group descriptor.
fn describe(group: &PortGroup, change: Change, data: &mut Vec<u8>) {
    let preferred = if group.is_preferred { PREFERRED } else { 0 };
    let [number_high, number_low] = group.number.to_be_bytes();
    data.extend_from_slice(&[
        group.state as u8 | preferred,
        SUPPORTED_STATES,
        number_high,
        number_low,
        0,
        change as u8,
        0,
        u8::try_from(group.ports.len()).unwrap_or(u8::MAX),
    ]);
    for port in group.ports.iter().take(usize::from(u8::MAX)) {
        data.extend_from_slice(&u32::from(*port).to_be_bytes());
    }
}

/// Makes a group active in one of the two ways. None goes out of service for an initiator: where there is but one nobody could reach the unit then,
/// where there are several the node decides.
pub fn set_target_port_groups<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let list = request.parameter_list()?;
    if list.is_empty() {
        return Ok(Reply::good());
    }
    if !list.len().is_multiple_of(UNIT) {
        return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR).into());
    }
    let shared = request.unit.port_groups();
    let known: Arc<[PortGroup]> = shared.map_or_else(|| Vec::new().into(), |shared| shared.groups());
    let is_known = |number: u16| match shared {
        Some(_) => known.iter().any(|group| group.number == number),
        None => number == TARGET_PORT_GROUP,
    };
    let mut wanted: Vec<(u16, AccessState)> = Vec::new();
    for (at, descriptor) in list.chunks_exact(UNIT).enumerate().skip(1) {
        let fields = Fields(descriptor);
        // A list that is longer than pointers reach is wrong long before: there are fewer groups to be named, each once.
        let invalid = |byte: usize| {
            Sense::invalid_field_in_parameters(u16::try_from(at * UNIT + byte).unwrap_or(u16::MAX))
        };
        let state = match fields.u8(0) {
            0x0 => AccessState::ActiveOptimized,
            0x1 => AccessState::ActiveNonOptimized,
            _ => return Err(invalid(0).into()),
        };
        let number = fields.u16(2);
        let is_optimized_already = wanted.iter().any(|(_, state)| *state == AccessState::ActiveOptimized);
        if shared.is_some() && state == AccessState::ActiveOptimized && is_optimized_already {
            // One node owns the unit.
            return Err(invalid(0).into());
        }
        if !is_known(number) || wanted.iter().any(|(named, _)| *named == number) {
            return Err(invalid(2).into());
        }
        wanted.push((number, state));
    }
    match shared {
        Some(groups) => optimize(groups.as_ref(), &known, &wanted)?,
        None => {
            if let Some((_, state)) = wanted.first() {
                request.unit.set_access_state_for(request.nexus.id, *state);
            }
        }
    }
    Ok(Reply::good())
}

/// What is wanted of the groups of several nodes.
fn optimize(
    groups: &dyn PortGroups,
    known: &[PortGroup],
    wanted: &[(u16, AccessState)],
) -> Result<(), Sense> {
    if let Some((group, _)) = wanted.iter().find(|(_, state)| *state == AccessState::ActiveOptimized) {
        return groups.optimize(*group);
    }
    // Some group is to be optimized: the owner's can't give that up to nobody.
    let is_optimized = |number: u16| {
        known.iter().any(|group| group.number == number && group.state == AccessState::ActiveOptimized)
    };
    match wanted.iter().position(|(number, _)| is_optimized(*number)) {
        Some(at) => {
            let byte = (at + 1) * UNIT;
            Err(Sense::invalid_field_in_parameters(u16::try_from(byte).unwrap_or(u16::MAX)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "target_port_groups_tests.rs"]
mod tests;
