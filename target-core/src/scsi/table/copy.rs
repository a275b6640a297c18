//! Third-party copies (SPC-5 5.17, SBC-4 4.28).

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::copy::{abort, extended_copy, populate_token, results, write_using_token};
use crate::scsi::row::{
    AccessClass, Data, Handler, LengthField, Needs, ReservationClass, Row, Site, Timeouts, Toll,
};

/// PARAMETER LIST LENGTH alone.
const LIST: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0];
/// LIST IDENTIFIER, PARAMETER LIST LENGTH, GROUP NUMBER.
const TOKEN: &[u8] = &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0];
/// LIST IDENTIFIER of one byte, ALLOCATION LENGTH.
const RECEIVE_1: &[u8] = &[0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0];
/// LIST IDENTIFIER of four bytes, ALLOCATION LENGTH.
const RECEIVE_4: &[u8] = &[0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0];

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const COPY: &'static [Row<D>] = &[
        Row {
            service_action: Some(0x00),
            name: "EXTENDED COPY(LID1)",
            handler: Handler::Later(extended_copy::extended_copy_lid1),
            ..Self::EXTENDED_COPY
        },
        Row {
            service_action: Some(0x01),
            name: "EXTENDED COPY(LID4)",
            handler: Handler::Later(extended_copy::extended_copy_lid4),
            ..Self::EXTENDED_COPY
        },
        Row {
            service_action: Some(0x10),
            name: "POPULATE TOKEN",
            usage: TOKEN,
            reservation: ReservationClass::Read,
            toll: Toll::Read,
            needs: Needs::READ,
            handler: Handler::Later(populate_token::populate_token),
            ..Self::EXTENDED_COPY
        },
        Row {
            service_action: Some(0x11),
            name: "WRITE USING TOKEN",
            usage: TOKEN,
            needs: Needs::WRITE,
            handler: Handler::Later(write_using_token::write_using_token),
            ..Self::EXTENDED_COPY
        },
        Row {
            service_action: Some(0x1c),
            name: "COPY OPERATION ABORT",
            usage: &[0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            timeouts: Timeouts::MEDIUM,
            data: Data::None,
            toll: Toll::Free,
            handler: Handler::Later(abort::copy_operation_abort),
            ..Self::EXTENDED_COPY
        },
        Row {
            service_action: Some(0x00),
            name: "RECEIVE COPY STATUS(LID1)",
            handler: Handler::Now(results::receive_copy_status_lid1),
            ..Self::RECEIVE
        },
        Row {
            service_action: Some(0x03),
            name: "RECEIVE COPY OPERATING PARAMETERS",
            usage: LIST,
            handler: Handler::Now(results::receive_copy_operating_parameters),
            ..Self::RECEIVE
        },
        Row {
            service_action: Some(0x04),
            name: "RECEIVE COPY FAILURE DETAILS(LID1)",
            handler: Handler::Now(results::receive_copy_failure_details),
            ..Self::RECEIVE
        },
        Row {
            service_action: Some(0x05),
            name: "RECEIVE COPY STATUS(LID4)",
            usage: RECEIVE_4,
            handler: Handler::Now(results::receive_copy_status_lid4),
            ..Self::RECEIVE
        },
        Row {
            service_action: Some(0x07),
            name: "RECEIVE ROD TOKEN INFORMATION",
            usage: RECEIVE_4,
            handler: Handler::Now(results::receive_rod_token_information),
            ..Self::RECEIVE
        },
    ];

    /// What is copied by whom stands in the parameter list; the steps of the copy claim blocks and pass gates of their own.
    const EXTENDED_COPY: Row<D> = Row {
        opcode: 0x83,
        usage: LIST,
        timeouts: Timeouts::LONG,
        data: Data::Out(LengthField::U32(10)),
        reservation: ReservationClass::Write,
        toll: Toll::Write,
        access: AccessClass::Active,
        ..Self::ANSWER
    };

    const RECEIVE: Row<D> = Row {
        opcode: 0x84,
        usage: RECEIVE_1,
        data: Data::In(LengthField::U32(10)),
        site: Site::Owner { is_repeatable: true },
        reservation: ReservationClass::Write,
        ..Self::ANSWER
    };
}
