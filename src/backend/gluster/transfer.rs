//! Reads and writes: split into what libgfapi handles well, and widened where bricks refuse small units.

use super::super::range::{chunks, widen, zeros};
use super::patience::patiently;
use super::remote::RemoteFile;
use super::{PHYSICAL_BLOCK, Shared};
use bytes::{Bytes, BytesMut};
use futures_util::future::{join_all, try_join_all};
use glint_gfapi::{Error, Kind};
use glint_target_core::device::DeviceError;
use glint_target_core::payload::Payload;
use std::ops::Range;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// Most bytes of one operation: the largest buffer that GlusterFS keeps in its pool.
pub(super) const MAX_IO: u64 = 1 << 20;

fn length(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}

impl<F: RemoteFile> Shared<F> {
    fn unit(&self) -> u64 {
        self.unit.load(Ordering::Relaxed).into()
    }

    /// After bricks refused an operation: whether it was for its small unit, which is remembered. Direct I/O on disks with 4 KiB
    /// sectors takes no less.
    fn learn_unit(&self, error: &Error, range: &Range<u64>) -> bool {
        if error.kind() != Kind::Invalid || widen(range, PHYSICAL_BLOCK.into()) == *range {
            return false;
        }
        if self.unit.swap(PHYSICAL_BLOCK, Ordering::Relaxed) != PHYSICAL_BLOCK {
            tracing::info!("the bricks take no less than 4 KiB; smaller writes read what lies around them");
        }
        true
    }

    /// Reads exactly the range.
    pub(super) async fn read(&self, range: Range<u64>, deadline: Instant) -> Result<Bytes, DeviceError> {
        if length(&range) as u64 <= MAX_IO {
            return self.read_piece(range, deadline).await;
        }
        let len = length(&range);
        let pieces =
            try_join_all(chunks(range, MAX_IO).map(|piece| self.read_piece(piece, deadline))).await?;
        let mut all = BytesMut::with_capacity(len);
        pieces.iter().for_each(|piece| all.extend_from_slice(piece));
        Ok(all.freeze())
    }

    async fn read_piece(&self, range: Range<u64>, deadline: Instant) -> Result<Bytes, DeviceError> {
        let found = match self.read_widened(&range, deadline).await {
            Err(error) if self.learn_unit(&error, &range) => self.read_widened(&range, deadline).await,
            found => found,
        };
        let bytes = found.map_err(|error| self.classify(&error))?;
        if bytes.len() == length(&range) {
            return Ok(bytes);
        }
        // Short inside the file: this client's idea of the size may be old, and asking for it makes it new.
        let size = patiently(deadline, || self.file.size()).await.map_err(|error| self.classify(&error))?;
        let bytes = self.read_widened(&range, deadline).await.map_err(|error| self.classify(&error))?;
        if bytes.len() == length(&range) {
            return Ok(bytes);
        }
        tracing::error!(expected = self.size(), found = size, "a gluster file is shorter than it was");
        Err(DeviceError::Medium)
    }

    /// The bytes of the range, fewer where the file ends.
    async fn read_widened(&self, range: &Range<u64>, deadline: Instant) -> Result<Bytes, Error> {
        let wide = widen(range, self.unit());
        let bytes = patiently(deadline, || self.file.read(wide.start, length(&wide))).await?;
        if wide == *range {
            return Ok(bytes);
        }
        let from = ((range.start - wide.start) as usize).min(bytes.len());
        let to = ((range.end - wide.start) as usize).min(bytes.len());
        Ok(bytes.slice(from..to))
    }

    /// Writes the whole range. The lock on it, widened to [`PHYSICAL_BLOCK`], is held by the caller.
    pub(super) async fn write(
        &self,
        range: Range<u64>,
        data: &Payload,
        dsync: bool,
        deadline: Instant,
    ) -> Result<(), DeviceError> {
        if data.len() as u64 <= MAX_IO {
            return self.write_piece(range, data, dsync, deadline).await;
        }
        let start = range.start;
        let pieces = chunks(range, MAX_IO).map(|piece| async move {
            let part = data.slice((piece.start - start) as usize, length(&piece));
            self.write_piece(piece, &part, dsync, deadline).await
        });
        // All are waited for, also after one has failed: none may land later.
        join_all(pieces).await.into_iter().collect()
    }

    async fn write_piece(
        &self,
        range: Range<u64>,
        data: &Payload,
        dsync: bool,
        deadline: Instant,
    ) -> Result<(), DeviceError> {
        if widen(&range, self.unit()) == range {
            match self.write_all(range.start, data, dsync, deadline).await {
                Ok(()) => return Ok(()),
                Err(error) if self.learn_unit(&error, &range) => {}
                Err(error) => return Err(self.classify(&error)),
            }
        }
        let wide = widen(&range, self.unit());
        if wide.end > self.size() {
            // Writing the whole last unit would make the file longer.
            return Err(DeviceError::Unsupported);
        }
        let around = self.read_piece(wide.clone(), deadline).await?;
        let (before, after) = ((range.start - wide.start) as usize, (range.end - wide.start) as usize);
        let mut merged = Payload::from(around.slice(..before));
        merged.append(data.clone());
        merged.push(around.slice(after..));
        self.write_all(wide.start, &merged, dsync, deadline).await.map_err(|error| self.classify(&error))
    }

    async fn write_all(
        &self,
        offset: u64,
        data: &Payload,
        dsync: bool,
        deadline: Instant,
    ) -> Result<(), Error> {
        let mut done = patiently(deadline, || self.file.write(offset, data.pieces(), dsync)).await?;
        while done < data.len() {
            let rest = data.slice(done, data.len() - done);
            let at = offset + done as u64;
            match patiently(deadline, || self.file.write(at, rest.pieces(), dsync)).await? {
                0 => {
                    return Err(Error::Os {
                        operation: "pwritev",
                        errno: rustix::io::Errno::IO.raw_os_error(),
                    });
                }
                more => done += more,
            }
        }
        Ok(())
    }

    /// Zeros the range by writing, where the bricks cannot do it themselves.
    pub(super) async fn write_zeros(&self, range: Range<u64>, deadline: Instant) -> Result<(), DeviceError> {
        for piece in chunks(range, MAX_IO) {
            if Instant::now() >= deadline {
                return Err(DeviceError::Unreachable);
            }
            let data = zeros(length(&piece)).into();
            self.write_piece(piece, &data, false, deadline).await?;
        }
        Ok(())
    }
}
