//! MAINTENANCE IN and OUT (SPC-5).

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::row::{AccessClass, Data, Handler, LengthField, ReservationClass, Row};
use crate::scsi::{supported_opcodes, target_port_groups};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const MAINTENANCE: &'static [Row<D>] = &[
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
            reservation: ReservationClass::Read,
            handler: Handler::Now(supported_opcodes::report_supported_operation_codes),
            ..Self::ANSWER
        },
        Row {
            opcode: 0xa3,
            service_action: Some(0x0d),
            name: "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
            usage: &[0, 0, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            reservation: ReservationClass::Read,
            handler: Handler::Now(supported_opcodes::report_supported_task_management),
            ..Self::ANSWER
        },
    ];
}
