//! Reservations: RESERVE and RELEASE of SPC-2.

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::reserve;
use crate::scsi::row::{AccessClass, Handler, ReservationClass, Row};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const RESERVATION: &'static [Row<D>] = &[
        Row { opcode: 0x16, name: "RESERVE(6)", usage: &[0; 6], ..Self::RESERVE },
        Row { opcode: 0x17, name: "RELEASE(6)", usage: &[0; 6], ..Self::RELEASE },
        Row { opcode: 0x56, name: "RESERVE(10)", usage: &[0; 10], ..Self::RESERVE },
        Row { opcode: 0x57, name: "RELEASE(10)", usage: &[0; 10], ..Self::RELEASE },
    ];

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
}
