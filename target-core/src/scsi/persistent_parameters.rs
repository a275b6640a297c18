//! The parameter list of PERSISTENT RESERVE OUT (SPC-5 6.16.3, 6.16.4).

use super::asc;
use super::fields::Fields;
use super::sense::Sense;
use super::transport_id::TransportId;
use crate::lun::reservations::actions::{Action, Register};
use crate::lun::reservations::kind::Kind;
use crate::lun::reservations::registrant::{InitiatorPort, Registrant};
use crate::lun::reservations::state::MOST_REGISTRATIONS;
use std::collections::BTreeSet;

/// Service actions (SPC-5 table 206). REPLACE LOST RESERVATION is for those that can lose one and go on (RLR_C).
pub const REGISTER: u16 = 0x00;
pub const RESERVE: u16 = 0x01;
pub const RELEASE: u16 = 0x02;
pub const CLEAR: u16 = 0x03;
pub const PREEMPT: u16 = 0x04;
pub const PREEMPT_AND_ABORT: u16 = 0x05;
pub const REGISTER_AND_IGNORE_EXISTING_KEY: u16 = 0x06;
pub const REGISTER_AND_MOVE: u16 = 0x07;

/// Length of the basic list and of REGISTER AND MOVE's up to the TransportID.
const BASIC: usize = 24;
/// Where SPEC_I_PT has its TransportIDs.
const LIST: usize = 28;

/// What a list is read against.
pub struct Surroundings<'a> {
    /// Who sent it.
    pub from: &'a Registrant,
    /// All target ports.
    pub target_ports: &'a BTreeSet<u16>,
    /// PTPL_C.
    pub can_persist: bool,
    /// The ports of an initiator that are logged in.
    pub ports_named: &'a dyn Fn(&str) -> Vec<InitiatorPort>,
}

const LENGTH_ERROR: Sense = Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR);

/// What a command asks for; `list` is as long as the CDB says.
pub fn parse(
    service_action: u16,
    cdb: Fields<'_>,
    list: &[u8],
    surroundings: &Surroundings<'_>,
) -> Result<Action, Sense> {
    if list.len() < BASIC {
        return Err(LENGTH_ERROR);
    }
    let fields = Fields(list);
    let (key, second_key) = (fields.u64(0), fields.u64(8));
    if service_action == REGISTER_AND_MOVE {
        return register_and_move(list, surroundings);
    }
    let spec_i_pt = fields.bit(20, 3);
    if spec_i_pt && service_action != REGISTER {
        return Err(Sense::invalid_field_in_parameters(20));
    }
    if !spec_i_pt && list.len() != BASIC {
        return Err(LENGTH_ERROR);
    }
    // SCOPE is LU_SCOPE.
    let kind = Kind::from_code(cdb.u8(2) & 0x0f).filter(|_| cdb.u8(2) >> 4 == 0);
    Ok(match service_action {
        RESERVE => Action::Reserve { key, kind },
        RELEASE => Action::Release { key, kind },
        CLEAR => Action::Clear { key },
        PREEMPT | PREEMPT_AND_ABORT => Action::Preempt { key, victims: second_key, kind },
        _ => {
            let all_ports = fields.bit(20, 2);
            let target_ports = match all_ports {
                true => surroundings.target_ports.iter().copied().collect(),
                false => vec![surroundings.from.target_port],
            };
            Action::Register(Register {
                key: (service_action == REGISTER).then_some(key),
                new_key: second_key,
                persists: persists(fields, 20, surroundings)?,
                target_ports,
                others: if spec_i_pt { Some(initiator_ports(list, surroundings)?) } else { None },
            })
        }
    })
}

/// APTPL, which only those may set who find it in REPORT CAPABILITIES.
fn persists(fields: Fields<'_>, byte: usize, surroundings: &Surroundings<'_>) -> Result<bool, Sense> {
    match fields.bit(byte, 0) {
        true if !surroundings.can_persist => Err(Sense::invalid_field_in_parameters(byte as u16)),
        persists => Ok(persists),
    }
}

/// The TransportIDs of SPEC_I_PT.
fn initiator_ports(list: &[u8], surroundings: &Surroundings<'_>) -> Result<Vec<InitiatorPort>, Sense> {
    let mut rest = list.get(LIST..).ok_or(LENGTH_ERROR)?;
    if rest.len() as u64 != u64::from(Fields(list).u32(BASIC)) {
        return Err(LENGTH_ERROR);
    }
    let mut ports = Vec::new();
    while !rest.is_empty() {
        // Pointers reach this far; beyond it they tell the last byte that they can.
        let at = u16::try_from(list.len() - rest.len()).unwrap_or(u16::MAX);
        let invalid = Sense::invalid_field_in_parameters(at);
        let (id, length) = TransportId::read(rest).ok_or(invalid)?;
        match id {
            TransportId::Port(port) => ports.push(port),
            // SPC-5 7.6.4.6: all ports of that name that are known.
            TransportId::Device(name) => {
                let known = (surroundings.ports_named)(&name);
                if known.is_empty() {
                    return Err(invalid);
                }
                ports.extend(known);
            }
        }
        if ports.len() > MOST_REGISTRATIONS {
            return Err(Sense::illegal(asc::INSUFFICIENT_REGISTRATION_RESOURCES));
        }
        rest = rest.get(length..).unwrap_or(&[]);
    }
    Ok(ports)
}

/// SPC-5 6.16.4.
fn register_and_move(list: &[u8], surroundings: &Surroundings<'_>) -> Result<Action, Sense> {
    let fields = Fields(list);
    let ids = list.get(BASIC..).unwrap_or(&[]);
    if ids.len() as u64 != u64::from(fields.u32(20)) {
        return Err(LENGTH_ERROR);
    }
    let target_port = fields.u16(18);
    if !surroundings.target_ports.contains(&target_port) {
        return Err(Sense::invalid_field_in_parameters(18));
    }
    let invalid = Sense::invalid_field_in_parameters(BASIC as u16);
    let initiator = match TransportId::read(ids) {
        Some((TransportId::Port(port), length)) if length == ids.len() => port,
        // A name alone will do where it names one port.
        Some((TransportId::Device(name), length)) if length == ids.len() => {
            match (surroundings.ports_named)(&name).as_slice() {
                [only] => only.clone(),
                _ => return Err(invalid),
            }
        }
        _ => return Err(invalid),
    };
    Ok(Action::Move {
        key: fields.u64(0),
        new_key: fields.u64(8),
        unregister: fields.bit(17, 1),
        persists: persists(fields, 17, surroundings)?,
        to: Registrant { target_port, initiator },
    })
}
