//! One row of the opcode table: all that is to be known about a command apart from what it does.

use super::extent::Layout;
use super::fields::Fields;
use super::request::{Reply, Request};
use super::sense::Fault;
use super::unmap;
use crate::device::{BlockDevice, Capabilities};
use crate::lun::claim::Claim;
use crate::lun::condition::UpkeepRule;
use crate::payload::Payload;
use std::future::Future;
use std::pin::Pin;

/// A future on the heap: for commands that are rare or heavy.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A command of this device server.
pub struct Row<D: BlockDevice> {
    /// OPERATION CODE.
    pub opcode: u8,
    /// SERVICE ACTION, where the operation code has such; see [`ServiceAction`].
    pub service_action: Option<u16>,
    /// The standard's name.
    pub name: &'static str,
    /// The bits of the CDB that the command looks at, byte by byte (CDB USAGE DATA of SPC-5 6.34.3, save the operation code and the
    /// service action themselves). Its length is the CDB's. Any other bit that is set is an invalid field.
    pub usage: &'static [u8],
    /// How long it takes.
    pub timeouts: Timeouts,
    /// What goes in or out.
    pub data: Data,
    /// Where the CDB has its block range.
    pub layout: Layout,
    /// What it does with those blocks towards others.
    pub claim: ClaimKind,
    /// How the limits of a unit count it.
    pub toll: Toll,
    /// Where it is executed, where several nodes serve the unit.
    pub site: Site,
    /// How a reservation of another nexus concerns it.
    pub reservation: ReservationClass,
    /// In which access states it may run.
    pub access: AccessClass,
    /// How it meets a pending unit attention.
    pub attention: AttentionRule,
    /// How it meets a medium that is being formatted or sanitized.
    pub upkeep: UpkeepRule,
    /// What unit and medium have to offer.
    pub needs: Needs,
    /// What it does.
    pub handler: Handler<D>,
}

/// Where an operation code has its SERVICE ACTION (SPC-5 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceAction {
    /// In the low five bits of byte 1.
    Short,
    /// In bytes 8 and 9 of a variable length CDB.
    Long,
}

/// The operation code of variable length CDBs.
pub const VARIABLE_LENGTH: u8 = 0x7f;

impl ServiceAction {
    /// Its place for an operation code.
    pub fn of(opcode: u8) -> Self {
        match opcode {
            VARIABLE_LENGTH => Self::Long,
            _ => Self::Short,
        }
    }

    /// Its value.
    pub fn read(self, cdb: Fields<'_>) -> u16 {
        match self {
            Self::Short => u16::from(cdb.u8(1) & 0x1f),
            Self::Long => cdb.u16(8),
        }
    }

    /// Its last byte, for field pointers.
    pub fn byte(self) -> u16 {
        match self {
            Self::Short => 1,
            Self::Long => 9,
        }
    }

    /// The bits of a byte of the CDB that it takes.
    pub fn mask(self, byte: usize) -> u8 {
        match (self, byte) {
            (Self::Short, 1) => 0x1f,
            (Self::Long, 8 | 9) => 0xff,
            _ => 0,
        }
    }

    /// What a byte of the CDB has of this value.
    pub fn bits(self, byte: usize, value: u16) -> u8 {
        let [high, low] = value.to_be_bytes();
        match (self, byte) {
            (Self::Short, 1) | (Self::Long, 9) => low,
            (Self::Long, 8) => high,
            _ => 0,
        }
    }
}

/// Command timeouts descriptor (SPC-5 6.34.4), in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// NOMINAL COMMAND PROCESSING TIMEOUT: when to begin to wonder.
    pub nominal: u32,
    /// RECOMMENDED COMMAND TIMEOUT: when to give up.
    pub recommended: u32,
}

impl Timeouts {
    /// Answered from memory.
    pub const SHORT: Self = Self { nominal: 1, recommended: 30 };
    /// Bounded work of the backend.
    pub const MEDIUM: Self = Self { nominal: 10, recommended: 60 };
    /// Work that grows with the range.
    pub const LONG: Self = Self { nominal: 60, recommended: 300 };
    /// Work on all of the medium.
    pub const WHOLE: Self = Self { nominal: 3600, recommended: 86_400 };
}

