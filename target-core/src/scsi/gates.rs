//! What stands between a command and its handler: unit attentions, reservations, the CDB's form, the access state, the medium. All
//! of it is asked of the command's row.

use super::asc;
use super::command::{Nexus, TaskAttribute};
use super::fields::Fields;
use super::row::{AccessClass, AttentionRule, Needs, ReservationClass, Row};
use super::sense::{Fault, Sense, SenseKey, Status};
use crate::device::BlockDevice;
use crate::lun::alua::AccessState;
use crate::lun::attention::{self, is_reset};
use crate::lun::unit::LogicalUnit;

/// Lets a command pass, or tells why not, in the order of SAM-5 5.3.3: resets, reservations, then the other conditions.
pub fn pass<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    nexus: &Nexus,
    attribute: TaskAttribute,
    row: Result<&'static Row<D>, Sense>,
    cdb: Fields<'_>,
) -> Result<&'static Row<D>, Fault> {
    let rule = row.as_ref().map_or(AttentionRule::Report, |row| row.attention);
    attentions(unit, nexus, rule, is_reset)?;
    if let Ok(row) = row {
        reservations(unit, nexus, row.reservation.of(cdb))?;
    }
    attentions(unit, nexus, rule, |_| true)?;
    if attribute == TaskAttribute::Aca {
        // SAM-5 8.5.5: there is no ACA condition in a unit with NormACA zero.
        return Err(Sense::illegal(asc::INVALID_MESSAGE_ERROR).into());
    }
    let row = row?;
    form(row, cdb)?;
    access(unit.access_state(), row.access)?;
    unit.condition().check(row.upkeep, row.needs.medium)?;
    medium(unit, row.needs)?;
    Ok(row)
}

fn attentions<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    nexus: &Nexus,
    rule: AttentionRule,
    wanted: impl Fn(super::sense::Asc) -> bool,
) -> Result<(), Sense> {
    match rule {
        AttentionRule::Exempt | AttentionRule::Own => Ok(()),
        AttentionRule::Report => match unit.attentions().take(nexus.id, wanted) {
            Some(condition) => Err(attention::sense(condition)),
            None => Ok(()),
        },
    }
}

/// SPC-2 5.5.1, SPC-5 5.14.1, SBC-4 4.17.
pub fn reservations<D: BlockDevice>(
    unit: &LogicalUnit<D>,
    nexus: &Nexus,
    class: ReservationClass,
) -> Result<(), Fault> {
    match unit.reservations().conflicts(nexus.id, class) {
        true => Err(Fault::Status(Status::ReservationConflict)),
        false => Ok(()),
    }
}

/// The CDB is long enough, and no bit is set that the command has no use for (SPC-5 4.2.1).
pub fn form<D: BlockDevice>(row: &Row<D>, cdb: Fields<'_>) -> Result<(), Sense> {
    if cdb.0.len() < row.usage.len() {
        return Err(Sense::invalid_field_in_cdb(cdb.0.len() as u16, 7));
    }
    for (at, byte) in cdb.0.iter().take(row.usage.len()).enumerate() {
        let excess = byte & !row.allowed_bits(at);
        if excess != 0 {
            return Err(Sense::invalid_field_in_cdb(at as u16, excess.ilog2() as u8));
        }
    }
    Ok(())
}

/// SPC-5 5.18.2.5 to 5.18.2.8.
pub fn access(state: AccessState, class: AccessClass) -> Result<(), Sense> {
    let code = match (state, class) {
        (AccessState::ActiveOptimized | AccessState::ActiveNonOptimized, _)
        | (_, AccessClass::Any)
        | (AccessState::Standby, AccessClass::Standby) => return Ok(()),
        (AccessState::Standby, _) => asc::NOT_READY_TARGET_PORT_IN_STANDBY_STATE,
        (AccessState::Unavailable, _) => asc::NOT_READY_TARGET_PORT_IN_UNAVAILABLE_STATE,
        (AccessState::Transitioning, _) => asc::NOT_READY_ASYMMETRIC_ACCESS_STATE_TRANSITION,
    };
    Err(Sense::new(SenseKey::NotReady, code))
}

/// The medium is there and may be written, as far as a command needs it.
pub fn medium<D: BlockDevice>(unit: &LogicalUnit<D>, needs: Needs) -> Result<(), Sense> {
    if needs.medium && !unit.medium().is_loaded() {
        return Err(Sense::new(SenseKey::NotReady, asc::MEDIUM_NOT_PRESENT));
    }
    if needs.writable {
        if unit.is_read_only() {
            return Err(Sense::new(SenseKey::DataProtect, asc::WRITE_PROTECTED));
        }
        if unit.modes().get().swp {
            return Err(Sense::new(SenseKey::DataProtect, asc::LOGICAL_UNIT_SOFTWARE_WRITE_PROTECTED));
        }
    }
    Ok(())
}
