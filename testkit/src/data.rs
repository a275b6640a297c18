//! Data to write and compare.

/// `length` bytes that do not compress, do not repeat and are the same for the same `seed`.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    // xorshift64*; the state must not be zero.
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let words = std::iter::repeat_with(|| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
    });
    words.take(length.div_ceil(8)).flatten().take(length).collect()
}

/// A disk image of `length` bytes with what images have: runs of data, of zeros, and a first and last block in use.
pub fn image(seed: u64, length: usize) -> Vec<u8> {
    const RUN: usize = 1 << 20;
    let mut image = noise(seed, length);
    for run in image.chunks_mut(RUN).skip(1).step_by(3) {
        run.fill(0);
    }
    if let Some(last) = image.last_mut() {
        *last = 0xa5;
    }
    image
}