/// The data of a command.
#[derive(Clone, Copy, Debug)]
pub enum Data {
    /// None.
    None,
    /// Parameter data to the initiator, cut to the ALLOCATION LENGTH found there.
    In(LengthField),
    /// Data to the initiator of a length that has nothing to do with an allocation length: READ CAPACITY(10) and logical blocks.
    InWhole,
    /// A parameter list of the length found there.
    Out(LengthField),
    /// So many times the logical blocks of the range.
    OutBlocks(u8),
    /// Told by the CDB in its own way, in bytes; the argument after it is the block size.
    OutBy(fn(Fields<'_>, Layout, u32) -> u64),
    /// Told by the data itself.
    OutTold(fn(Fields<'_>, &Payload) -> u64),
}

/// A length in bytes in the CDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthField {
    /// One byte at this place.
    U8(usize),
    /// Two bytes.
    U16(usize),
    /// Three bytes.
    U24(usize),
    /// Four bytes.
    U32(usize),
}

impl LengthField {
    /// Its value.
    pub fn read(self, cdb: Fields<'_>) -> u64 {
        match self {
            Self::U8(at) => u64::from(cdb.u8(at)),
            Self::U16(at) => u64::from(cdb.u16(at)),
            Self::U24(at) => u64::from(cdb.u24(at)),
            Self::U32(at) => u64::from(cdb.u32(at)),
        }
    }
}

/// How a command claims the blocks of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// Not at all.
    None,
    /// Alongside others.
    Shared,
    /// For itself.
    Exclusive,
    /// For itself, where a length of zero means up to the end.
    ExclusiveToEnd,
    /// Those of the block descriptors of UNMAP, alongside others.
    Listed,
    /// All of them, for itself.
    Everything,
}

/// Where a command for a unit that several nodes serve is executed. One of them owns the unit; the others hand on to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Where it came in: what it tells is the same everywhere, or is of the port that it came to.
    Anywhere,
    /// At the owner; where nobody owns the unit, where it came in. It asks whether the unit is there, as path checkers do all the time, and so never
    /// has anybody take it over.
    Probe,
    /// At the owner; has somebody take the unit over where it has none. Also what only asks: of mode parameters, reservations and the capacity a node
    /// that does not own the unit knows nothing for sure.
    Owner {
        /// It may be executed twice without harm.
        is_repeatable: bool,
    },
}

/// How the limits of a unit count a command (`lun::throttle`): as one operation and with the bytes that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toll {
    /// Not at all.
    Free,
    /// Among those that read.
    Read,
    /// Among those that write.
    Write,
}

/// What a reservation of another nexus does to a command: RESERVE (SPC-2 5.5.1, table 9) and persistent (SPC-5 5.14.1, SBC-4 4.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationClass {
    /// Never conflicts.
    Exempt,
    /// Conflicts with RESERVE only.
    Tolerant,
    /// Conflicts with RESERVE, and with a persistent reservation that keeps readers out.
    Read,
    /// Conflicts with RESERVE, and with a persistent reservation that keeps writers out.
    Write,
    /// Tolerant where the CDB has these bits, else as [`Self::Write`].
    WriteUnless(Bits),
    /// RESERVE: conflicts with RESERVE, and with registrations of others (SPC-4 5.12.3).
    Reserve,
    /// RELEASE: as RESERVE, but never conflicts with it (it does nothing then).
    Release,
    /// PERSISTENT RESERVE IN and OUT: conflicts with RESERVE, be it of the same nexus. OUT knows itself what else stands against it.
    Persistent,
}

/// Bits of one byte of a CDB that have this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The byte.
    pub at: usize,
    /// The bits that count.
    pub mask: u8,
    /// Their value.
    pub value: u8,
}

