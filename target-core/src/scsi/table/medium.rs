//! The medium as a whole: its size, its mapping, whether it is there (SBC-4).

use super::Table;
use crate::device::BlockDevice;
use crate::lun::condition::UpkeepRule;
use crate::scsi::extent::Layout;
use crate::scsi::row::{
    AccessClass, Bits, ClaimKind, Data, Handler, LengthField, Needs, ReservationClass, Row, Site, Timeouts,
    Toll,
};
use crate::scsi::{
    format_unit, get_lba_status, read_capacity, read_defect_data, sanitize, start_stop_unit, unmap, usage,
    write_same,
};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const MEDIUM: &'static [Row<D>] = &[
        Row {
            opcode: 0x04,
            name: "FORMAT UNIT",
            usage: &[0, 0x3f, 0, 0, 0x03, 0],
            data: Data::OutTold(format_unit::data_out),
            upkeep: UpkeepRule::Format,
            handler: Handler::Later(format_unit::format_unit),
            ..Self::OVERHAUL
        },
        Row {
            opcode: 0x1b,
            name: "START STOP UNIT",
            usage: &[0, 0x01, 0, 0, 0xf7, 0],
            timeouts: Timeouts::MEDIUM,
            // Who only starts it (START one, POWER CONDITION zero) is let through.
            reservation: ReservationClass::WriteUnless(Bits { at: 4, mask: 0xf1, value: 0x01 }),
            access: AccessClass::Active,
            handler: Handler::Later(start_stop_unit::start_stop_unit),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x1e,
            name: "PREVENT ALLOW MEDIUM REMOVAL",
            usage: &[0, 0, 0, 0, 0x01, 0],
            // Who only allows it is let through.
            reservation: ReservationClass::WriteUnless(Bits { at: 4, mask: 0x03, value: 0x00 }),
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
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(read_capacity::read_capacity_10),
            ..Self::ANSWER
        },
        Row {
            opcode: 0x37,
            name: "READ DEFECT DATA(10)",
            usage: &[0, 0, 0x1f, 0, 0, 0, 0, 0xff, 0xff, 0],
            data: Data::In(LengthField::U16(7)),
            reservation: ReservationClass::Read,
            access: AccessClass::Active,
            needs: Needs::READ,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(read_defect_data::read_defect_data_10),
            ..Self::ANSWER
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
            opcode: 0x48,
            service_action: Some(sanitize::OVERWRITE),
            name: "SANITIZE OVERWRITE",
            handler: Handler::Later(sanitize::sanitize),
            ..Self::SANITIZE
        },
        Row {
            opcode: 0x48,
            service_action: Some(sanitize::BLOCK_ERASE),
            name: "SANITIZE BLOCK ERASE",
            needs: Needs::DISCARD,
            handler: Handler::Later(sanitize::sanitize),
            ..Self::SANITIZE
        },
        Row {
            opcode: 0x48,
            service_action: Some(sanitize::EXIT_FAILURE_MODE),
            name: "SANITIZE EXIT FAILURE MODE",
            timeouts: Timeouts::SHORT,
            handler: Handler::Later(sanitize::exit_failure_mode),
            ..Self::SANITIZE
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
            site: Site::Owner { is_repeatable: true },
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
            toll: Toll::Free,
            handler: Handler::Later(get_lba_status::get_lba_status),
            ..Self::READ
        },
        Row {
            opcode: 0xb7,
            name: "READ DEFECT DATA(12)",
            usage: &[0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
            data: Data::In(LengthField::U32(6)),
            reservation: ReservationClass::Read,
            access: AccessClass::Active,
            needs: Needs::READ,
            site: Site::Owner { is_repeatable: true },
            handler: Handler::Now(read_defect_data::read_defect_data_12),
            ..Self::ANSWER
        },
    ];

    /// Work on all of the medium.
    const OVERHAUL: Row<D> =
        Row { timeouts: Timeouts::WHOLE, claim: ClaimKind::Everything, toll: Toll::Free, ..Self::WRITE };

    /// IMMED, AUSE. ZNR is for zoned devices (SBC-4 5.30.1) and reserved here, as it was before there were any.
    const SANITIZE: Row<D> = Row {
        opcode: 0x48,
        usage: &[0, 0xa0, 0, 0, 0, 0, 0, 0xff, 0xff, 0],
        data: Data::Out(LengthField::U16(7)),
        upkeep: UpkeepRule::Sanitize,
        ..Self::OVERHAUL
    };

    const WRITE_SAME: Row<D> = Row {
        timeouts: Timeouts::LONG,
        data: Data::OutBy(write_same::data_out),
        claim: ClaimKind::ExclusiveToEnd,
        handler: Handler::Later(write_same::write_same),
        ..Self::WRITE
    };
}
