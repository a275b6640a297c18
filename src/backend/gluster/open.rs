//! Opening a gluster file: created or grown as wanted, and its abilities found out.

use super::super::open::{BackendContext, OpenError, OpenOptions};
use super::super::range::chunks;
use super::super::sizing::SizePlan;
use super::super::space::Taken;
use super::volumes::{Claim, Connected, Volumes};
use super::{Abilities, GlusterDevice, Patient};
use crate::config::{DeviceSpec, GlusterFile};
use glint_gfapi::{Error, File, Kind, OpenOptions as FileOptions};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

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
}

impl GlusterDevice {
    pub(in super::super) async fn open(
        spec: &GlusterFile,
        how: &OpenOptions,
        context: &BackendContext,
    ) -> Result<Self, OpenError> {
        let device = DeviceSpec::Gluster(spec.clone()).to_string();
        let volume = context.volumes.get(&spec.volume).await?;
        let opening =
            Opening { device, path: &spec.path, how, volume: volume.clone(), volumes: &context.volumes };
        let (file, created) = opening.open_or_create().await?;
        match opening.prepare(&file).await {
            Ok((size, abilities, claim)) => {
                let inner = Patient::new(file, size, abilities, context.io_deadline, Some(claim));
                Ok(Self { inner, volume, taken: Taken::default() })
            }
            Err(error) => {
                if created {
                    // What could not be given its size holds nothing, and must not be taken for a device the next time.
                    let _ = timeout(CALL_TIMEOUT, volume.volume.unlink(&spec.path)).await;
                }
                Err(error)
            }
        }
    }
}

impl Opening<'_> {
    async fn call<T>(
        &self,
        doing: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, OpenError> {
        let device = || self.device.clone();
        match timeout(CALL_TIMEOUT, call).await {
            Ok(result) => result.map_err(|source| OpenError::GlusterFile {
                device: device(),
                doing,
                source: source.into(),
            }),
            Err(_) => Err(OpenError::GlusterSilent { device: device(), doing, patience: CALL_TIMEOUT }),
        }
    }

    /// The open file, and whether it is new.
    async fn open_or_create(&self) -> Result<(File, bool), OpenError> {
        let options = FileOptions { direct: true, read_only: self.how.read_only };
        let volume = &self.volume.volume;
        match self.call("open it", volume.open(self.path, options)).await {
            Err(OpenError::GlusterFile { source, .. }) if source.kind() == Kind::Gone => {}
            opened => return opened.map(|file| (file, false)),
        }
        SizePlan::decide(&self.device, None, self.how)?;
        Ok((self.call("create it", volume.create(self.path, options)).await?, true))
    }

    /// Takes the file and gives it its size; tells that and what the file can do.
    async fn prepare(&self, file: &File) -> Result<(u64, Abilities, Claim), OpenError> {
        let stat = self.call("look at it", file.stat()).await?;
        if !stat.is_file {
            return Err(OpenError::NotAFile { device: self.device.clone() });
        }
        let claim = self.volumes.claim(stat.inode);
        let claim = claim.ok_or_else(|| OpenError::InUse { device: self.device.clone() })?;
        let plan = SizePlan::decide(&self.device, Some(stat.size), self.how)?;
        self.carry_out(file, plan).await?;
        let size = plan.size();
        let discard = !self.how.read_only && self.can_discard(file, size).await;
        let abilities = Abilities { read_only: self.how.read_only, discard, sharded: self.volume.sharded };
        tracing::debug!(device = %self.device, size, ?abilities, "gluster file opened");
        Ok((size, abilities, claim))
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
