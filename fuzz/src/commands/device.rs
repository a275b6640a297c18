//! A small device that refuses, by panicking, whatever a backend need not put up with, and that can be told to fail or to wait.

use bytes::Bytes;
use glint_target_core::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry};
use glint_target_core::payload::Payload;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// Bytes for which allocation is kept.
const CELL: usize = 512;
/// Most bytes of one read or write: so few that commands have to split.
const MAX_TRANSFER: u32 = 4096;

struct State {
    data: Vec<u8>,
    mapped: Vec<bool>,
    held: bool,
    waiting: Vec<Waker>,
    error: Option<DeviceError>,
}

pub(super) struct Device {
    state: Mutex<State>,
    capabilities: Capabilities,
    size: u64,
}

impl Device {
    pub(super) fn new(size: usize, thin: bool) -> Self {
        let state = State {
            data: vec![0; size],
            mapped: vec![false; size / CELL],
            held: false,
            waiting: Vec::new(),
            error: None,
        };
        Self {
            state: Mutex::new(state),
            capabilities: Capabilities {
                read_only: false,
                volatile_cache: true,
                discard: thin.then_some(Discard { granularity: 1024 }),
                write_zeroes: thin,
                allocation_map: true,
                max_transfer: MAX_TRANSFER,
                atomic_write: 4096,
            },
            size: size as u64,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Makes operations wait, or lets them go on.
    pub(super) fn hold(&self, hold: bool) {
        let mut state = self.state();
        state.held = hold;
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Makes operations fail, or lets them succeed.
    pub(super) fn fail(&self, error: Option<DeviceError>) {
        self.state().error = error;
    }

    /// What a read of these bytes has to give.
    pub(super) fn contents(&self, range: Range<u64>) -> Vec<u8> {
        self.state().data[range.start as usize..range.end as usize].to_vec()
    }

    async fn turn(&self) -> Result<(), DeviceError> {
        poll_fn(|context| {
            let mut state = self.state();
            match state.held {
                true => {
                    state.waiting.push(context.waker().clone());
                    Poll::Pending
                }
                false => Poll::Ready(state.error.map_or(Ok(()), Err)),
            }
        })
        .await
    }

    fn checked(&self, offset: u64, len: u64) -> Range<usize> {
        assert!(
            len > 0 && offset.is_multiple_of(512) && len.is_multiple_of(512),
            "unaligned: {offset} {len}"
        );
        assert!(
            offset.checked_add(len).is_some_and(|end| end <= self.size),
            "beyond the end: {offset} {len}"
        );
        offset as usize..(offset + len) as usize
    }

    fn fill_with_zeros(&self, range: Range<usize>, mapped: bool) {
        let mut state = self.state();
        state.data[range.clone()].fill(0);
        state.mapped[range.start / CELL..range.end / CELL].fill(mapped);
    }
}

impl BlockDevice for Device {
    fn geometry(&self) -> Geometry {
        Geometry { size: self.size, physical_block: 1024, optimal_io: 0 }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        assert!(len <= MAX_TRANSFER as usize);
        let range = self.checked(offset, len as u64);
        self.turn().await?;
        Ok(Bytes::copy_from_slice(&self.state().data[range]))
    }

    async fn write(&self, offset: u64, data: &Payload, _fua: bool) -> Result<(), DeviceError> {
        assert!(data.len() <= MAX_TRANSFER as usize);
        let range = self.checked(offset, data.len() as u64);
        self.turn().await?;
        let mut state = self.state();
        data.copy_to_slice(&mut state.data[range.clone()]);
        state.mapped[range.start / CELL..range.end / CELL].fill(true);
        Ok(())
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.turn().await
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        assert!(self.capabilities.discard.is_some(), "discard of a device that has none");
        let range = self.checked(offset, len);
        self.turn().await?;
        self.fill_with_zeros(range, false);
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        let range = self.checked(offset, len);
        self.turn().await?;
        if !self.capabilities.write_zeroes {
            return Err(DeviceError::Unsupported);
        }
        self.fill_with_zeros(range, true);
        Ok(())
    }

    async fn allocation_map(
        &self,
        offset: u64,
        len: u64,
        max_extents: usize,
    ) -> Result<Vec<Extent>, DeviceError> {
        assert!(max_extents > 0);
        let range = self.checked(offset, len);
        self.turn().await?;
        let state = self.state();
        let mut extents: Vec<Extent> = Vec::new();
        for at in range.step_by(CELL) {
            let (mapped, end) = (state.mapped[at / CELL], (at + CELL) as u64);
            let full = extents.len() == max_extents;
            match extents.last_mut() {
                Some(last) if last.mapped == mapped => last.range.end = end,
                _ if full => break,
                _ => extents.push(Extent { range: at as u64..end, mapped }),
            }
        }
        Ok(extents)
    }

    async fn resize(&self, _size: u64) -> Result<(), DeviceError> {
        Err(DeviceError::Unsupported)
    }
}
