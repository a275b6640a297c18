//! Saved mode parameters (SPC-5 5.10): kept as the mode pages that carry them, header and all, so that a later version finds those it
//! knows.

use super::asc;
use super::mode_pages::{self, PAGES};
use super::mode_values::ModeValues;
use super::sense::{Sense, SenseKey};
use crate::device::BlockDevice;
use crate::lun::memory::{Document, MemoryError, replace};
use crate::lun::unit::LogicalUnit;
use bytes::Bytes;

/// Saves parameters: they come back after a reset and a restart.
pub async fn save<D: BlockDevice>(unit: &LogicalUnit<D>, values: ModeValues) -> Result<(), Sense> {
    if let Some(memory) = unit.memory() {
        let old = || encode(&unit.modes().saved());
        let kept = replace(&**memory, Document::ModeParameters, encode(&values), old).await;
        kept.map_err(|_| Sense::new(SenseKey::HardwareError, asc::INTERNAL_TARGET_FAILURE))?;
    }
    unit.modes().save(values);
    Ok(())
}

impl<D: BlockDevice> LogicalUnit<D> {
    /// Takes over the saved mode parameters. To be done before the unit is served. The error is that they can't be read: then the
    /// defaults stay in force.
    pub async fn restore_mode_parameters(&self) -> Result<(), MemoryError> {
        let Some(memory) = self.memory() else { return Ok(()) };
        if let Some(document) = memory.recall(Document::ModeParameters).await? {
            let values = decode(&document, self.device().capabilities().volatile_cache)?;
            self.modes().save(values);
            self.modes().reset();
        }
        Ok(())
    }
}

fn encode(values: &ModeValues) -> Bytes {
    PAGES.iter().flat_map(|page| page.page(values, true)).collect()
}

fn decode(document: &[u8], volatile_cache: bool) -> Result<ModeValues, MemoryError> {
    let mut values = ModeValues::defaults(volatile_cache);
    for found in mode_pages::cut(document, 0) {
        let found = found.map_err(|()| MemoryError::Damaged("it ends within a mode page".into()))?;
        if let Some(page) = found.page {
            page.recall(&mut values, found.parameters, volatile_cache);
        }
    }
    Ok(values)
}

#[cfg(test)]
#[path = "mode_saving_tests.rs"]
mod tests;
