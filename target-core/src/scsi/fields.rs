//! Big-endian fields of a CDB or a parameter list. What lies beyond the end reads as zero, so that no length can panic; commands check
//! lengths where they matter.

/// Bytes to read fields from.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// One byte.
    pub fn u8(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// One bit of a byte.
    pub fn bit(self, at: usize, bit: u8) -> bool {
        self.u8(at) >> bit & 1 == 1
    }

    /// Two bytes.
    pub fn u16(self, at: usize) -> u16 {
        u16::from_be_bytes(self.array(at))
    }

    /// Three bytes.
    pub fn u24(self, at: usize) -> u32 {
        let [a, b, c] = self.array(at);
        u32::from_be_bytes([0, a, b, c])
    }

    /// Four bytes.
    pub fn u32(self, at: usize) -> u32 {
        u32::from_be_bytes(self.array(at))
    }

    /// Eight bytes.
    pub fn u64(self, at: usize) -> u64 {
        u64::from_be_bytes(self.array(at))
    }

    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        match self.0.get(at..).and_then(<[u8]>::first_chunk) {
            Some(whole) => *whole,
            None => std::array::from_fn(|i| self.u8(at.saturating_add(i))),
        }
    }
}
