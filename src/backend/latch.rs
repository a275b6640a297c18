//! Remembers that a flush failed: what was cached may be gone, and a later flush that succeeds would hide it.

use glint_target_core::device::DeviceError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first failed flush, until the device is reopened.
#[derive(Debug, Default)]
pub(super) struct FlushLatch(AtomicBool);

impl FlushLatch {
    /// Fails every operation once a flush has failed.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if self.0.load(Ordering::Acquire) { Err(DeviceError::FlushFailed) } else { Ok(()) }
    }

    /// Latches; gives the error to answer with.
    pub(super) fn set(&self) -> DeviceError {
        self.0.store(true, Ordering::Release);
        DeviceError::FlushFailed
    }
}
