//! Opening a gluster file: created or grown as wanted, and its abilities found out.

use super::super::open::{BackendContext, OpenError, OpenOptions};
use super::super::range::chunks;
use super::super::sizing::SizePlan;
use super::super::space::Taken;
use super::patience::patiently;
use super::volumes::{Claim, Connected, Order, Volumes};
use super::{Abilities, GlusterDevice, Patient};
use crate::config::{DeviceSpec, GlusterFile};
use glint_gfapi::{Error, File, Kind, LockOwner, OpenOptions as FileOptions};
use rustix::io::Errno;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long one call may take while a file is opened.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that are preallocated by one call.
const ALLOCATE_PIECE: u64 = 1 << 30;

/// One device that is being opened.
struct Opening<'a> {
    device: String,
    path: &'a str,
    how: &'a OpenOptions,
    volume: Arc<Connected>,
    volumes: &'a Volumes,
    /// When it is given up, however far it is, and how long that is from its beginning.
    limit: Option<(Instant, Duration)>,
    /// Whom the file is taken for.
    owner: Option<&'a LockOwner>,
}

impl<'a> Opening<'a> {
    /// Without a limit, and for no owner.
    fn of(
        spec: &'a GlusterFile,
        how: &'a OpenOptions,
        volume: Arc<Connected>,
        context: &'a BackendContext,
    ) -> Self {
        let device = DeviceSpec::Gluster(spec.clone()).to_string();
        Self { device, path: &spec.path, how, volume, volumes: &context.volumes, limit: None, owner: None }
    }
}

impl GlusterDevice {
    pub(in super::super) async fn open(
        spec: &GlusterFile,
        how: &OpenOptions,
        context: &BackendContext,
    ) -> Result<Self, OpenError> {
        let volume = context.volumes.get(&spec.volume).await?;
        let opening = Opening::of(spec, how, volume.clone(), context);
        let (file, created) = opening.open_or_create().await?;
        match opening.prepare(&file).await {
            Ok(prepared) => Ok(Self::new(file, prepared, volume, context)),
            Err(error) => {
                if created {
                    // What could not be given its size holds nothing, and must not be taken for a device the next time.
                    let _ = timeout(CALL_TIMEOUT, volume.volume.unlink(&spec.path)).await;
                }
                Err(error)
            }
        }
    }

    /// Opens a file that exists, as it is, and takes it for the owner where there is one.
    pub(in super::super) async fn open_owned(
        spec: &GlusterFile,
        how: &OpenOptions,
        context: &BackendContext,
        owner: Option<&LockOwner>,
    ) -> Result<Self, OpenError> {
        let owner = match owner {
            Some(owner) => Some(opening_of(owner).ok_or_else(|| OpenError::GlusterFile {
                device: DeviceSpec::Gluster(spec.clone()).to_string(),
                doing: "name its owner",
                source: Box::new(Error::Os {
                    operation: "fd_set_lkowner",
                    errno: Errno::INVAL.raw_os_error(),
                }),
            })?),
            None => None,
        };
        let until = Instant::now() + context.io_deadline;
        let volume = connect_by(until, spec, context).await.ok_or_else(|| OpenError::GlusterSilent {
            device: DeviceSpec::Gluster(spec.clone()).to_string(),
            doing: "connect to its volume",
            patience: context.io_deadline,
        })??;
        let opening = Opening {
            limit: Some((until, context.io_deadline)),
            owner: owner.as_ref(),
            ..Opening::of(spec, how, volume.clone(), context)
        };
        // Whatever is still under way when this is given up ends with the file's closing.
        let file = opening.open_existing().await?;
        let prepared = opening.prepare(&file).await?;
        Ok(Self::new(file, prepared, volume, context))
    }

    fn new(file: File, prepared: Prepared, volume: Arc<Connected>, context: &BackendContext) -> Self {
        let Prepared { size, abilities, claim } = prepared;
        let inner = Patient::new(file, size, abilities, context.io_deadline, Some(claim));
        Self { inner, volume, taken: Taken::default() }
    }
}

/// The owner's name for one opening: what an earlier one under the same epoch has left on its way, and nobody orders with what comes now, is
/// another's to the bricks.
fn opening_of(owner: &LockOwner) -> Option<LockOwner> {
    static OPENINGS: AtomicU64 = AtomicU64::new(0);
    let opening = OPENINGS.fetch_add(1, Ordering::Relaxed);
    LockOwner::new([owner.as_bytes(), format!(" {opening}").as_bytes()].concat())
}

/// The client of the file's volume. One that is not connected in time goes on connecting, for the next who asks: each attempt that is given up
/// costs libgfapi some threads.
async fn connect_by(
    until: Instant,
    spec: &GlusterFile,
    context: &BackendContext,
) -> Option<Result<Arc<Connected>, OpenError>> {
    let (volumes, volume) = (context.volumes.clone(), spec.volume.clone());
    let connecting = tokio::spawn(async move { volumes.get(&volume).await });
    timeout_at(until, connecting).await.ok()?.ok()
}

