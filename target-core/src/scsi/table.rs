//! THE opcode table. Dispatch, the gates and REPORT SUPPORTED OPERATION CODES all derive from it; a command is its file and one row.

use super::extent::Layout;
use super::fields::Fields;
use super::row::{
    AccessClass, AttentionRule, ClaimKind, Data, Handler, LengthField, Needs, ReservationClass, Row, Timeouts,
};
use super::sense::Sense;
use super::{
    asc, compare_and_write, get_lba_status, inquiry, mode_select, mode_sense, prefetch, read_capacity,
    report_luns, request_sense, reserve, send_diagnostic, start_stop_unit, supported_opcodes,
    synchronize_cache, target_port_groups, test_unit_ready, unmap, usage, verify, write, write_same,
};
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
            access: AccessClass::Active,
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
        Row { opcode: 0x08, name: "READ(6)", usage: usage::TRANSFER_6, layout: Layout::Six, ..Self::READ },
        Row { opcode: 0x0a, name: "WRITE(6)", usage: usage::TRANSFER_6, layout: Layout::Six, ..Self::WRITE },
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
            opcode: 0x15,
            name: "MODE SELECT(6)",
            usage: &[0, 0x10, 0, 0, 0xff, 0],
            data: Data::Out(LengthField::U8(4)),
            reservation: ReservationClass::Write,
            claim: ClaimKind::Everything,
            handler: Handler::Later(mode_select::mode_select_6),
            ..Self::ANSWER
        },
        Row { opcode: 0x16, name: "RESERVE(6)", usage: &[0; 6], ..Self::RESERVE },
        Row { opcode: 0x17, name: "RELEASE(6)", usage: &[0; 6], ..Self::RELEASE },
        Row {
            opcode: 0x1a,
            name: "MODE SENSE(6)",
            usage: &[0, 0x08, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U8(4)),
            reservation: ReservationClass::Read,
            handler: Handler::Now(mode_sense::mode_sense_6),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1b,
            name: "START STOP UNIT",
            usage: &[0, 0x01, 0, 0, 0xf7, 0],
            timeouts: Timeouts::MEDIUM,
            reservation: ReservationClass::Write,
            access: AccessClass::Active,
            handler: Handler::Later(start_stop_unit::start_stop_unit),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1d,
            name: "SEND DIAGNOSTIC",
            usage: &[0, 0x17, 0, 0, 0, 0],
            timeouts: Timeouts::MEDIUM,
            reservation: ReservationClass::Write,
            handler: Handler::Later(send_diagnostic::send_diagnostic),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1e,
            name: "PREVENT ALLOW MEDIUM REMOVAL",
            usage: &[0, 0, 0, 0, 0x01, 0],
            access: AccessClass::Active,
            needs: Needs::REMOVABLE,
            handler: Handler::Now(start_stop_unit::prevent_allow),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x25,
            name: "READ CAPACITY(10)",
            usage: &[0; 10],
            data: Data::InWhole,
            access: AccessClass::Active,
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
            opcode: 0x2e,
            name: "WRITE AND VERIFY(10)",
            usage: usage::WRITE_AND_VERIFY_10,
            layout: Layout::Ten,
            ..Self::WRITE_AND_VERIFY
        },
        Row {
            opcode: 0x2f,
            name: "VERIFY(10)",
            usage: usage::VERIFY_10,
            layout: Layout::Ten,
            ..Self::VERIFY
        },
        Row {
            opcode: 0x34,
            name: "PRE-FETCH(10)",
            usage: usage::IMMED_10,
            layout: Layout::Ten,
            ..Self::PREFETCH
        },
        Row {
            opcode: 0x35,
            name: "SYNCHRONIZE CACHE(10)",
            usage: usage::SYNCHRONIZE_10,
            layout: Layout::Ten,
            ..Self::SYNCHRONIZE
        },
        Row {
            opcode: 0x41,
            name: "WRITE SAME(10)",
            usage: usage::WRITE_SAME_10,
            layout: Layout::Ten,
            ..Self::WRITE_SAME
        },
        Row {
            opcode: 0x42,
            name: "UNMAP",
            usage: &[0, 0, 0, 0, 0, 0, 0x3f, 0xff, 0xff, 0],
            timeouts: Timeouts::LONG,
            data: Data::Out(LengthField::U16(7)),
            claim: ClaimKind::Listed,
            needs: Needs::DISCARD,
            handler: Handler::Later(unmap::unmap),
            ..Self::WRITE
        },
        Row {
            opcode: 0x55,
            name: "MODE SELECT(10)",
            usage: &[0, 0x10, 0, 0, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::Out(LengthField::U16(7)),
            reservation: ReservationClass::Write,
            claim: ClaimKind::Everything,
            handler: Handler::Later(mode_select::mode_select_10),
            ..Self::ANSWER
        },
        Row { opcode: 0x56, name: "RESERVE(10)", usage: &[0; 10], ..Self::RESERVE },
        Row { opcode: 0x57, name: "RELEASE(10)", usage: &[0; 10], ..Self::RELEASE },
        Row {
            opcode: 0x5a,
            name: "MODE SENSE(10)",
            usage: &[0, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(7)),
            reservation: ReservationClass::Read,
            handler: Handler::Now(mode_sense::mode_sense_10),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x88,
            name: "READ(16)",
            usage: usage::TRANSFER_16,
            layout: Layout::Sixteen,
            ..Self::READ
        },
        Row {
            opcode: 0x89,
            name: "COMPARE AND WRITE",
            usage: &[0, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff, 0x3f, 0],
            data: Data::OutBlocks(2),
            layout: Layout::CompareAndWrite,
            claim: ClaimKind::Exclusive,
            handler: Handler::Later(compare_and_write::compare_and_write),
            ..Self::WRITE
        },
        Row {
            opcode: 0x8a,
            name: "WRITE(16)",
            usage: usage::TRANSFER_16,
            layout: Layout::Sixteen,
            ..Self::WRITE
        },
        Row {
            opcode: 0x8e,
            name: "WRITE AND VERIFY(16)",
            usage: usage::WRITE_AND_VERIFY_16,
            layout: Layout::Sixteen,
            ..Self::WRITE_AND_VERIFY
        },
        Row {
            opcode: 0x8f,
            name: "VERIFY(16)",
            usage: usage::VERIFY_16,
            layout: Layout::Sixteen,
            ..Self::VERIFY
        },
        Row {
            opcode: 0x90,
            name: "PRE-FETCH(16)",
            usage: usage::IMMED_16,
            layout: Layout::Sixteen,
            ..Self::PREFETCH
        },
        Row {
            opcode: 0x91,
            name: "SYNCHRONIZE CACHE(16)",
            usage: usage::SYNCHRONIZE_16,
            layout: Layout::Sixteen,
            ..Self::SYNCHRONIZE
        },
        Row {
            opcode: 0x93,
            name: "WRITE SAME(16)",
            usage: usage::WRITE_SAME_16,
            layout: Layout::Sixteen,
            ..Self::WRITE_SAME
        },
        Row {
            opcode: 0x9e,
            service_action: Some(0x10),
            name: "READ CAPACITY(16)",
            usage: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(10)),
            access: AccessClass::Active,
            needs: Needs::READ,
            handler: Handler::Now(read_capacity::read_capacity_16),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x9e,
            service_action: Some(0x12),
            name: "GET LBA STATUS(16)",
            usage: &[0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(10)),
            claim: ClaimKind::None,
            handler: Handler::Later(get_lba_status::get_lba_status),
            ..Self::READ
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
            opcode: 0xa3,
            service_action: Some(0x0a),
            name: "REPORT TARGET PORT GROUPS",
            usage: &[0, 0xe0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            handler: Handler::Now(target_port_groups::report_target_port_groups),
            ..Self::ANSWER
        },
        Row {
            opcode: 0xa3,
            service_action: Some(0x0c),
            name: "REPORT SUPPORTED OPERATION CODES",
            usage: &[0, 0, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            handler: Handler::Now(supported_opcodes::report_supported_operation_codes),
            ..Self::ANSWER
        },
        Row {
            opcode: 0xa3,
            service_action: Some(0x0d),
            name: "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
            usage: &[0, 0, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            handler: Handler::Now(supported_opcodes::report_supported_task_management),
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
        Row {
            opcode: 0xae,
            name: "WRITE AND VERIFY(12)",
            usage: usage::WRITE_AND_VERIFY_12,
            layout: Layout::Twelve,
            ..Self::WRITE_AND_VERIFY
        },
        Row {
            opcode: 0xaf,
            name: "VERIFY(12)",
            usage: usage::VERIFY_12,
            layout: Layout::Twelve,
            ..Self::VERIFY
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

    const WRITE_AND_VERIFY: Row<D> = Row { handler: Handler::Later(write::write_and_verify), ..Self::WRITE };

    const VERIFY: Row<D> = Row {
        timeouts: Timeouts::LONG,
        data: Data::OutBy(verify::data_out),
        handler: Handler::Later(verify::verify),
        ..Self::READ
    };

    const PREFETCH: Row<D> = Row {
        data: Data::None,
        claim: ClaimKind::None,
        handler: Handler::Now(prefetch::prefetch),
        ..Self::READ
    };

    const SYNCHRONIZE: Row<D> = Row {
        data: Data::None,
        claim: ClaimKind::None,
        reservation: ReservationClass::Write,
        handler: Handler::Later(synchronize_cache::synchronize_cache),
        ..Self::READ
    };

    const WRITE_SAME: Row<D> = Row {
        timeouts: Timeouts::LONG,
        data: Data::OutBy(write_same::data_out),
        claim: ClaimKind::ExclusiveToEnd,
        handler: Handler::Later(write_same::write_same),
        ..Self::WRITE
    };

    const RESERVE: Row<D> = Row {
        reservation: ReservationClass::Write,
        access: AccessClass::Active,
        handler: Handler::Now(reserve::reserve),
        ..Self::ANSWER
    };

    const RELEASE: Row<D> = Row {
        reservation: ReservationClass::Release,
        access: AccessClass::Active,
        handler: Handler::Now(reserve::release),
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

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
