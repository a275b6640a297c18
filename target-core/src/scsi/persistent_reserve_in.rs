//! PERSISTENT RESERVE IN (SPC-5 6.15).

use super::request::{Reply, Request};
use super::sense::Fault;
use super::transport_id;
use crate::device::BlockDevice;
use crate::lun::reservations::kind::Kind;
use crate::lun::reservations::state::State;

/// Bytes of PRGENERATION and ADDITIONAL LENGTH.
const HEADER: usize = 8;

/// READ KEYS: one for each registration.
pub fn read_keys<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let state = request.unit.reservations().state();
    let keys = state.registrations().flat_map(|(_, key)| key.to_be_bytes()).collect();
    Ok(list(&state, keys))
}

/// READ RESERVATION: nothing, or the one that there is.
pub fn read_reservation<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    let state = request.unit.reservations().state();
    let mut body = Vec::new();
    if let Some(reservation) = state.reservation() {
        body.extend_from_slice(&state.reservation_key().to_be_bytes());
        body.extend_from_slice(&[0, 0, 0, 0, 0, reservation.kind.code(), 0, 0]);
    }
    Ok(list(&state, body))
}

/// REPORT CAPABILITIES.
pub fn report_capabilities<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    const CRH: u8 = 0x10;
    const SIP_C: u8 = 0x08;
    const ATP_C: u8 = 0x04;
    const PTPL_C: u8 = 0x01;
    const TMV: u8 = 0x80;
    /// ALLOW COMMANDS 001b: TEST UNIT READY passes all reservations; of the others nothing is told.
    const ALLOW_COMMANDS: u8 = 0x10;
    const PTPL_A: u8 = 0x01;
    let persistent = request.unit.memory().is_some();
    let capabilities = CRH | SIP_C | ATP_C | if persistent { PTPL_C } else { 0 };
    let active = if request.unit.reservations().state().persists() { PTPL_A } else { 0 };
    // PERSISTENT RESERVATION TYPE MASK: bit n of it is the type with the code n, save that it begins in the first byte.
    let mask = Kind::ALL.iter().fold(0_u16, |mask, kind| mask | 1 << kind.code());
    let [second, first] = mask.to_be_bytes();
    Ok(Reply::data(vec![0, 8, capabilities, TMV | ALLOW_COMMANDS | active, first, second, 0, 0]))
}

/// READ FULL STATUS: a descriptor for each registration.
pub fn read_full_status<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    const R_HOLDER: u8 = 0x01;
    let state = request.unit.reservations().state();
    let mut body = Vec::new();
    for (registrant, key) in state.registrations() {
        // Registrations through all ports are told one by one, so ALL_TG_PT is zero.
        let (holder, kind) = match state.reservation() {
            Some(reservation) if state.standing(registrant).holds => (R_HOLDER, reservation.kind.code()),
            _ => (0, 0),
        };
        let transport_id = transport_id::encode(&registrant.initiator);
        body.extend_from_slice(&key.to_be_bytes());
        body.extend_from_slice(&[0, 0, 0, 0, holder, kind, 0, 0, 0, 0]);
        body.extend_from_slice(&registrant.target_port.to_be_bytes());
        body.extend_from_slice(&(transport_id.len() as u32).to_be_bytes());
        body.extend_from_slice(&transport_id);
    }
    Ok(list(&state, body))
}

/// With the header that three of the service actions share.
fn list(state: &State, body: Vec<u8>) -> Reply {
    let mut data = Vec::with_capacity(HEADER + body.len());
    data.extend_from_slice(&state.generation().to_be_bytes());
    data.extend_from_slice(&(body.len() as u32).to_be_bytes());
    data.extend_from_slice(&body);
    Reply::data(data)
}
