//! Blocks to and fro, and what makes them safe (SBC-4).

use super::Table;
use crate::device::BlockDevice;
use crate::scsi::extent::Layout;
use crate::scsi::row::{ClaimKind, Data, Handler, ReservationClass, Row, Timeouts, Toll};
use crate::scsi::{
    compare_and_write, orwrite, prefetch, synchronize_cache, usage, verify, write, write_atomic,
};

impl<D: BlockDevice> Table<D> {
    /// See the module.
    pub(super) const TRANSFER: &'static [Row<D>] = &[
        Row { opcode: 0x08, name: "READ(6)", usage: usage::TRANSFER_6, layout: Layout::Six, ..Self::READ },
        Row { opcode: 0x0a, name: "WRITE(6)", usage: usage::TRANSFER_6, layout: Layout::Six, ..Self::WRITE },
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
            opcode: 0x8b,
            name: "ORWRITE(16)",
            usage: usage::TRANSFER_16,
            layout: Layout::Sixteen,
            claim: ClaimKind::Exclusive,
            handler: Handler::Later(orwrite::orwrite),
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
            opcode: 0x9c,
            name: "WRITE ATOMIC(16)",
            usage: usage::WRITE_ATOMIC_16,
            layout: Layout::Atomic,
            claim: ClaimKind::Exclusive,
            handler: Handler::Later(write_atomic::write_atomic),
            ..Self::WRITE
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
        toll: Toll::Free,
        handler: Handler::Now(prefetch::prefetch),
        ..Self::READ
    };

    const SYNCHRONIZE: Row<D> = Row {
        data: Data::None,
        claim: ClaimKind::None,
        toll: Toll::Free,
        reservation: ReservationClass::Write,
        handler: Handler::Later(synchronize_cache::synchronize_cache),
        ..Self::READ
    };
}