impl ReservationClass {
    /// The class of one command.
    pub fn of(self, cdb: Fields<'_>) -> Self {
        match self {
            Self::WriteUnless(Bits { at, mask, value }) if cdb.u8(at) & mask == value => Self::Tolerant,
            Self::WriteUnless(_) => Self::Write,
            class => class,
        }
    }
}

/// In which access states a command may run (SPC-5 5.18.2.5 to 5.18.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// In all of them.
    Any,
    /// In standby too.
    Standby,
    /// Only while active.
    Active,
}

/// How a command meets a pending unit attention (SAM-5 5.14.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionRule {
    /// It ends with it.
    Report,
    /// It runs and leaves it pending (INQUIRY, REPORT LUNS).
    Exempt,
    /// It runs and tells it itself (REQUEST SENSE).
    Own,
}

/// What a command needs. Where the device or the kind of unit does not have it, the command is not supported; where only the medium's
/// state stands against it, it ends with the sense that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// A medium that is there and may be reached.
    pub medium: bool,
    /// A medium that may be written.
    pub writable: bool,
    /// A device that can give ranges back.
    pub discard: bool,
    /// A removable medium.
    pub removable: bool,
}

impl Needs {
    /// Nothing.
    pub const NOTHING: Self = Self { medium: false, writable: false, discard: false, removable: false };
    /// Something to read.
    pub const READ: Self = Self { medium: true, ..Self::NOTHING };
    /// Something to write.
    pub const WRITE: Self = Self { medium: true, writable: true, ..Self::NOTHING };
    /// Something to write that can be given back.
    pub const DISCARD: Self = Self { discard: true, ..Self::WRITE };
    /// A removable medium, in or out.
    pub const REMOVABLE: Self = Self { removable: true, ..Self::NOTHING };

    /// Whether a unit of these abilities has the command at all.
    pub fn are_met(self, capabilities: &Capabilities, removable: bool) -> bool {
        (!self.discard || capabilities.discard.is_some()) && (!self.removable || removable)
    }
}

/// What runs a command.
pub enum Handler<D: BlockDevice> {
    /// Answered at once.
    Now(fn(&Request<'_, D>) -> Result<Reply, Fault>),
    /// Takes its time; the future costs an allocation.
    Later(for<'a> fn(&'a Request<'a, D>) -> BoxFuture<'a, Result<Reply, Fault>>),
    /// READ, without an allocation.
    Read,
    /// WRITE, without an allocation.
    Write,
}

impl<D: BlockDevice> Row<D> {
    /// Bytes of data-out that the command takes, given what was sent.
    pub fn data_out(&self, cdb: Fields<'_>, data: &Payload, block_size: u32) -> u64 {
        match self.data {
            Data::None | Data::In(_) | Data::InWhole => 0,
            Data::Out(field) => field.read(cdb),
            Data::OutBlocks(times) => {
                self.layout.extent(cdb).blocks * u64::from(block_size) * u64::from(times)
            }
            Data::OutBy(length) => length(cdb, self.layout, block_size),
            Data::OutTold(length) => length(cdb, data),
        }
    }

    /// The blocks that the command claims.
    pub fn claim(&self, cdb: Fields<'_>, data_out: &Payload) -> Claim {
        let range = || self.layout.extent(cdb).saturating();
        match self.claim {
            ClaimKind::None => Claim::None,
            ClaimKind::Shared => Claim::Shared(range()),
            ClaimKind::Exclusive => Claim::Exclusive(range()),
            ClaimKind::ExclusiveToEnd => match range() {
                range if range.is_empty() => Claim::Exclusive(range.start..u64::MAX),
                range => Claim::Exclusive(range),
            },
            ClaimKind::Listed => Claim::Shared(unmap::reach(data_out)),
            ClaimKind::Everything => Claim::EVERYTHING,
        }
    }

    /// The bits of one byte of the CDB that may be set, the service action included.
    pub fn allowed_bits(&self, byte: usize) -> u8 {
        let usage = self.usage.get(byte).copied().unwrap_or(0);
        match byte {
            0 => 0xff,
            _ if self.service_action.is_some() => usage | ServiceAction::of(self.opcode).mask(byte),
            _ => usage,
        }
    }
}
