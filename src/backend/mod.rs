//! What units live on: one file per backend, one arm of the factory in [`open()`], one line in the conformance suite.

mod buffers;
mod completions;
mod errno;
mod file;
mod gluster;
mod latch;
mod null;
mod open;
mod ram;
mod range;
mod range_lock;
mod ring;
mod sizing;
mod threads;

#[cfg(test)]
mod conformance;

pub use completions::serve_thread;
pub(crate) use gluster::connect as connect_gluster;
pub use open::{BackendContext, OpenError, OpenOptions, open};

use crate::config::Provisioning;
use bytes::Bytes;
use file::FileDevice;
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Extent, Geometry, Space};
use glint_target_core::payload::Payload;
use gluster::GlusterDevice;
use null::NullDevice;
use ram::RamDevice;

/// What a unit lives on: a backend, and whether the unit may give space back to it.
#[derive(Debug)]
pub struct Device {
    backend: Backend,
    provisioning: Provisioning,
    /// Told instead of the backend's own.
    physical_block: Option<u32>,
}

/// Any backend, dispatched by match so that the compiler sees through it.
#[derive(Debug)]
enum Backend {
    Gluster(GlusterDevice),
    File(FileDevice),
    Ram(RamDevice),
    Null(NullDevice),
}

/// Calls the same method of whichever backend it is.
macro_rules! on_each {
    ($device:expr, $inner:ident => $call:expr) => {
        match &$device.backend {
            Backend::Gluster($inner) => $call,
            Backend::File($inner) => $call,
            Backend::Ram($inner) => $call,
            Backend::Null($inner) => $call,
        }
    };
}

impl BlockDevice for Device {
    fn geometry(&self) -> Geometry {
        let own = on_each!(self, inner => inner.geometry());
        Geometry { physical_block: self.physical_block.unwrap_or(own.physical_block), ..own }
    }

    fn capabilities(&self) -> Capabilities {
        let own = on_each!(self, inner => inner.capabilities());
        match self.provisioning {
            Provisioning::Thin => own,
            // Every block of a fully provisioned unit is mapped (SBC-4 4.7.2), whether or not the store has holes.
            Provisioning::Full => Capabilities { discard: None, allocation_map: false, ..own },
        }
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        on_each!(self, inner => inner.read(offset, len).await)
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        on_each!(self, inner => inner.write(offset, data, fua).await)
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        on_each!(self, inner => inner.flush().await)
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        on_each!(self, inner => inner.discard(offset, len).await)
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        on_each!(self, inner => inner.write_zeroes(offset, len).await)
    }

    async fn allocation_map(
        &self,
        offset: u64,
        len: u64,
        max_extents: usize,
    ) -> Result<Vec<Extent>, DeviceError> {
        on_each!(self, inner => inner.allocation_map(offset, len, max_extents).await)
    }

    async fn space(&self) -> Result<Option<Space>, DeviceError> {
        on_each!(self, inner => inner.space().await)
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        on_each!(self, inner => inner.resize(size).await)
    }
}
