//! The factory: from a [`DeviceSpec`] to an open [`Device`].

use super::buffers::BufferPool;
use super::file::{Disks, FileDevice};
use super::gluster::{GlusterDevice, Volumes};
use super::null::NullDevice;
use super::ram::RamDevice;
use super::sizing::SizePlan;
use super::threads::IoThreads;
use super::{Backend, Device, Place, ring};
use crate::config::{ByteSize, DeviceSpec, FileIo, LunConfig, Provisioning};
use glint_gfapi::LockOwner;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How a device is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Bytes; needed where the device does not exist yet.
    pub size: Option<u64>,
    /// Take all the space when the device is created or grows.
    pub preallocate: bool,
    /// Let a device that is smaller than `size` grow to it.
    pub grow: bool,
    /// Cut a device that is larger than `size` to it.
    pub shrink: bool,
    /// Physical block size to tell instead of the device's own.
    pub physical_block_size: Option<u32>,
    /// Logical block size of the unit, 512 or 4096: offsets and lengths of all I/O are multiples of it.
    pub block_size: u32,
    /// Refuse writes.
    pub read_only: bool,
    /// Whether space may be given back.
    pub provisioning: Provisioning,
    /// Several nodes have it, and agree among themselves who may use it: processes do not lock each other out.
    pub clustered: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            size: None,
            preallocate: false,
            grow: false,
            shrink: false,
            physical_block_size: None,
            block_size: 512,
            read_only: false,
            provisioning: Provisioning::Thin,
            clustered: false,
        }
    }
}

impl From<&LunConfig> for OpenOptions {
    fn from(lun: &LunConfig) -> Self {
        Self {
            size: lun.size,
            preallocate: lun.preallocate,
            grow: lun.grow,
            shrink: lun.shrink,
            physical_block_size: lun.physical_block_size,
            block_size: lun.block_size,
            read_only: lun.read_only,
            provisioning: lun.provisioning,
            clustered: false,
        }
    }
}

/// What the devices of a process share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BackendContext {
    /// For files that are being opened: which disk's they are is not known yet.
    pub(super) openers: Arc<IoThreads>,
    pub(super) disks: Arc<Disks>,
    pub(super) buffers: Arc<BufferPool>,
    pub(super) volumes: Arc<Volumes>,
    pub(super) io_deadline: Duration,
    /// Whether files are read and written through io_uring.
    pub(super) rings: bool,
}

/// Files that are opened at a time.
const OPENERS: usize = 32;

impl BackendContext {
    /// `io_deadline`: how long a backend may try before an operation fails. An error when `file_io` asks for what this system refuses.
    pub fn new(io_deadline: Duration, file_io: FileIo) -> io::Result<Self> {
        Ok(Self {
            openers: Arc::new(IoThreads::new(OPENERS)),
            disks: Arc::default(),
            buffers: Arc::default(),
            volumes: Arc::default(),
            io_deadline,
            rings: may_have_rings(file_io)?,
        })
    }

    /// How files are read and written: never [`FileIo::Auto`].
    pub fn file_io(&self) -> FileIo {
        if self.rings { FileIo::IoUring } else { FileIo::Threads }
    }
}

fn may_have_rings(file_io: FileIo) -> io::Result<bool> {
    if file_io == FileIo::Threads {
        return Ok(false);
    }
    match ring::probe() {
        Ok(()) => Ok(true),
        Err(error) if file_io == FileIo::Auto => {
            tracing::warn!(%error, "io_uring is refused here (by seccomp or kernel.io_uring_disabled?): file I/O goes through threads");
            Ok(false)
        }
        Err(error) => {
            let advice = "`file_io` asks for io_uring, which is refused here (by seccomp or kernel.io_uring_disabled?); permit it or use \"auto\"";
            Err(io::Error::new(error.kind(), format!("{advice}: {error}")))
        }
    }
}

