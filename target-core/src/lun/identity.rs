//! Who a unit is.

use sha2::{Digest, Sha256};

/// What INQUIRY tells of a unit's identity. Initiators keep it for ever: it never changes and is never reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// PRODUCT SERIAL NUMBER: printable ASCII, at most 252 bytes.
    pub serial: String,
    /// NAA designator, locally assigned (SPC-5 7.7.6.7.3): the upper four bits are taken as 3h whatever they are.
    pub naa: u64,
    /// T10 VENDOR IDENTIFICATION, 8 bytes.
    pub vendor: String,
    /// PRODUCT IDENTIFICATION, 16 bytes.
    pub product: String,
    /// PRODUCT REVISION LEVEL, 4 bytes.
    pub revision: String,
}

impl Identity {
    /// The identity that a serial number gives: the NAA designator is derived from it.
    pub fn new(serial: impl Into<String>) -> Self {
        let serial = serial.into();
        let digest = Sha256::digest(serial.as_bytes());
        let naa = digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        Self {
            serial,
            naa,
            vendor: "GLINT".into(),
            product: "Block volume".into(),
            revision: env!("CARGO_PKG_VERSION_MAJOR").to_owned() + "." + env!("CARGO_PKG_VERSION_MINOR"),
        }
    }

    /// The NAA designator's eight bytes.
    pub fn naa(&self) -> [u8; 8] {
        (0x3 << 60 | self.naa & (u64::MAX >> 4)).to_be_bytes()
    }
}