/// What has been found out of a file that is open.
struct Prepared {
    size: u64,
    abilities: Abilities,
    claim: Claim,
}

impl Opening<'_> {
    async fn call<T>(
        &self,
        doing: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, OpenError> {
        let device = || self.device.clone();
        let (until, patience) = match self.limit {
            Some(limit) => limit,
            None => (Instant::now() + CALL_TIMEOUT, CALL_TIMEOUT),
        };
        match timeout_at(until, call).await {
            Ok(result) => result.map_err(|source| OpenError::GlusterFile {
                device: device(),
                doing,
                source: source.into(),
            }),
            Err(_) => Err(OpenError::GlusterSilent { device: device(), doing, patience }),
        }
    }

    /// As [`call`](Self::call), again and again while the volume is not connected, where there is a time by which all has to be done: an owner
    /// looks for its file right after the bricks have restarted.
    async fn insist<T, F>(&self, doing: &'static str, attempt: impl FnMut() -> F) -> Result<T, OpenError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let until = self.limit.map_or_else(Instant::now, |(until, _)| until);
        self.call(doing, patiently(until, attempt)).await
    }

    async fn open_existing(&self) -> Result<File, OpenError> {
        self.insist("open it", || self.volume.volume.open(self.path, self.options())).await
    }

    const fn options(&self) -> FileOptions {
        FileOptions { direct: true, read_only: self.how.read_only }
    }

    /// The open file, and whether it is new.
    async fn open_or_create(&self) -> Result<(File, bool), OpenError> {
        match self.open_existing().await {
            Err(OpenError::GlusterFile { source, .. }) if source.kind() == Kind::Gone => {}
            opened => return opened.map(|file| (file, false)),
        }
        SizePlan::decide(&self.device, None, self.how)?;
        match self.call("create it", self.volume.volume.create(self.path, self.options())).await {
            // Another node has at this moment.
            Err(OpenError::GlusterFile { source, .. })
                if self.how.clustered && source.errno() == Some(Errno::EXIST.raw_os_error()) =>
            {
                Ok((self.open_existing().await?, false))
            }
            created => created.map(|file| (file, true)),
        }
    }

    /// Takes the file and gives it its size; tells that and what the file can do.
    async fn prepare(&self, file: &File) -> Result<Prepared, OpenError> {
        let mut stat = self.insist("look at it", || file.stat()).await?;
        if !stat.is_file {
            return Err(OpenError::NotAFile { device: self.device.clone() });
        }
        let order = if self.owner.is_some() { Order::Fenced } else { Order::Alone };
        let claim = self.volumes.claim(stat.inode, order);
        let claim = claim.ok_or_else(|| OpenError::InUse { device: self.device.clone() })?;
        if let Some(owner) = self.owner {
            self.insist("take it from who had it", || file.fence(owner)).await?;
            // Until now the former owner could change its size.
            stat = self.insist("look at it", || file.stat()).await?;
        }
        let plan = SizePlan::decide(&self.device, Some(stat.size), self.how)?;
        self.carry_out(file, plan).await?;
        let size = plan.size();
        let discard = !self.how.read_only && self.can_discard(file, size).await;
        let (read_only, sharded) = (self.how.read_only, self.volume.sharded);
        let abilities = Abilities { read_only, discard, sharded, fenced: self.owner.is_some() };
        tracing::debug!(device = %self.device, size, ?abilities, "gluster file opened");
        Ok(Prepared { size, abilities, claim })
    }

    async fn carry_out(&self, file: &File, plan: SizePlan) -> Result<(), OpenError> {
        let (from, to) = match plan {
            SizePlan::Keep(_) => return Ok(()),
            SizePlan::Create(size) => (0, size),
            SizePlan::Grow { from, to } => (from, to),
            SizePlan::Shrink(_) if self.volume.sharded => {
                return Err(OpenError::ShardedShrink { device: self.device.clone() });
            }
            SizePlan::Shrink(to) => (to, to),
        };
        self.call("set its size", file.truncate(to)).await?;
        if self.how.preallocate {
            for piece in chunks(from..to, ALLOCATE_PIECE) {
                let allocate = file.fallocate(false, piece.start, piece.end - piece.start);
                self.call("take its space in advance", allocate).await?;
            }
        }
        self.call("make its size durable", file.fsync()).await
    }

    /// Tried beyond the end, where there is nothing to lose. Not on a sharded volume: there the file would become longer.
    async fn can_discard(&self, file: &File, size: u64) -> bool {
        if self.volume.sharded {
            return true;
        }
        let beyond = size.next_multiple_of(4096);
        match self.call("discard", file.discard(beyond, 4096)).await {
            Err(OpenError::GlusterFile { source, .. }) => source.kind() != Kind::Unsupported,
            _ => true,
        }
    }
}
