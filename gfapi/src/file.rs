//! An open file.

use std::{
    ffi::{CStr, CString},
    io,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use libc::off_t;
use rustix::io::Errno;

use crate::{
    Error, Stat,
    call::{self, Promise},
    instance::{Fd, Instance, c_string},
    op::{Op, Request},
    submit::Submitter,
    volume::Shared,
};

/// A file on a volume, open for I/O at offsets. Operations may run concurrently and complete in any order.
///
/// Dropping it closes it once its operations have completed; [`close`](Self::close) waits for that.
#[derive(Debug)]
pub struct File {
    pub(crate) open: Arc<Open>,
}

/// A descriptor, kept by the file and by each of its operations. The last of them closes it.
pub(crate) struct Open {
    pub(crate) volume: Arc<Shared>,
    submitter: Arc<Submitter>,
    /// A submit thread for this file alone, once it has been fenced.
    own: OnceLock<Arc<Submitter>>,
    fd: Fd,
    /// Where it was when it was opened.
    path: Box<CStr>,
    /// Who wants to know when it has been closed.
    closed: OnceLock<Promise<()>>,
}

impl Open {
    pub(crate) const fn fd(&self) -> Fd {
        self.fd
    }

    pub(crate) const fn path(&self) -> &CStr {
        &self.path
    }

    pub(crate) fn submitter(&self) -> &Submitter {
        self.own.get().unwrap_or(&self.submitter)
    }

    /// The submit thread that is this file's alone, started now where there is none.
    pub(crate) fn own_submitter(&self, instance: Instance) -> io::Result<&Arc<Submitter>> {
        if self.own.get().is_none() {
            let fresh = Submitter::start(instance, "own")?;
            if let Err(superfluous) = self.own.set(fresh) {
                superfluous.stop();
            }
        }
        Ok(self.own.get().unwrap_or(&self.submitter))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(own) = self.own.get() {
            own.stop();
        }
        // This may be libgfapi's own thread, in a callback, so the control thread does it.
        let (fd, closed) = (self.fd, self.closed.take());
        self.volume.control.send(move |instance| {
            let result = instance.close(fd);
            match closed {
                Some(promise) => promise.keep(result),
                None => {
                    if let Err(error) = result {
                        tracing::warn!(%error, "a gluster file was not closed cleanly");
                    }
                }
            }
        });
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").finish_non_exhaustive()
    }
}

impl File {
    pub(crate) fn new(volume: Arc<Shared>, fd: Fd, path: CString) -> Self {
        let (submitter, path) = (volume.next_submitter(), path.into_boxed_c_str());
        let (own, closed) = (OnceLock::new(), OnceLock::new());
        Self { open: Arc::new(Open { volume, submitter, own, fd, path, closed }) }
    }

    /// Reads `len` bytes at `offset`; fewer only at the end of the file. The buffer is the one that libgfapi
    /// filled.
    ///
    /// # Errors
    /// What the bricks say; ENOMEM where there is no memory for the buffer; EINVAL for an offset beyond
    /// `i64`.
    pub async fn read(&self, offset: u64, len: usize) -> Result<Bytes, Error> {
        let offset = signed("pread", offset)?;
        if len == 0 {
            return Ok(Bytes::new());
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(len).map_err(|_| Error::os("pread", Errno::NOMEM))?;
        let mut reading = Op::start(&self.open, Request::Read { buffer, offset, len });
        let got = (&mut reading).await?;
        Ok(reading.take_read_buffer(got))
    }

    /// Writes `data`, part after part, at `offset`; says how many bytes were written. With `dsync` they are
    /// on stable storage at completion (not on a sharded volume, see
    /// [`Volume::is_sharded`](crate::Volume::is_sharded)). The parts are shared, not copied, and released as
    /// soon as libgfapi has taken them.
    ///
    /// # Errors
    /// What the bricks say; after an error part of the data may have been written.
    pub async fn write(&self, offset: u64, data: &[Bytes], dsync: bool) -> Result<usize, Error> {
        let offset = signed("pwritev", offset)?;
        let parts = data.iter().filter(|part| !part.is_empty()).cloned().collect();
        let flags = if dsync { libc::O_DSYNC } else { 0 };
        Op::start(&self.open, Request::Write { parts, offset, flags }).await
    }

    /// Brings the data of writes that have completed to stable storage.
    ///
    /// # Errors
    /// What the bricks say. Data that was cached may then be lost for good.
    pub async fn fdatasync(&self) -> Result<(), Error> {
        Op::start(&self.open, Request::DataSync).await.map(drop)
    }

    /// As [`fdatasync`](Self::fdatasync), with all attributes.
    ///
    /// # Errors
    /// As [`fdatasync`](Self::fdatasync).
    pub async fn fsync(&self) -> Result<(), Error> {
        Op::start(&self.open, Request::Sync).await.map(drop)
    }

    /// Frees the range, which then reads as zeros; the file keeps its size. At most 64 MiB at a time keeps
    /// the bricks responsive.
    ///
    /// # Errors
    /// EOPNOTSUPP where a brick's file system has no holes, and others.
    pub async fn discard(&self, offset: u64, len: u64) -> Result<(), Error> {
        let (offset, len) = (signed("discard", offset)?, unsigned("discard", len)?);
        Op::start(&self.open, Request::Discard { offset, len }).await.map(drop)
    }

    /// Fills the range with zeros. At most 64 MiB at a time keeps the bricks responsive.
    ///
    /// # Errors
    /// EOPNOTSUPP where a brick's file system cannot, and others.
    pub async fn zerofill(&self, offset: u64, len: u64) -> Result<(), Error> {
        let (offset, len) = (signed("zerofill", offset)?, signed("zerofill", len)?);
        Op::start(&self.open, Request::Zerofill { offset, len }).await.map(drop)
    }

    /// Sets the size in bytes. What is added reads as zeros.
    ///
    /// # Errors
    /// What the bricks say.
    pub async fn truncate(&self, size: u64) -> Result<(), Error> {
        let size = signed("ftruncate", size)?;
        Op::start(&self.open, Request::Truncate { size }).await.map(drop)
    }

    /// The attributes, as the bricks have them now.
    ///
    /// # Errors
    /// What the bricks say.
    pub async fn stat(&self) -> Result<Stat, Error> {
        let fd = self.open.fd;
        self.open.volume.control.call(move |instance| instance.fstat(fd).map(Stat::from)).await
    }

    /// The size in bytes, as the bricks have it now.
    ///
    /// # Errors
    /// What the bricks say.
    pub async fn size(&self) -> Result<u64, Error> {
        Ok(self.stat().await?.size)
    }

    /// Allocates space for the range. Without `keep_size` a range that ends beyond the file makes it longer.
    /// Blocks the volume's other control calls, but not its I/O.
    ///
    /// # Errors
    /// EOPNOTSUPP for `keep_size` on a sharded volume or where a brick's file system cannot, ENOSPC, and
    /// others.
    pub async fn fallocate(&self, keep_size: bool, offset: u64, len: u64) -> Result<(), Error> {
        let (fd, offset, len) = (self.open.fd, signed("fallocate", offset)?, unsigned("fallocate", len)?);
        self.open.volume.control.call(move |instance| instance.fallocate(fd, keep_size, offset, len)).await
    }

    /// The offset of the first data at or after `offset`; `None` where only a hole follows, or nothing.
    ///
    /// # Errors
    /// EOPNOTSUPP or EINVAL on a sharded volume, and others.
    pub async fn seek_data(&self, offset: u64) -> Result<Option<u64>, Error> {
        self.seek(offset, libc::SEEK_DATA).await
    }

    /// The offset of the first hole at or after `offset`, the end of the file counting as one; `None` beyond
    /// the end.
    ///
    /// # Errors
    /// As [`seek_data`](Self::seek_data).
    pub async fn seek_hole(&self, offset: u64) -> Result<Option<u64>, Error> {
        self.seek(offset, libc::SEEK_HOLE).await
    }

    async fn seek(&self, offset: u64, whence: i32) -> Result<Option<u64>, Error> {
        let (fd, offset) = (self.open.fd, signed("lseek", offset)?);
        self.open.volume.control.call(move |instance| instance.lseek(fd, offset, whence)).await
    }

    /// The extended attribute `name`, or `None` where the file does not have it.
    ///
    /// # Errors
    /// What the bricks say.
    pub async fn get_xattr(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let (fd, name) = (self.open.fd, c_string("fgetxattr", name)?);
        self.open.volume.control.call(move |instance| instance.fgetxattr(fd, &name)).await
    }

    /// Waits for the operations in flight, those of dropped futures included, and closes the file. With a
    /// brick that hangs this takes as long as GlusterFS waits for it; a caller that cannot wait drops the
    /// future, and the file is closed in the background.
    ///
    /// # Errors
    /// What libgfapi says; the file is closed all the same.
    pub async fn close(self) -> Result<(), Error> {
        let (promise, closed) = call::pair();
        // Set only here, and `self` is consumed: the cell is empty.
        if self.open.closed.set(promise).is_ok() {
            drop(self);
        }
        closed.await
    }
}

/// An offset or length for libgfapi; EINVAL where it is too large.
fn signed(operation: &'static str, value: u64) -> Result<off_t, Error> {
    off_t::try_from(value).map_err(|_| Error::os(operation, Errno::INVAL))
}

fn unsigned(operation: &'static str, value: u64) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::os(operation, Errno::INVAL))
}
