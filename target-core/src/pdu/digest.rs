//! CRC32C as header and data digest (RFC 7143 §11.2.3, §13.1).

/// Bytes of a digest.
pub(super) const DIGEST_LEN: usize = 4;

/// The digest of several slices in order, as it travels: the least significant byte of the CRC first, which is what the
/// bit order of §13.1 comes to.
pub(super) fn crc32c<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> [u8; DIGEST_LEN] {
    pieces.into_iter().fold(0, crc32c::crc32c_append).to_le_bytes()
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
