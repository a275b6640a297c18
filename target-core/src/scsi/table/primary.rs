//! Commands that every kind of device has (SPC-5).

use super::Table;
use crate::device::BlockDevice;
use crate::lun::condition::UpkeepRule;
use crate::scsi::row::{
    AccessClass, AttentionRule, ClaimKind, Data, Handler, LengthField, Needs, ReservationClass, Row, Site,
    Timeouts,
};
use crate::scsi::{
    data_buffer, inquiry, log_select, log_sense, mode_select, mode_sense, report_luns, request_sense,
    send_diagnostic, test_unit_ready,
};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const PRIMARY: &'static [Row<D>] = &[
        Row {
            opcode: 0x00,
            name: "TEST UNIT READY",
            usage: &[0; 6],
            access: AccessClass::Active,
            needs: Needs::READ,
            site: Site::Probe,
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
            upkeep: UpkeepRule::Pass,
            site: Site::Probe,
            handler: Handler::Now(request_sense::request_sense),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x12,
            name: "INQUIRY",
            usage: &[0, 0x01, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(3)),
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            attention: AttentionRule::Exempt,
            upkeep: UpkeepRule::Pass,
            site: Site::Anywhere,
            handler: Handler::Now(inquiry::inquiry),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x15,
            name: "MODE SELECT(6)",
            usage: &[0, 0x13, 0, 0, 0xff, 0],
            data: Data::Out(LengthField::U8(4)),
            reservation: ReservationClass::Write,
            claim: ClaimKind::Everything,
            handler: Handler::Later(mode_select::mode_select_6),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1a,
            name: "MODE SENSE(6)",
            usage: &[0, 0x08, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U8(4)),
            reservation: ReservationClass::Read,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(mode_sense::mode_sense_6),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1c,
            name: "RECEIVE DIAGNOSTIC RESULTS",
            usage: &[0, 0x01, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(3)),
            reservation: ReservationClass::Read,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(send_diagnostic::receive_diagnostic_results),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1d,
            name: "SEND DIAGNOSTIC",
            usage: &[0, 0xf7, 0, 0xff, 0xff, 0],
            timeouts: Timeouts::LONG,
            data: Data::Out(LengthField::U16(3)),
            reservation: ReservationClass::Write,
            handler: Handler::Later(send_diagnostic::send_diagnostic),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x3b,
            name: "WRITE BUFFER",
            usage: &[0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            data: Data::Out(LengthField::U24(6)),
            reservation: ReservationClass::Write,
            handler: Handler::Now(data_buffer::write_buffer),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x3c,
            name: "READ BUFFER(10)",
            usage: &[0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U24(6)),
            reservation: ReservationClass::Read,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(data_buffer::read_buffer_10),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x4c,
            name: "LOG SELECT",
            usage: &[0, 0x02, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::Out(LengthField::U16(7)),
            reservation: ReservationClass::Write,
            handler: Handler::Now(log_select::log_select),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x4d,
            name: "LOG SENSE",
            usage: &[0, 0, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(7)),
            reservation: ReservationClass::Exempt,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(log_sense::log_sense),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x55,
            name: "MODE SELECT(10)",
            usage: &[0, 0x13, 0, 0, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::Out(LengthField::U16(7)),
            reservation: ReservationClass::Write,
            claim: ClaimKind::Everything,
            handler: Handler::Later(mode_select::mode_select_10),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x5a,
            name: "MODE SENSE(10)",
            usage: &[0, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(7)),
            reservation: ReservationClass::Read,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(mode_sense::mode_sense_10),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x9b,
            name: "READ BUFFER(16)",
            usage: &[
                0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
            ],
            data: Data::In(LengthField::U32(10)),
            reservation: ReservationClass::Read,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(data_buffer::read_buffer_16),
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
            upkeep: UpkeepRule::Pass,
            site: Site::Anywhere,
            handler: Handler::Now(report_luns::report_luns),
            ..Self::ANSWER
        },
    ];
}
