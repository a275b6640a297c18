//! Identifying information (SPC-5 5.6): what the owner of a unit calls it, kept for ever.

use super::memory::{Document, MemoryError};
use super::unit::LogicalUnit;
use crate::device::BlockDevice;
use crate::scsi::fields::Fields;
use bytes::Bytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A kind of identifying information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// IDENTIFYING INFORMATION TYPE.
    pub code: u8,
    /// Most bytes of it.
    pub capacity: u16,
    /// Whether it is text: UTF-8, ended by a zero byte.
    pub is_text: bool,
}

/// Those that there are (SPC-5 table 66).
pub const KINDS: [Kind; 2] = [
    Kind { code: 0b000_0000, capacity: 512, is_text: false },
    Kind { code: 0b000_0010, capacity: 256, is_text: true },
];

/// The information of each kind, in the order of [`KINDS`]; empty where nothing was set.
pub type Information = [Bytes; KINDS.len()];

/// See the module.
#[derive(Default)]
pub struct Identifying(Mutex<Information>);

impl Identifying {
    fn lock(&self) -> MutexGuard<'_, Information> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it.
    pub fn get(&self) -> Information {
        self.lock().clone()
    }

    /// Replaces it.
    pub fn set(&self, information: Information) {
        *self.lock() = information;
    }
}

impl<D: BlockDevice> LogicalUnit<D> {
    /// Takes over the identifying information that was kept. To be done before the unit is served. The error is that it can't be read:
    /// then there is none.
    pub async fn restore_identifying_information(&self) -> Result<(), MemoryError> {
        let Some(memory) = self.memory() else { return Ok(()) };
        if let Some(document) = memory.recall(Document::IdentifyingInformation).await? {
            self.identifying().set(decode(&document)?);
        }
        Ok(())
    }
}

/// As a document: for each kind that is set its code, a reserved byte, its length, and itself.
pub fn encode(information: &Information) -> Bytes {
    let mut document = Vec::new();
    for (kind, information) in
        KINDS.iter().zip(information).filter(|(_, information)| !information.is_empty())
    {
        let [high, low] = (information.len() as u16).to_be_bytes(); // at most its capacity
        document.extend_from_slice(&[kind.code, 0, high, low]);
        document.extend_from_slice(information);
    }
    document.into()
}

fn decode(document: &Bytes) -> Result<Information, MemoryError> {
    let damaged = || MemoryError::Damaged("it ends within an identifier".into());
    let mut information = Information::default();
    let mut at = 0;
    while at < document.len() {
        let header = Fields(document.get(at..at + 4).ok_or_else(damaged)?);
        let start = at + 4;
        at = start + usize::from(header.u16(2));
        if at > document.len() {
            return Err(damaged());
        }
        let known = KINDS.iter().position(|kind| kind.code == header.u8(0));
        if let Some(place) = known.and_then(|known| information.get_mut(known)) {
            *place = document.slice(start..at);
        }
    }
    Ok(information)
}
