//! THE opcode table. Dispatch, the gates and REPORT SUPPORTED OPERATION CODES all derive from it; a command is its file and one row in
//! the file of its family.

mod copy;
mod maintenance;
mod medium;
mod primary;
mod reservation;
mod transfer;

use super::extent::Layout;
use super::fields::Fields;
use super::row::{
    AccessClass, AttentionRule, ClaimKind, Data, Handler, Needs, ReservationClass, Row, ServiceAction, Site,
    Timeouts, Toll,
};
use super::sense::Sense;
use super::{asc, test_unit_ready};
use crate::device::{BlockDevice, Capabilities};
use crate::lun::condition::UpkeepRule;
use std::marker::PhantomData;

/// The commands of a disk over devices of type `D`.
pub struct Table<D>(PhantomData<D>);

/// Where the rows of an operation code begin: the place of the family, the place in it.
type Place = (u8, u8);

/// Marks an operation code without row.
const NONE: Place = (u8::MAX, u8::MAX);

impl<D: BlockDevice> Table<D> {
    /// Every command, by family; the rows of one operation code stand side by side in one family.
    pub const FAMILIES: &'static [&'static [Row<D>]] =
        &[Self::PRIMARY, Self::TRANSFER, Self::MEDIUM, Self::MAINTENANCE, Self::RESERVATION, Self::COPY];

    /// What most commands without blocks have in common.
    const ANSWER: Row<D> = Row {
        opcode: 0,
        service_action: None,
        name: "",
        usage: &[],
        timeouts: Timeouts::SHORT,
        data: Data::None,
        layout: Layout::None,
        claim: ClaimKind::None,
        toll: Toll::Free,
        // The safe one: the rows of what may be executed elsewhere, or twice, say so.
        site: Site::Owner { is_repeatable: false },
        reservation: ReservationClass::Tolerant,
        access: AccessClass::Standby,
        attention: AttentionRule::Report,
        upkeep: UpkeepRule::Refuse,
        needs: Needs::NOTHING,
        handler: Handler::Now(test_unit_ready::test_unit_ready),
    };

    const READ: Row<D> = Row {
        timeouts: Timeouts::MEDIUM,
        data: Data::InWhole,
        claim: ClaimKind::Shared,
        toll: Toll::Read,
        site: Site::Owner { is_repeatable: true },
        reservation: ReservationClass::Read,
        access: AccessClass::Active,
        needs: Needs::READ,
        handler: Handler::Read,
        ..Self::ANSWER
    };

    const WRITE: Row<D> = Row {
        timeouts: Timeouts::MEDIUM,
        data: Data::OutBlocks(1),
        claim: ClaimKind::Shared,
        toll: Toll::Write,
        reservation: ReservationClass::Write,
        access: AccessClass::Active,
        needs: Needs::WRITE,
        handler: Handler::Write,
        ..Self::ANSWER
    };

    /// For each operation code the place of its first row.
    const INDEX: &'static [Place; 256] = &index(Self::FAMILIES);

    /// All rows.
    pub fn rows() -> impl Iterator<Item = &'static Row<D>> + Clone {
        Self::FAMILIES.iter().copied().flatten()
    }

    /// The rows of an operation code that a unit of these abilities supports.
    pub fn rows_of(
        opcode: u8,
        capabilities: &Capabilities,
        removable: bool,
    ) -> impl Iterator<Item = &'static Row<D>> + Clone {
        let (family, first) = Self::INDEX[usize::from(opcode)];
        let family = Self::FAMILIES.get(usize::from(family)).copied().unwrap_or(&[]);
        let rows = family.get(usize::from(first)..).unwrap_or(&[]);
        rows.iter()
            .take_while(move |row| row.opcode == opcode)
            .filter(move |row| row.needs.are_met(capabilities, removable))
    }

    /// How limits count a CDB; nonsense is free.
    pub fn toll(cdb: &[u8]) -> Toll {
        Self::any(cdb).map_or(Toll::Free, |row| row.toll)
    }

    /// Where a CDB is executed; nonsense is refused anywhere.
    pub fn site(cdb: &[u8]) -> Site {
        Self::any(cdb).map_or(Site::Anywhere, |row| row.site)
    }

    /// The row of a CDB, whatever a unit supports.
    fn any(cdb: &[u8]) -> Option<&'static Row<D>> {
        let cdb = Fields(cdb);
        let (family, first) = Self::INDEX[usize::from(cdb.u8(0))];
        let family = Self::FAMILIES.get(usize::from(family)).copied().unwrap_or(&[]);
        let rows = family.get(usize::from(first)..).unwrap_or(&[]);
        let service_action = ServiceAction::of(cdb.u8(0)).read(cdb);
        rows.iter()
            .take_while(|row| row.opcode == cdb.u8(0))
            .find(|row| row.service_action.is_none_or(|own| own == service_action))
    }

    /// The row of a CDB.
    pub fn find(
        cdb: Fields<'_>,
        capabilities: &Capabilities,
        removable: bool,
    ) -> Result<&'static Row<D>, Sense> {
        let mut rows = Self::rows_of(cdb.u8(0), capabilities, removable).peekable();
        if rows.peek().is_none() {
            return Err(Sense::illegal(asc::INVALID_COMMAND_OPERATION_CODE));
        }
        let field = ServiceAction::of(cdb.u8(0));
        let service_action = field.read(cdb);
        rows.find(|row| row.service_action.is_none_or(|own| own == service_action))
            .ok_or(Sense::invalid_field_in_cdb(field.byte(), 4))
    }
}

const fn index<D: BlockDevice>(families: &[&[Row<D>]]) -> [Place; 256] {
    let mut index = [NONE; 256];
    let mut family = 0;
    while family < families.len() {
        let rows = families[family];
        let mut at = rows.len();
        while at > 0 {
            at -= 1;
            index[rows[at].opcode as usize] = (family as u8, at as u8);
        }
        family += 1;
    }
    index
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
