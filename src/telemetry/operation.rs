//! The classes of SCSI commands that the metrics of a volume tell apart.

/// One value of the label `op`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Read,
    Write,
    Verify,
    Flush,
    Unmap,
    WriteSame,
    CompareAndWrite,
    Reservation,
    Other,
}

impl Operation {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Operation; 9] = [
        Operation::Read,
        Operation::Write,
        Operation::Verify,
        Operation::Flush,
        Operation::Unmap,
        Operation::WriteSame,
        Operation::CompareAndWrite,
        Operation::Reservation,
        Operation::Other,
    ];

    /// The class of an OPERATION CODE (SPC-5 annex F lists them by number).
    pub const fn of(opcode: u8) -> Self {
        match opcode {
            0x08 | 0x28 | 0x88 | 0xa8 => Operation::Read,
            0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae => Operation::Write,
            0x2f | 0x8f | 0xaf => Operation::Verify,
            0x35 | 0x91 => Operation::Flush,
            0x42 => Operation::Unmap,
            0x41 | 0x93 => Operation::WriteSame,
            0x89 => Operation::CompareAndWrite,
            0x16 | 0x17 | 0x56 | 0x57 | 0x5e | 0x5f => Operation::Reservation,
            _ => Operation::Other,
        }
    }

    /// The label's value.
    pub const fn label(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Verify => "verify",
            Operation::Flush => "flush",
            Operation::Unmap => "unmap",
            Operation::WriteSame => "write_same",
            Operation::CompareAndWrite => "compare_and_write",
            Operation::Reservation => "reservation",
            Operation::Other => "other",
        }
    }
}
