//! Reads zeros and drops writes without touching a byte: to measure the target itself.

use super::range::{MAX_ZEROS, within, zeros};
use bytes::Bytes;
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry};
use glint_target_core::payload::Payload;
use std::sync::atomic::{AtomicU64, Ordering};

/// The device that holds nothing.
#[derive(Debug)]
pub struct NullDevice {
    size: AtomicU64,
    read_only: bool,
}

impl NullDevice {
    pub(super) fn new(size: u64, read_only: bool) -> Self {
        Self { size: AtomicU64::new(size), read_only }
    }

    fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    fn drop_write(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        if self.read_only {
            return Err(DeviceError::ReadOnly);
        }
        within(offset, len, self.size()).map(drop)
    }
}

impl BlockDevice for NullDevice {
    fn geometry(&self) -> Geometry {
        Geometry { size: self.size(), physical_block: 4096, optimal_io: 0 }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            read_only: self.read_only,
            volatile_cache: false,
            discard: Some(Discard { granularity: 4096 }),
            write_zeroes: true,
            allocation_map: true,
            max_transfer: MAX_ZEROS as u32,
            atomic_write: u32::MAX,
        }
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        within(offset, len as u64, self.size())?;
        if len > MAX_ZEROS {
            return Err(DeviceError::Unsupported);
        }
        Ok(zeros(len))
    }

    async fn write(&self, offset: u64, data: &Payload, _fua: bool) -> Result<(), DeviceError> {
        self.drop_write(offset, data.len() as u64)
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.drop_write(offset, len)
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        self.drop_write(offset, len)
    }

    async fn allocation_map(&self, offset: u64, len: u64, max: usize) -> Result<Vec<Extent>, DeviceError> {
        let range = within(offset, len, self.size())?;
        let hole = (!range.is_empty() && max > 0).then_some(Extent { range, mapped: false });
        Ok(hole.into_iter().collect())
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        self.size.store(size, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::{BackendContext, conformance, open};
    use crate::config::DeviceSpec;

    conformance::suite!(keeps_data: false, async |how| {
        let context = BackendContext::new(std::time::Duration::from_secs(5), crate::config::FileIo::Auto).unwrap();
        (open(&DeviceSpec::Null, &how, &context).await.unwrap(), ())
    });
}
