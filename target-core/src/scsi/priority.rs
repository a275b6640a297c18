//! REPORT PRIORITY and SET PRIORITY (SPC-5 6.35, 6.44).

use super::asc;
use super::command::Nexus;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::{Fault, Sense};
use super::transport_id::{self, TransportId};
use crate::device::BlockDevice;
use crate::lun::reservations::registrant::{InitiatorPort, Registrant};
use std::sync::Arc;

/// PRIORITY REPORTED and I_T NEXUS TO SET: the nexus of the command.
const OWN: u8 = 0b00;
/// PRIORITY REPORTED: every nexus that has a priority of its own.
const OWN_PRIORITIES: u8 = 0b01;
/// I_T NEXUS TO SET: the one that the list names.
const NAMED: u8 = 0b01;
/// I_T NEXUS TO SET: all go back to the INITIAL COMMAND PRIORITY.
const INITIAL: u8 = 0b10;

/// Bytes before the TransportID.
const HEADER: usize = 8;

/// Tells the priority of this nexus, or of every one that has one of its own.
pub fn report_priority<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let (unit, own) = (request.unit, request.nexus);
    let mut data = vec![0; 4];
    match request.cdb().u8(2) >> 6 {
        OWN => {
            let priority = unit.priorities().get(own.id).unwrap_or(unit.modes().get().initial_priority);
            describe(&mut data, own, priority);
        }
        OWN_PRIORITIES => {
            for nexus in request.target.nexuses() {
                if let Some(priority) = unit.priorities().get(nexus.id) {
                    describe(&mut data, &nexus, priority);
                }
            }
        }
        _ => return Err(Sense::invalid_field_in_cdb(2, 7).into()),
    }
    let length = data.len() as u32 - 4;
    data[..4].copy_from_slice(&length.to_be_bytes());
    Ok(Reply::data(data))
}

/// Appends a priority descriptor (SPC-5 table 280).
fn describe(data: &mut Vec<u8>, nexus: &Nexus, priority: u8) {
    let id = transport_id::encode(&InitiatorPort::new(&nexus.initiator_name, nexus.isid));
    let [port_high, port_low] = nexus.relative_port.to_be_bytes();
    let [length_high, length_low] = (id.len() as u16).to_be_bytes();
    data.extend_from_slice(&[priority, 0, port_high, port_low, 0, 0, length_high, length_low]);
    data.extend_from_slice(&id);
}

/// Assigns a priority to a nexus, zero being the INITIAL COMMAND PRIORITY; a nexus that did not ask for that learns of it.
pub fn set_priority<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let (unit, own) = (request.unit, request.nexus);
    let choice = request.cdb().u8(2) >> 6;
    let list = request.parameter_list()?;
    let fields = Fields(&list);
    let priority = fields.u8(0);
    match choice {
        // SPC-5 6.44: nothing is to be done without a list.
        OWN | NAMED | INITIAL if list.is_empty() => {}
        // All but the priority is ignored.
        OWN if list.len() >= HEADER => unit.priorities().set(own.id, priority),
        NAMED if list.len() >= HEADER => {
            for nexus in named(request, &list)? {
                unit.priorities().set(nexus.id, priority);
                if nexus.id != own.id {
                    unit.attentions().raise_for(nexus.id, asc::PRIORITY_CHANGED);
                }
            }
        }
        // The list is ignored.
        INITIAL => {
            unit.priorities().clear();
            unit.attentions().raise_except(own.id, asc::PRIORITY_CHANGED);
        }
        OWN | NAMED => return Err(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR).into()),
        _ => return Err(Sense::invalid_field_in_cdb(2, 7).into()),
    }
    Ok(Reply::good())
}

/// The sessions of the nexus that a list names, which has to be logged in.
fn named<D: BlockDevice>(request: &Request<'_, D>, list: &[u8]) -> Result<Vec<Arc<Nexus>>, Sense> {
    let fields = Fields(list);
    let id = list.get(HEADER..HEADER + usize::from(fields.u16(6)));
    let id = id.ok_or(Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR))?;
    let initiator = match TransportId::read(id) {
        Some((TransportId::Port(initiator), length)) if length == id.len() => initiator,
        // A nexus has a port, not a name.
        _ => return Err(Sense::invalid_field_in_parameters(HEADER as u16)),
    };
    let registrant = Registrant { target_port: fields.u16(2), initiator };
    let mut nexuses = request.target.nexuses();
    nexuses.retain(|nexus| Registrant::of(nexus) == registrant);
    match nexuses.is_empty() {
        // RELATIVE TARGET PORT IDENTIFIER, or else the TransportID.
        true if !request.target.ports(request.nexus).contains_key(&registrant.target_port) => {
            Err(Sense::invalid_field_in_parameters(2))
        }
        true => Err(Sense::invalid_field_in_parameters(HEADER as u16)),
        false => Ok(nexuses),
    }
}

#[cfg(test)]
#[path = "priority_tests.rs"]
mod tests;
