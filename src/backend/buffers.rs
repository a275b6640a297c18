//! Aligned buffers that are used again, so that direct I/O neither allocates nor zeroes memory for each operation.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of every buffer: enough for any device's direct I/O.
pub(super) const ALIGNMENT: usize = 4096;

/// Sizes that are kept, and how many of each.
const CLASSES: [(usize, usize); 5] =
    [(4 << 10, 1024), (16 << 10, 512), (64 << 10, 256), (256 << 10, 64), (1 << 20, 32)];

/// Buffers that are not in use, by size.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    free: [Mutex<Vec<Vec<u8>>>; CLASSES.len()],
}

/// Aligned bytes with any content; goes back to its pool when dropped.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    range: Range<usize>,
    home: Option<(Arc<BufferPool>, usize)>,
}

impl BufferPool {
    /// A buffer of `len` bytes. One that is larger than the largest class is made and freed each time.
    pub(super) fn take(self: &Arc<Self>, len: usize) -> Buffer {
        let class = CLASSES.iter().position(|(size, _)| *size >= len);
        let size = class.and_then(|class| CLASSES.get(class)).map_or(len, |(size, _)| *size);
        let kept = class.and_then(|class| self.free.get(class)).and_then(|free| {
            let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
            free.pop()
        });
        let memory = kept.unwrap_or_else(|| vec![0; size + ALIGNMENT]);
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Buffer { memory, range: start..start + len, home: class.map(|class| (self.clone(), class)) }
    }
}

impl Buffer {
    /// The bytes, to be filled.
    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.memory.get(self.range.clone()).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some((pool, class)) = self.home.take() else { return };
        if let (Some(free), Some((_, most))) = (pool.free.get(class), CLASSES.get(class)) {
            let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < *most {
                free.push(std::mem::take(&mut self.memory));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn buffers_are_aligned_and_used_again() {
        let pool = Arc::new(BufferPool::default());
        let first = pool.take(5000);
        assert_eq!(first.as_ref().len(), 5000);
        assert_eq!(first.as_ref().as_ptr() as usize % ALIGNMENT, 0);
        let address = first.as_ref().as_ptr();
        let bytes = Bytes::from_owner(first);
        let view = bytes.slice(100..200);
        drop(bytes);
        assert_ne!(pool.take(5000).as_ref().as_ptr(), address, "still seen through the view");
        drop(view);
        let held: Vec<_> = (0..2).map(|_| pool.take(16 << 10)).collect();
        assert!(held.iter().any(|buffer| buffer.as_ref().as_ptr() == address));
    }

    #[test]
    fn large_buffers_are_not_kept() {
        let pool = Arc::new(BufferPool::default());
        drop(pool.take(3 << 20));
        assert!(pool.free.iter().all(|class| class.lock().unwrap().is_empty()));
    }
}
