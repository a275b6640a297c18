//! What units live on: one file per backend, one arm of the factory in [`open()`], one line in the conformance suite.

mod buffers;
mod completions;
mod errno;
mod fencing;
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
mod space;
mod switch;
mod threads;

#[cfg(test)]
mod conformance;

pub use completions::serve_thread;
pub use fencing::{Fencing, fencing};
pub use glint_gfapi::LockOwner;
pub(crate) use gluster::connect as connect_gluster;
pub use open::{BackendContext, OpenError, OpenOptions, open, open_owned};
pub use switch::Switch;

use crate::config::Provisioning;
use bytes::Bytes;
use file::FileDevice;
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Extent, Geometry, Space};
use glint_target_core::payload::Payload;
use gluster::GlusterDevice;
use null::NullDevice;
use ram::RamDevice;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// What a unit lives on: a backend, and whether the unit may give space back to it.
#[derive(Debug)]
pub struct Device {
    place: Place,
    provisioning: Provisioning,
    /// Told instead of the backend's own.
    physical_block: Option<u32>,
}

/// Whether the backend is there all the time.
#[derive(Debug)]
enum Place {
    Always(Backend),
    /// While this node owns the volume.
    Owned(Arc<Switch>),
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
    ($backend:expr, $inner:ident => $call:expr) => {
        match $backend {
            Backend::Gluster($inner) => $call,
            Backend::File($inner) => $call,
            Backend::Ram($inner) => $call,
            Backend::Null($inner) => $call,
        }
    };
}

/// Does the same with whichever backend it is, wherever it is.
macro_rules! wherever {
    ($device:expr, $inner:ident => $call:expr) => {
        match &$device.place {
            Place::Always(backend) => on_each!(backend, $inner => $call.await),
            Place::Owned(switch) => {
                switch.with(|opened| async move { on_each!(&*opened, $inner => $call.await) }).await
            }
        }
    };
}

impl Backend {
    fn told(&self) -> (Geometry, Capabilities) {
        on_each!(self, inner => (inner.geometry(), inner.capabilities()))
    }

    /// Ready when no change that has been begun is under way any more. That of a change whose caller has gone is, until the store has answered.
    fn changes_ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let locks = match self {
            Backend::Gluster(device) => Some(device.locks()),
            Backend::File(device) => Some(device.locks()),
            // What they do is done at once.
            Backend::Ram(_) | Backend::Null(_) => None,
        };
        async move {
            if let Some(locks) = locks {
                drop(locks.lock(0..u64::MAX).await);
            }
        }
    }
}

impl Device {
    /// Makes of a device one that is there only while this node owns it, closed to begin with. Epochs in which
    /// the store has refused I/O go to `refusals`; what was refused waits for `patience` at most.
    pub fn switched(self, refusals: UnboundedSender<u64>, patience: Duration) -> Switched {
        let switch = Switch::new(self.told(), refusals, patience);
        Switched { switch, provisioning: self.provisioning, physical_block: self.physical_block }
    }

    fn told(&self) -> (Geometry, Capabilities) {
        match &self.place {
            Place::Always(backend) => backend.told(),
            Place::Owned(switch) => switch.told(),
        }
    }
}

/// A device that is there only while this node owns it.
#[derive(Debug)]
pub struct Switched {
    switch: Arc<Switch>,
    provisioning: Provisioning,
    physical_block: Option<u32>,
}

impl Switched {
    /// What it is opened and closed with.
    pub fn switch(&self) -> &Arc<Switch> {
        &self.switch
    }

    /// The device, for one unit or another: all of them are the same.
    pub fn device(&self) -> Device {
        let place = Place::Owned(Arc::clone(&self.switch));
        Device { place, provisioning: self.provisioning, physical_block: self.physical_block }
    }
}

impl Switch {
    /// Opens it: this is behind it from now on. What was refused before goes on with this.
    pub fn open(&self, device: Device, epoch: u64) {
        match device.place {
            Place::Always(backend) => self.open_backend(backend, epoch),
            // One that is switched itself: what is behind that is switched there.
            Place::Owned(_) => self.close(),
        }
    }
}

impl BlockDevice for Device {
    fn geometry(&self) -> Geometry {
        let own = match &self.place {
            Place::Always(backend) => on_each!(backend, inner => inner.geometry()),
            Place::Owned(switch) => switch.told().0,
        };
        Geometry { physical_block: self.physical_block.unwrap_or(own.physical_block), ..own }
    }

    fn capabilities(&self) -> Capabilities {
        let own = match &self.place {
            Place::Always(backend) => on_each!(backend, inner => inner.capabilities()),
            Place::Owned(switch) => switch.told().1,
        };
        match self.provisioning {
            Provisioning::Thin => own,
            // Every block of a fully provisioned unit is mapped (SBC-4 4.7.2), whether or not the store has holes.
            Provisioning::Full => Capabilities { discard: None, allocation_map: false, ..own },
        }
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        wherever!(self, inner => inner.read(offset, len))
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        wherever!(self, inner => inner.write(offset, data, fua))
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        wherever!(self, inner => inner.flush())
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        wherever!(self, inner => inner.discard(offset, len))
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        wherever!(self, inner => inner.write_zeroes(offset, len))
    }

    async fn allocation_map(
        &self,
        offset: u64,
        len: u64,
        max_extents: usize,
    ) -> Result<Vec<Extent>, DeviceError> {
        wherever!(self, inner => inner.allocation_map(offset, len, max_extents))
    }

    async fn space(&self) -> Result<Option<Space>, DeviceError> {
        wherever!(self, inner => inner.space())
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        wherever!(self, inner => inner.resize(size))
    }
}
