//! What a block holds: who wrote it, and which of all writes to it that was. Damage, a block of another place and an old one are told
//! apart.

use crate::data;

/// Bytes in a block. It is the volume's logical block, so a write of one is done or not done.
pub const BLOCK: usize = 4096;

const MAGIC: [u8; 8] = *b"glint\0to";
/// Magic, block, sequence, writer, checksum.
const HEADER: usize = 32;

/// The name of a block's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its number.
    pub block: u64,
    /// Counts the writes to this block from 1 on.
    pub sequence: u64,
    /// Whose write it was.
    pub writer: u32,
}

/// What was found in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros: never written.
    Blank,
    /// What a write has put there, all of it.
    Written(Stamp),
    /// Anything else.
    Damaged,
}

impl Stamp {
    /// The bytes of a block that has this name.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.block.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.writer.to_le_bytes());
        let noise = data::noise(self.block.rotate_left(32) ^ self.sequence, BLOCK - HEADER);
        let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes), &noise);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&noise);
        bytes
    }
}

impl Content {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.len() == BLOCK && bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let stamp = Stamp { block: word(8), sequence: word(16), writer: word(24) as u32 };
        // The checksum is in it: contents are what this name has, or damaged.
        if stamp.encode() == bytes { Self::Written(stamp) } else { Self::Damaged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_its_name_and_damage() {
        let stamp = Stamp { block: 7, sequence: 3, writer: 2 };
        let bytes = stamp.encode();
        assert_eq!(Content::of(&bytes), Content::Written(stamp));
        assert_eq!(Content::of(&[0; BLOCK]), Content::Blank);
        for at in [0, 9, 17, 25, 29, 40, BLOCK - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Content::of(&damaged), Content::Damaged, "byte {at}");
        }
        // Torn: half of it is of the write after it.
        let next = Stamp { sequence: 4, ..stamp }.encode();
        assert_eq!(Content::of(&[&next[..BLOCK / 2], &bytes[BLOCK / 2..]].concat()), Content::Damaged);
        assert_eq!(Content::of(&bytes[..100]), Content::Damaged);
    }
}
