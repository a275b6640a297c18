//! Status and sense data as values (SAM-5 5.3.1, SPC-5 4.4).

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

/// Additional sense code and its qualifier. The named ones are constants beside their users' table in this module.
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
    /// Sense-key specific data.
    pub specific: Option<SenseSpecific>,
}

impl Sense {
    /// Sense data with nothing but key and code.
    pub const fn new(key: SenseKey, asc: Asc) -> Self {
        Self { key, asc, information: None, specific: None }
    }
}
