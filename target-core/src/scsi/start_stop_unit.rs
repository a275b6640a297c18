//! START STOP UNIT (SBC-4 5.29) and PREVENT ALLOW MEDIUM REMOVAL (SPC-5 6.19).

use super::asc;
use super::device_fault::on_write;
use super::request::{Reply, Request};
use super::row::BoxFuture;
use super::sense::{Fault, Sense};
use crate::device::BlockDevice;

/// Ejects or loads the medium of a removable unit. There are no power conditions and no motor: all else changes nothing.
pub fn start_stop_unit<'a, D: BlockDevice>(
    request: &'a Request<'a, D>,
) -> BoxFuture<'a, Result<Reply, Fault>> {
    Box::pin(async move {
        let (cdb, unit) = (request.cdb(), request.unit);
        let (power_condition, no_flush) = (cdb.u8(4) >> 4, cdb.bit(4, 2));
        let (load_eject, start) = (cdb.bit(4, 1), cdb.bit(4, 0));
        // With a power condition, START and LOEJ are ignored.
        if power_condition != 0 {
            return Ok(Reply::good());
        }
        if load_eject && !unit.config().removable {
            return Err(Sense::invalid_field_in_cdb(4, 1).into());
        }
        if !start && !no_flush && unit.medium().is_loaded() && !unit.is_read_only() {
            unit.device().flush().await.map_err(on_write)?;
        }
        match (load_eject, start) {
            (false, _) => {}
            (true, false) => {
                if !unit.medium().eject() {
                    return Err(Sense::illegal(asc::MEDIUM_REMOVAL_PREVENTED).into());
                }
            }
            (true, true) => {
                if unit.medium().load() {
                    unit.attentions().raise_except(request.nexus.id, asc::MEDIUM_MAY_HAVE_CHANGED);
                }
            }
        }
        Ok(Reply::good())
    })
}

/// Forbids or allows removal on behalf of the nexus.
pub fn prevent_allow<D: BlockDevice>(request: &Request<'_, D>) -> Result<Reply, Fault> {
    request.unit.medium().prevent(request.nexus.id, request.cdb().bit(4, 0));
    Ok(Reply::good())
}
