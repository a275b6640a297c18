//! A remote file in memory whose failures are scripted.

use super::remote::RemoteFile;
use bytes::Bytes;
use glint_gfapi::Error;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::sleep;

/// What becomes of the next operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It fails with this number.
    Fails(Errno),
    /// It takes this long and then succeeds.
    Takes(Duration),
    /// It reads or writes no more than so many bytes.
    Stops(usize),
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) bytes: Vec<u8>,
    /// The fates of the operations to come; the others succeed at once.
    pub(super) fates: VecDeque<Fate>,
    /// What was begun, in order: name, offset, length.
    pub(super) calls: Vec<(&'static str, u64, u64)>,
    /// Offsets and lengths that are no multiples of this are refused; 0: none is.
    pub(super) sector: u64,
    /// Whether holes can be made.
    pub(super) lacks_holes: bool,
    pub(super) most_at_once: usize,
    running: usize,
}

#[derive(Debug, Default)]
pub(super) struct FakeFile {
    script: Mutex<Script>,
}

fn error(errno: Errno) -> Error {
    Error::Os { operation: "fake", errno: errno.raw_os_error() }
}

impl FakeFile {
    pub(super) fn new(size: usize) -> Self {
        let script = Script { bytes: vec![0; size], ..Script::default() };
        Self { script: Mutex::new(script) }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// The names of what was begun.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.script().calls.iter().map(|(name, ..)| *name).collect()
    }

    /// Begins an operation; says how many of `len` bytes it may do.
    async fn begin(&self, name: &'static str, offset: u64, len: u64) -> Result<usize, Error> {
        let (fate, sector) = {
            let mut script = self.script();
            script.calls.push((name, offset, len));
            script.running += 1;
            script.most_at_once = script.most_at_once.max(script.running);
            (script.fates.pop_front(), script.sector)
        };
        let result = match fate {
            Some(Fate::Fails(errno)) => Err(error(errno)),
            Some(Fate::Stops(most)) => Ok(most.min(len as usize)),
            Some(Fate::Takes(time)) => {
                sleep(time).await;
                Ok(len as usize)
            }
            None => {
                tokio::task::yield_now().await;
                Ok(len as usize)
            }
        };
        self.script().running -= 1;
        if sector > 0 && (!offset.is_multiple_of(sector) || !len.is_multiple_of(sector)) {
            return Err(error(Errno::INVAL));
        }
        result
    }

    async fn clear(&self, name: &'static str, offset: u64, len: u64) -> Result<(), Error> {
        self.begin(name, offset, len).await?;
        let mut script = self.script();
        if script.lacks_holes {
            return Err(error(Errno::OPNOTSUPP));
        }
        script.bytes[offset as usize..(offset + len) as usize].fill(0);
        Ok(())
    }
}

impl RemoteFile for FakeFile {
    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, Error> {
        let most = self.begin("read", offset, len as u64).await?;
        let script = self.script();
        let start = script.bytes.len().min(offset as usize);
        let end = script.bytes.len().min(start + most);
        Ok(Bytes::copy_from_slice(&script.bytes[start..end]))
    }

    async fn write(&self, offset: u64, data: &[Bytes], dsync: bool) -> Result<usize, Error> {
        let data = data.concat();
        let name = if dsync { "write dsync" } else { "write" };
        let most = self.begin(name, offset, data.len() as u64).await?;
        let mut script = self.script();
        let end = offset as usize + most;
        if script.bytes.len() < end {
            script.bytes.resize(end, 0);
        }
        script.bytes[offset as usize..end].copy_from_slice(&data[..most]);
        Ok(most)
    }

    async fn fdatasync(&self) -> Result<(), Error> {
        self.begin("fdatasync", 0, 0).await.map(drop)
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), Error> {
        self.clear("discard", offset, len).await
    }

    async fn zerofill(&self, offset: u64, len: u64) -> Result<(), Error> {
        self.clear("zerofill", offset, len).await
    }

    async fn truncate(&self, size: u64) -> Result<(), Error> {
        self.begin("truncate", 0, size).await?;
        self.script().bytes.resize(size as usize, 0);
        Ok(())
    }

    async fn size(&self) -> Result<u64, Error> {
        self.begin("size", 0, 0).await?;
        Ok(self.script().bytes.len() as u64)
    }

    async fn seek_data(&self, offset: u64) -> Result<Option<u64>, Error> {
        self.begin("seek_data", 0, 0).await?;
        let script = self.script();
        Ok((offset < script.bytes.len() as u64).then_some(offset))
    }

    async fn seek_hole(&self, _offset: u64) -> Result<Option<u64>, Error> {
        self.begin("seek_hole", 0, 0).await?;
        Ok(Some(self.script().bytes.len() as u64))
    }
}
