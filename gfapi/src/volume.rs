//! A volume in use.

use std::{
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::io::Errno;

use crate::{
    Error, Translator, VolumeConfig,
    control::Control,
    file::File,
    instance::{Instance, c_string},
    submit::Submitter,
};

/// A GlusterFS volume, connected. Cheap to clone; all clones and all open files share one client.
///
/// When the last clone and the last file are gone, the client is taken down in the background, which takes
/// some ten seconds; a process that ends need not wait for it.
#[derive(Clone)]
pub struct Volume {
    pub(crate) shared: Arc<Shared>,
}

/// What the clones of a volume and its files have in common.
pub(crate) struct Shared {
    pub(crate) control: Control,
    /// There is at least one.
    first: Arc<Submitter>,
    submitters: Vec<Arc<Submitter>>,
    opened: AtomicUsize,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Bypass the caches of client and bricks (`O_DIRECT`). Offsets and lengths must then be multiples of the
    /// bricks' sector.
    pub direct: bool,
    /// Open for reading only.
    pub read_only: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { direct: true, read_only: false }
    }
}

impl OpenOptions {
    const fn flags(self) -> i32 {
        let access = if self.read_only { libc::O_RDONLY } else { libc::O_RDWR };
        if self.direct { access | libc::O_DIRECT } else { access }
    }
}

/// The attributes of a file that matter to a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Size in bytes.
    pub size: u64,
    /// Bytes allocated on a brick.
    pub allocated: u64,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Inode number: half of the GFID, which is random, so no two files share it.
    pub inode: u64,
}

/// The space of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size in bytes.
    pub total: u64,
    /// Bytes that may still be taken without privileges.
    pub free: u64,
}

impl From<libc::statvfs> for Space {
    fn from(stat: libc::statvfs) -> Self {
        Self {
            total: stat.f_blocks.saturating_mul(stat.f_frsize),
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
        }
    }
}

impl From<libc::stat> for Stat {
    fn from(stat: libc::stat) -> Self {
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            allocated: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
            is_file: stat.st_mode & libc::S_IFMT == libc::S_IFREG,
            inode: stat.st_ino,
        }
    }
}

impl Volume {
    /// Connects to a volume and verifies that the configured options have taken effect.
    ///
    /// # Errors
    /// [`Error::Library`] where libgfapi is missing, [`Error::Option`], or what libgfapi says: ENOENT for a
    /// volume that is not there or not started, ECONNREFUSED, ETIMEDOUT and the like for hosts that do not
    /// answer. libgfapi may take minutes to give up on bricks; a caller that cannot wait drops the future, and
    /// the attempt ends in the background. libgfapi leaks a few threads with each attempt that fails although
    /// a host answers, so try again with growing pauses.
    pub async fn connect(config: VolumeConfig) -> Result<Self, Error> {
        Control::start(config).await
    }

    pub(crate) fn start(instance: Instance, control: Control, config: &VolumeConfig) -> io::Result<Self> {
        // Complete already, so that a failure below stops those that run.
        let first = Submitter::start(instance, "0")?;
        let mut shared = Shared { control, first, submitters: Vec::new(), opened: AtomicUsize::new(0) };
        for number in 1..config.submit_threads {
            shared.submitters.push(Submitter::start(instance, &number.to_string())?);
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens an existing file. `path` starts at the volume's root.
    ///
    /// # Errors
    /// ENOENT where it does not exist, EISDIR for a directory, and others.
    pub async fn open(&self, path: &str, options: OpenOptions) -> Result<File, Error> {
        let path = c_string("open", path)?;
        let shared = Arc::clone(&self.shared);
        self.shared
            .control
            .call(move |instance| {
                let fd = instance.open(&path, options.flags())?;
                Ok(File::new(shared, fd, path))
            })
            .await
    }

    /// Creates a file, empty, together with the directories that lead to it, and opens it.
    ///
    /// # Errors
    /// EEXIST where it exists already, and others.
    pub async fn create(&self, path: &str, options: OpenOptions) -> Result<File, Error> {
        let parent = path.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent);
        self.mkdir_all(parent).await?;
        let path = c_string("creat", path)?;
        let shared = Arc::clone(&self.shared);
        self.shared
            .control
            .call(move |instance| {
                let fd = instance.create(&path, options.flags() | libc::O_EXCL, 0o600)?;
                Ok(File::new(shared, fd, path))
            })
            .await
    }

    /// Creates a directory and those that lead to it. That they exist already is no error.
    ///
    /// # Errors
    /// ENOTDIR where a part of the path is a file, and others.
    pub async fn mkdir_all(&self, path: &str) -> Result<(), Error> {
        let mut prefixes = Vec::new();
        let mut prefix = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            prefix.push('/');
            prefix.push_str(part);
            prefixes.push(c_string("mkdir", &prefix)?);
        }
        self.shared
            .control
            .call(move |instance| {
                for path in prefixes {
                    match instance.mkdir(&path, 0o700) {
                        Err(error) if error.errno() == Some(Errno::EXIST.raw_os_error()) => {}
                        other => other?,
                    }
                }
                Ok(())
            })
            .await
    }

    /// The attributes of the file at `path`.
    ///
    /// # Errors
    /// ENOENT where it does not exist, and others.
    pub async fn stat(&self, path: &str) -> Result<Stat, Error> {
        let path = c_string("stat", path)?;
        self.shared.control.call(move |instance| instance.stat(&path).map(Stat::from)).await
    }

    /// How much space the volume has, as the bricks tell it now: what the fullest brick of each set has left.
    ///
    /// # Errors
    /// What the bricks say.
    pub async fn space(&self) -> Result<Space, Error> {
        self.shared.control.call(|instance| instance.statvfs(c"/").map(Space::from)).await
    }

    /// Removes the file at `path`.
    ///
    /// # Errors
    /// ENOENT where it does not exist, and others.
    pub async fn unlink(&self, path: &str) -> Result<(), Error> {
        let path = c_string("unlink", path)?;
        self.shared.control.call(move |instance| instance.unlink(&path)).await
    }

    /// The translators that the client runs now, bricks first.
    ///
    /// # Errors
    /// EIO where libgfapi has no description of the volume.
    pub async fn translators(&self) -> Result<Vec<Translator>, Error> {
        self.shared.control.call(|instance| instance.translators()).await
    }

    /// Whether files of the volume are split into shards. Then FUA must be write + [`File::fdatasync`],
    /// `SEEK_DATA` is missing, and only one client may change the size. (The shard translator hides its
    /// attributes, so a file cannot tell.)
    ///
    /// # Errors
    /// As [`translators`](Self::translators).
    pub async fn is_sharded(&self) -> Result<bool, Error> {
        Ok(self.translators().await?.iter().any(|translator| translator.kind == "features/shard"))
    }
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Volume").finish_non_exhaustive()
    }
}

impl Shared {
    /// The submit thread for a new file: each in turn.
    pub(crate) fn next_submitter(&self) -> Arc<Submitter> {
        let turn = self.opened.fetch_add(1, Ordering::Relaxed);
        Arc::clone(self.submitters.get(turn % (1 + self.submitters.len())).unwrap_or(&self.first))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for submitter in iter::once(&self.first).chain(&self.submitters) {
            submitter.stop();
        }
    }
}
