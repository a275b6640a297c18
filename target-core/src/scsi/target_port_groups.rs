//! REPORT TARGET PORT GROUPS (SPC-5 6.37). All ports of this target are one group, and its state is the unit's.

use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;
use crate::lun::alua::TARGET_PORT_GROUP;

/// States that the group may be in: transitioning, unavailable, standby, active/non-optimized, active/optimized.
const SUPPORTED_STATES: u8 = 0x8f;
/// STATUS CODE: the state was altered by implicit behaviour.
const IMPLICIT: u8 = 2;

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
        IMPLICIT,
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
