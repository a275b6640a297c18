//! Opening a file: locked, created or grown as wanted, and its abilities found out.

use super::super::errno::is_unsupported;
use super::super::latch::FlushLatch;
use super::super::open::{BackendContext, OpenError, OpenOptions};
use super::super::sizing::SizePlan;
use super::disks::Place;
use super::sys::{self, Kind};
use super::{Capabilities, Discard, MAX_ZEROS, Shared};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

/// How long a file that somebody else has is waited for, and how long between two looks.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// One device that is being opened, for its errors.
struct Opening<'a> {
    device: String,
    path: &'a Path,
    how: &'a OpenOptions,
}

/// Opens the file, and finds out what it lives on; blocks.
pub(super) fn open(
    path: &Path,
    how: &OpenOptions,
    context: &BackendContext,
) -> Result<(Shared, Place), OpenError> {
    let opening = Opening { device: format!("file:{}", path.display()), path, how };
    let (file, created) = opening.open_or_create()?;
    let prepared = opening.prepare(file, context);
    let taken = matches!(prepared, Err(OpenError::InUse { .. }));
    if prepared.is_err() && created && !taken {
        // What could not be given its size holds nothing, and must not be taken for a device the next time. One that somebody else has
        // locked since is theirs.
        let _ = std::fs::remove_file(path);
    }
    prepared
}

impl Opening<'_> {
    fn failed<E: Into<io::Error>>(&self, doing: &'static str) -> impl FnOnce(E) -> OpenError {
        let device = self.device.clone();
        move |error| OpenError::Io { device, doing, source: error.into() }
    }

    /// The open file, and whether it is new.
    fn open_or_create(&self) -> Result<(File, bool), OpenError> {
        let mut options = File::options();
        options.read(true).write(!self.how.read_only);
        match options.open(self.path) {
            Ok(file) => return Ok((file, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.failed("open it")(error)),
        }
        SizePlan::decide(&self.device, None, self.how)?;
        if let Some(parent) = self.path.parent() {
            std::fs::create_dir_all(parent).map_err(self.failed("create its directory"))?;
        }
        let mut create = options.clone();
        match create.create_new(true).mode(0o600).open(self.path) {
            // Another node has at this moment.
            Err(error) if self.how.clustered && error.kind() == io::ErrorKind::AlreadyExists => {
                Ok((options.open(self.path).map_err(self.failed("open it"))?, false))
            }
            created => Ok((created.map_err(self.failed("create it"))?, true)),
        }
    }

    fn prepare(&self, file: File, context: &BackendContext) -> Result<(Shared, Place), OpenError> {
        let kind = sys::kind(&file).map_err(self.failed("look at it"))?;
        let kind = kind.ok_or_else(|| OpenError::NotAFile { device: self.device.clone() })?;
        // A process that stands still would keep the lock from the nodes that are to replace it.
        if !self.how.clustered {
            self.lock(&file)?;
        }
        let found = sys::size(&file).map_err(self.failed("find its size"))?;
        let plan = SizePlan::decide(&self.device, Some(found), self.how)?;
        self.carry_out(&file, kind, plan)?;
        // A tail that is no whole unit could be written by direct I/O only by making the file longer.
        let direct =
            sys::enable_direct_io(&file, &context.buffers).map_err(self.failed("set up direct I/O"))?;
        let direct = match direct {
            Some(direct) if plan.size() % u64::from(direct.offset) != 0 => {
                sys::disable_direct_io(&file).map_err(self.failed("set up direct I/O"))?;
                None
            }
            other => other,
        };
        tracing::debug!(device = %self.device, ?direct, size = plan.size(), "file opened");
        let capabilities = self.capabilities(&file, kind, plan.size())?;
        let place = context.disks.place(&file, self.path).map_err(self.failed("look at it"))?;
        let shared = Shared {
            file: Arc::new(file),
            kind,
            direct,
            size: AtomicU64::new(plan.size()),
            capabilities,
            latch: FlushLatch::default(),
            buffers: context.buffers.clone(),
            patience: context.io_deadline,
        };
        Ok((shared, place))
    }

    /// Two that write one file would destroy each other's data. The lock is the open file's, so it holds against this process too.
    /// A process that was killed keeps its files until the kernel has ended what it had in flight in rings, which may be a moment later.
    fn lock(&self, file: &File) -> Result<(), OpenError> {
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            let locked = if self.how.read_only { file.try_lock_shared() } else { file.try_lock() };
            match locked {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::InUse { device: self.device.clone() });
                }
                Err(TryLockError::Error(error)) => return Err(self.failed("lock it")(error)),
            }
        }
    }

    fn carry_out(&self, file: &File, kind: Kind, plan: SizePlan) -> Result<(), OpenError> {
        let (from, to) = match plan {
            SizePlan::Keep(_) => return Ok(()),
            SizePlan::Create(size) => (0, size),
            SizePlan::Grow { from, to } => (from, to),
            SizePlan::Shrink(to) => (to, to),
        };
        if kind == Kind::BlockDevice {
            return Err(self.failed("change the size of a block device")(io::Error::from(Errno::OPNOTSUPP)));
        }
        if self.how.preallocate && to > from {
            sys::allocate(file, from, to - from).map_err(self.failed("take its space in advance"))?;
        } else {
            sys::truncate(file, to).map_err(self.failed("set its size"))?;
        }
        file.sync_all().map_err(self.failed("make its size durable"))?;
        // The new entry in the directory has to outlive a crash as well.
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(self.failed("make its name durable"))
    }

    fn capabilities(&self, file: &File, kind: Kind, size: u64) -> Result<Capabilities, OpenError> {
        let unit = sys::allocation_unit(file).map_err(self.failed("look at it"))?;
        let (mut discard, mut zero_range) = (false, false);
        if kind == Kind::Regular && !self.how.read_only {
            // Tried beyond the end, where there is nothing to lose; the hole takes back what the zeros allocated.
            let beyond = size.next_multiple_of(unit.into());
            let has = |result: Result<(), Errno>| !matches!(result, Err(errno) if is_unsupported(errno));
            zero_range = has(sys::zero_range(file, beyond, unit.into()));
            discard = has(sys::punch_hole(file, beyond, unit.into()));
        }
        Ok(Capabilities {
            read_only: self.how.read_only,
            volatile_cache: true,
            discard: discard.then_some(Discard { granularity: unit }),
            write_zeroes: zero_range,
            allocation_map: kind == Kind::Regular,
            max_transfer: MAX_ZEROS as u32,
            atomic_write: 4096,
        })
    }
}
