//! Status and sense data as values (SAM-5 5.3.1, SPC-5 4.4).

use super::asc;

/// SAM status codes that this target sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Good = 0x00,
    /// Sense data tells more.
    CheckCondition = 0x02,
    /// PRE-FETCH: all of it fits the cache.
    ConditionMet = 0x04,
    /// Try again later.
    Busy = 0x08,
    /// A reservation of another nexus forbids it.
    ReservationConflict = 0x18,
    /// No room for another task.
    TaskSetFull = 0x28,
    /// ACA is active.
    AcaActive = 0x30,
    /// Aborted by another nexus, with TAS set.
    TaskAborted = 0x40,
}

impl Status {
    /// The status of this code, if it is one that this target sends.
    pub fn from_code(code: u8) -> Option<Self> {
        use Status::{
            AcaActive, Busy, CheckCondition, ConditionMet, Good, ReservationConflict, TaskAborted,
            TaskSetFull,
        };
        [Good, CheckCondition, ConditionMet, Busy, ReservationConflict, TaskSetFull, AcaActive, TaskAborted]
            .into_iter()
            .find(|status| *status as u8 == code)
    }
}

/// Sense keys (SPC-5 table 47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum SenseKey {
    NoSense = 0x0,
    RecoveredError = 0x1,
    NotReady = 0x2,
    MediumError = 0x3,
    HardwareError = 0x4,
    IllegalRequest = 0x5,
    UnitAttention = 0x6,
    DataProtect = 0x7,
    BlankCheck = 0x8,
    VendorSpecific = 0x9,
    CopyAborted = 0xa,
    AbortedCommand = 0xb,
    VolumeOverflow = 0xd,
    Miscompare = 0xe,
    Completed = 0xf,
}

impl SenseKey {
    /// The sense key of this code; Eh is reserved.
    pub fn from_code(code: u8) -> Option<Self> {
        use SenseKey::{
            AbortedCommand, BlankCheck, Completed, CopyAborted, DataProtect, HardwareError, IllegalRequest,
            MediumError, Miscompare, NoSense, NotReady, RecoveredError, UnitAttention, VendorSpecific,
            VolumeOverflow,
        };
        [
            NoSense,
            RecoveredError,
            NotReady,
            MediumError,
            HardwareError,
            IllegalRequest,
            UnitAttention,
            DataProtect,
            BlankCheck,
            VendorSpecific,
            CopyAborted,
            AbortedCommand,
            VolumeOverflow,
            Miscompare,
            Completed,
        ]
        .into_iter()
        .find(|key| *key as u8 == code)
    }
}

/// Additional sense code and its qualifier. The named ones are the constants of [`asc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asc(pub u8, pub u8);

/// Sense-key specific data (SPC-5 4.4.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenseSpecific {
    /// The byte (and bit) at fault, in the CDB or in the parameter list.
    Field {
        /// In the CDB, not in the data.
        in_cdb: bool,
        /// Byte offset.
        byte: u16,
        /// The left-most bit of the field at fault.
        bit: Option<u8>,
    },
    /// How far a long operation is, in 1/65536.
    Progress(u16),
}

/// Sense data before it takes a format; the logical unit renders it as fixed or descriptor by D_SENSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The sense key.
    pub key: SenseKey,
    /// Additional sense code and qualifier.
    pub asc: Asc,
    /// INFORMATION field where it is valid (an LBA, an offset).
    pub information: Option<u64>,
    /// COMMAND-SPECIFIC INFORMATION (the number of a segment).
    pub command_specific: Option<u32>,
    /// Sense-key specific data.
    pub specific: Option<SenseSpecific>,
}

impl Sense {
    /// Sense data with nothing but key and code.
    pub const fn new(key: SenseKey, asc: Asc) -> Self {
        Self { key, asc, information: None, command_specific: None, specific: None }
    }

    /// ILLEGAL REQUEST with this code.
    pub const fn illegal(asc: Asc) -> Self {
        Self::new(SenseKey::IllegalRequest, asc)
    }

    /// INVALID FIELD IN CDB, pointing at the field's left-most bit.
    pub const fn invalid_field_in_cdb(byte: u16, bit: u8) -> Self {
        Self::illegal(asc::INVALID_FIELD_IN_CDB).pointing(SenseSpecific::Field {
            in_cdb: true,
            byte,
            bit: Some(bit),
        })
    }

    /// INVALID FIELD IN PARAMETER LIST, pointing at a byte of the data-out.
    pub const fn invalid_field_in_parameters(byte: u16) -> Self {
        Self::illegal(asc::INVALID_FIELD_IN_PARAMETER_LIST).pointing(SenseSpecific::Field {
            in_cdb: false,
            byte,
            bit: None,
        })
    }

    /// LOGICAL BLOCK ADDRESS OUT OF RANGE with the first address that is (SBC-4 4.5.2).
    pub const fn out_of_range(lba: u64) -> Self {
        Self::illegal(asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE).informing(lba)
    }

    /// With the INFORMATION field.
    #[must_use]
    pub const fn informing(mut self, information: u64) -> Self {
        self.information = Some(information);
        self
    }

    /// With the COMMAND-SPECIFIC INFORMATION field.
    #[must_use]
    pub const fn regarding(mut self, command_specific: u32) -> Self {
        self.command_specific = Some(command_specific);
        self
    }

    /// With sense-key specific data.
    #[must_use]
    pub const fn pointing(mut self, specific: SenseSpecific) -> Self {
        self.specific = Some(specific);
        self
    }
}

/// How a command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// With CHECK CONDITION and this sense data.
    Check(Sense),
    /// With a status that says all: RESERVATION CONFLICT, TASK SET FULL, BUSY.
    Status(Status),
}

impl From<Sense> for Fault {
    fn from(sense: Sense) -> Self {
        Self::Check(sense)
    }
}
