//! THE opcode table. Dispatch, the gates and REPORT SUPPORTED OPERATION CODES all derive from it; a command is its file and one row.

use super::extent::Layout;
use super::fields::Fields;
use super::row::{
    AccessClass, AttentionRule, ClaimKind, Data, Handler, LengthField, Needs, ReservationClass, Row, Timeouts,
};
use super::sense::Sense;
use super::{asc, inquiry, read_capacity, report_luns, request_sense, test_unit_ready};
use crate::device::{BlockDevice, Capabilities};
use std::marker::PhantomData;

/// The commands of a disk over devices of type `D`.
pub struct Table<D>(PhantomData<D>);

/// Marks an operation code without row.
const NONE: u8 = u8::MAX;

impl<D: BlockDevice> Table<D> {
    /// Every command, those of one operation code side by side, in their order.
    pub const ROWS: &'static [Row<D>] = &[
        Row {
            opcode: 0x00,
            name: "TEST UNIT READY",
            usage: &[0; 6],
            needs: Needs::READ,
            handler: Handler::Now(test_unit_ready::test_unit_ready),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x03,
            name: "REQUEST SENSE",
            usage: &[0, 0x01, 0, 0, 0xff, 0],
            data: Data::In(LengthField::U8(4)),
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            attention: AttentionRule::Own,
            handler: Handler::Now(request_sense::request_sense),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x08,
            name: "READ(6)",
            usage: &[0, 0x1f, 0xff, 0xff, 0xff, 0],
            layout: Layout::Six,
            ..Self::READ
        },
        Row {
            opcode: 0x0a,
            name: "WRITE(6)",
            usage: &[0, 0x1f, 0xff, 0xff, 0xff, 0],
            layout: Layout::Six,
            ..Self::WRITE
        },
        Row {
            opcode: 0x12,
            name: "INQUIRY",
            usage: &[0, 0x01, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(3)),
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            attention: AttentionRule::Exempt,
            handler: Handler::Now(inquiry::inquiry),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x25,
            name: "READ CAPACITY(10)",
            usage: &[0; 10],
            data: Data::InWhole,
            needs: Needs::READ,
            handler: Handler::Now(read_capacity::read_capacity_10),
            ..Self::ANSWER
        },
        Row { opcode: 0x28, name: "READ(10)", usage: usage::TRANSFER_10, layout: Layout::Ten, ..Self::READ },
        Row {
            opcode: 0x2a,
            name: "WRITE(10)",
            usage: usage::TRANSFER_10,
            layout: Layout::Ten,
            ..Self::WRITE
        },
        Row {
            opcode: 0x88,
            name: "READ(16)",
            usage: usage::TRANSFER_16,
            layout: Layout::Sixteen,
            ..Self::READ
        },
        Row {
            opcode: 0x8a,
            name: "WRITE(16)",
            usage: usage::TRANSFER_16,
            layout: Layout::Sixteen,
            ..Self::WRITE
        },
        Row {
            opcode: 0x9e,
            service_action: Some(0x10),
            name: "READ CAPACITY(16)",
            usage: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(10)),
            needs: Needs::READ,
            handler: Handler::Now(read_capacity::read_capacity_16),
            ..Self::ANSWER
        },
        Row {
            opcode: 0xa0,
            name: "REPORT LUNS",
            usage: &[0, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            attention: AttentionRule::Exempt,
            handler: Handler::Now(report_luns::report_luns),
            ..Self::ANSWER
        },
        Row {
            opcode: 0xa8,
            name: "READ(12)",
            usage: usage::TRANSFER_12,
            layout: Layout::Twelve,
            ..Self::READ
        },
        Row {
            opcode: 0xaa,
            name: "WRITE(12)",
            usage: usage::TRANSFER_12,
            layout: Layout::Twelve,
            ..Self::WRITE
        },
    ];

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
        reservation: ReservationClass::Tolerant,
        access: AccessClass::Standby,
        attention: AttentionRule::Report,
        needs: Needs::NOTHING,
        handler: Handler::Now(test_unit_ready::test_unit_ready),
    };

    const READ: Row<D> = Row {
        timeouts: Timeouts::MEDIUM,
        data: Data::InWhole,
        claim: ClaimKind::Shared,
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
        reservation: ReservationClass::Write,
        access: AccessClass::Active,
        needs: Needs::WRITE,
        handler: Handler::Write,
        ..Self::ANSWER
    };

    /// For each operation code the place of its first row.
    const INDEX: &'static [u8; 256] = &index(Self::ROWS);

    /// The rows of an operation code that a unit of these abilities supports.
    pub fn rows_of(
        opcode: u8,
        capabilities: &Capabilities,
        removable: bool,
    ) -> impl Iterator<Item = &'static Row<D>> {
        let first = usize::from(Self::INDEX[usize::from(opcode)]);
        let rows = Self::ROWS.get(first..).unwrap_or(&[]);
        rows.iter()
            .take_while(move |row| row.opcode == opcode)
            .filter(move |row| row.needs.are_met(capabilities, removable))
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
        let service_action = cdb.u8(1) & 0x1f;
        rows.find(|row| row.service_action.is_none_or(|own| own == service_action))
            .ok_or(Sense::invalid_field_in_cdb(1, 4))
    }
}

const fn index<D: BlockDevice>(rows: &[Row<D>]) -> [u8; 256] {
    let mut index = [NONE; 256];
    let mut at = rows.len();
    while at > 0 {
        at -= 1;
        index[rows[at].opcode as usize] = at as u8;
    }
    index
}

/// CDB usage that several commands share.
mod usage {
    /// DPO, FUA, FUA_NV (which asks for less than FUA does not, so it is taken and ignored); protection information is refused.
    pub const TRANSFER_10: &[u8] = &[0, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0];
    pub const TRANSFER_12: &[u8] = &[0, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0];
    pub const TRANSFER_16: &[u8] =
        &[0, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0];
}
