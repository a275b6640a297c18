//! MAINTENANCE IN and OUT (SPC-5).

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::row::{
    AccessClass, ClaimKind, Data, Handler, LengthField, ReservationClass, Row, Site, Timeouts,
};
use crate::scsi::{identifying_information, priority, supported_opcodes, target_port_groups, timestamp};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const MAINTENANCE: &'static [Row<D>] = &[
        Row {
            service_action: Some(0x05),
            name: "REPORT IDENTIFYING INFORMATION",
            usage: &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0],
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(identifying_information::report_identifying_information),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x0a),
            name: "REPORT TARGET PORT GROUPS",
            usage: &[0, 0xe0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            reservation: ReservationClass::Exempt,
            access: AccessClass::Any,
            site: Site::Anywhere,
            handler: Handler::Now(target_port_groups::report_target_port_groups),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x0c),
            name: "REPORT SUPPORTED OPERATION CODES",
            usage: &[0, 0, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
            reservation: ReservationClass::Read,
            site: Site::Anywhere,
            handler: Handler::Now(supported_opcodes::report_supported_operation_codes),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x0d),
            name: "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
            usage: &[0, 0, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            reservation: ReservationClass::Read,
            site: Site::Anywhere,
            handler: Handler::Now(supported_opcodes::report_supported_task_management),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x0e),
            name: "REPORT PRIORITY",
            usage: &[0, 0, 0xc0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(priority::report_priority),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x0f),
            name: "REPORT TIMESTAMP",
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(timestamp::report_timestamp),
            ..Self::MAINTENANCE_IN
        },
        Row {
            service_action: Some(0x06),
            name: "SET IDENTIFYING INFORMATION",
            usage: &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0],
            timeouts: Timeouts::MEDIUM,
            claim: ClaimKind::Everything,
            handler: Handler::Later(identifying_information::set_identifying_information),
            ..Self::MAINTENANCE_OUT
        },
        Row {
            service_action: Some(0x0a),
            name: "SET TARGET PORT GROUPS",
            access: AccessClass::Any,
            handler: Handler::Now(target_port_groups::set_target_port_groups),
            ..Self::MAINTENANCE_OUT
        },
        Row {
            service_action: Some(0x0e),
            name: "SET PRIORITY",
            usage: &[0, 0, 0xc0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            handler: Handler::Now(priority::set_priority),
            ..Self::MAINTENANCE_OUT
        },
        Row {
            service_action: Some(0x0f),
            name: "SET TIMESTAMP",
            handler: Handler::Now(timestamp::set_timestamp),
            ..Self::MAINTENANCE_OUT
        },
    ];

    const MAINTENANCE_IN: Row<D> = Row {
        opcode: 0xa3,
        usage: &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
        data: Data::In(LengthField::U32(6)),
        ..Self::ANSWER
    };

    const MAINTENANCE_OUT: Row<D> = Row {
        opcode: 0xa4,
        usage: &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
        data: Data::Out(LengthField::U32(6)),
        reservation: ReservationClass::Write,
        ..Self::ANSWER
    };
}
