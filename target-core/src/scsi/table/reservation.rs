//! Reservations: persistent ones (SPC-5), RESERVE and RELEASE (SPC-2).

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::persistent_parameters as action;
use crate::scsi::persistent_reserve_in::{
    read_full_status, read_keys, read_reservation, report_capabilities,
};
use crate::scsi::persistent_reserve_out::persistent_reserve_out;
use crate::scsi::reserve;
use crate::scsi::row::{AccessClass, Data, Handler, LengthField, ReservationClass, Row, Site, Timeouts};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const RESERVATION: &'static [Row<D>] = &[
        Row { opcode: 0x16, name: "RESERVE(6)", usage: &[0; 6], ..Self::RESERVE },
        Row { opcode: 0x17, name: "RELEASE(6)", usage: &[0; 6], ..Self::RELEASE },
        Row { opcode: 0x56, name: "RESERVE(10)", usage: &[0; 10], ..Self::RESERVE },
        Row { opcode: 0x57, name: "RELEASE(10)", usage: &[0; 10], ..Self::RELEASE },
        Row {
            service_action: Some(0x00),
            name: "PERSISTENT RESERVE IN, READ KEYS",
            handler: Handler::Now(read_keys),
            ..Self::PERSISTENT_IN
        },
        Row {
            service_action: Some(0x01),
            name: "PERSISTENT RESERVE IN, READ RESERVATION",
            handler: Handler::Now(read_reservation),
            ..Self::PERSISTENT_IN
        },
        Row {
            service_action: Some(0x02),
            name: "PERSISTENT RESERVE IN, REPORT CAPABILITIES",
            handler: Handler::Now(report_capabilities),
            ..Self::PERSISTENT_IN
        },
        Row {
            service_action: Some(0x03),
            name: "PERSISTENT RESERVE IN, READ FULL STATUS",
            handler: Handler::Now(read_full_status),
            ..Self::PERSISTENT_IN
        },
        Self::persistent_out(action::REGISTER, "PERSISTENT RESERVE OUT, REGISTER"),
        Self::persistent_out(action::RESERVE, "PERSISTENT RESERVE OUT, RESERVE"),
        Self::persistent_out(action::RELEASE, "PERSISTENT RESERVE OUT, RELEASE"),
        Self::persistent_out(action::CLEAR, "PERSISTENT RESERVE OUT, CLEAR"),
        Self::persistent_out(action::PREEMPT, "PERSISTENT RESERVE OUT, PREEMPT"),
        Self::persistent_out(action::PREEMPT_AND_ABORT, "PERSISTENT RESERVE OUT, PREEMPT AND ABORT"),
        Self::persistent_out(
            action::REGISTER_AND_IGNORE_EXISTING_KEY,
            "PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY",
        ),
        Self::persistent_out(action::REGISTER_AND_MOVE, "PERSISTENT RESERVE OUT, REGISTER AND MOVE"),
    ];

    const RESERVE: Row<D> = Row {
        reservation: ReservationClass::Reserve,
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

    const PERSISTENT_IN: Row<D> = Row {
        opcode: 0x5e,
        usage: &[0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0],
        data: Data::In(LengthField::U16(7)),
        site: Site::Owner { is_repeatable: true },
        reservation: ReservationClass::Persistent,
        ..Self::ANSWER
    };

    /// SCOPE and TYPE may be anything where they are ignored.
    const fn persistent_out(service_action: u16, name: &'static str) -> Row<D> {
        Row {
            opcode: 0x5f,
            service_action: Some(service_action),
            name,
            usage: &[0, 0, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0],
            timeouts: Timeouts::MEDIUM,
            data: Data::Out(LengthField::U32(5)),
            reservation: ReservationClass::Persistent,
            handler: Handler::Later(persistent_reserve_out),
            ..Self::ANSWER
        }
    }
}