/// Why a device could not be opened, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum OpenError {
    #[error("{device} does not exist; give it a size to have it created")]
    Missing { device: String },
    #[error("{device} does not exist, and a read-only unit is not created")]
    MissingReadOnly { device: String },
    #[error("{device} is empty; give it a size")]
    Empty { device: String },
    #[error(
        "{device} has {}, more than the size of {} asked for; nothing is cut off without `shrink`: ask for {} or leave the size out",
        ByteSize(*found), ByteSize(*wanted), ByteSize(*found)
    )]
    WouldShrink { device: String, found: u64, wanted: u64 },
    #[error(
        "{device} has {}, less than the size of {} asked for; add `grow` to let it grow, or ask for {}",
        ByteSize(*found), ByteSize(*wanted), ByteSize(*found)
    )]
    WouldGrow { device: String, found: u64, wanted: u64 },
    #[error(
        "{device} is split into shards, and GlusterFS does not cut such a file safely; leave its size as it is"
    )]
    ShardedShrink { device: String },
    #[error("{device} has {found} bytes, no multiple of the block size, {block_size}")]
    OddSize { device: String, found: u64, block_size: u32 },
    #[error("{device} is in use by another process, or by another unit of this one")]
    InUse { device: String },
    #[error("{device} is neither a file nor a block device")]
    NotAFile { device: String },
    #[error("{device}: cannot {doing}: {source}")]
    Io { device: String, doing: &'static str, source: io::Error },
    #[error("GlusterFS cannot be used: {source}")]
    GlusterLibrary { source: glint_gfapi::LoadError },
    #[error(
        "{volume} cannot be reached ({reason}); check that glusterd runs on {servers} and that this machine can connect to it"
    )]
    GlusterUnreachable { volume: String, servers: String, reason: String },
    #[error(
        "{volume} cannot be used: {source}; check on a server that the volume exists and is started: gluster volume status {name}"
    )]
    GlusterVolume { volume: String, name: String, source: Box<glint_gfapi::Error> },
    #[error("{device}: cannot {doing}: {source}")]
    GlusterFile { device: String, doing: &'static str, source: Box<glint_gfapi::Error> },
    #[error(
        "{device}: cannot {doing}: no answer from the bricks within {patience:?}; check that they are up and reachable"
    )]
    GlusterSilent { device: String, doing: &'static str, patience: Duration },
}

/// Opens the device, creating it or letting it grow as `how` says.
pub async fn open(
    spec: &DeviceSpec,
    how: &OpenOptions,
    context: &BackendContext,
) -> Result<Device, OpenError> {
    let backend = match spec {
        DeviceSpec::File(path) => FileDevice::open(path, how, context).await.map(Backend::File)?,
        DeviceSpec::Ram => {
            let size = SizePlan::decide("ram:", None, &writable(how))?.size();
            Backend::Ram(RamDevice::new(size, how.read_only))
        }
        DeviceSpec::Null => {
            let size = SizePlan::decide("null:", None, &writable(how))?.size();
            Backend::Null(NullDevice::new(size, how.read_only))
        }
        DeviceSpec::Gluster(file) => GlusterDevice::open(file, how, context).await.map(Backend::Gluster)?,
    };
    Ok(device(backend, how))
}

/// Opens a device of several nodes anew, as its owner, within [`BackendContext`]'s `io_deadline`. It is neither created nor given another size:
/// that is done by [`open()`], before somebody owns it.
///
/// With an `owner` the store refuses the I/O of all others from now on, and this device's when the next one has taken it: what was refused fails as
/// [`OwnershipLost`](glint_target_core::device::DeviceError::OwnershipLost). That holds for the same owner's former opening too. Without an owner, nothing but
/// agreement keeps others from the store.
///
/// When this is given up, by the deadline or because its future is dropped, a lock may be taken a little later still; it is given up at once.
pub async fn open_owned(
    spec: &DeviceSpec,
    how: &OpenOptions,
    context: &BackendContext,
    owner: Option<&LockOwner>,
) -> Result<Device, OpenError> {
    let as_it_is = OpenOptions {
        size: None,
        preallocate: false,
        grow: false,
        shrink: false,
        clustered: true,
        ..how.clone()
    };
    let backend = match spec {
        DeviceSpec::Gluster(file) => {
            GlusterDevice::open_owned(file, &as_it_is, context, owner).await.map(Backend::Gluster)?
        }
        DeviceSpec::File(path) => {
            let opening = FileDevice::open(path, &as_it_is, context);
            let opened = timeout(context.io_deadline, opening).await;
            opened.unwrap_or_else(|_| Err(silent(spec))).map(Backend::File)?
        }
        // There is nothing that could be there already.
        DeviceSpec::Ram | DeviceSpec::Null => return open(spec, how, context).await,
    };
    Ok(device(backend, how))
}

fn device(backend: Backend, how: &OpenOptions) -> Device {
    Device {
        place: Place::Always(backend),
        provisioning: how.provisioning,
        physical_block: how.physical_block_size,
    }
}

fn silent(spec: &DeviceSpec) -> OpenError {
    OpenError::Io { device: spec.to_string(), doing: "open it", source: io::ErrorKind::TimedOut.into() }
}

/// Devices that are made anew each time are made also when they are read-only.
fn writable(how: &OpenOptions) -> OpenOptions {
    OpenOptions { read_only: false, ..how.clone() }
}
