//! Mutations of an input, the same in every run.

/// A generator of numbers without need of quality (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Bytes that lengths, tags and flags change their meaning at.
const EDGES: [u8; 8] = [0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff];

/// Hands `count` mutations of `input` to `target`; `other` lends what is spliced in.
pub fn mutations(input: &[u8], other: &[u8], count: usize, mut target: impl FnMut(&[u8])) {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (input.len() as u64) << 17 ^ other.len() as u64);
    for _ in 0..count {
        let mut bytes = input.to_vec();
        for _ in 0..=numbers.below(4) {
            mutate(&mut bytes, other, &mut numbers);
        }
        target(&bytes);
    }
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    if bytes.is_empty() {
        return bytes.push(numbers.next() as u8);
    }
    let at = numbers.below(bytes.len());
    let len = numbers.below(bytes.len() - at + 1).min(64);
    match numbers.below(8) {
        0 => bytes[at] ^= 1 << numbers.below(8),
        1 => bytes[at] = EDGES[numbers.below(EDGES.len())],
        2 => bytes[at] = numbers.next() as u8,
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..at + len)),
        5 => {
            let copy = bytes[at..at + len].to_vec();
            drop(bytes.splice(at..at, copy));
        }
        // Fields of headers, which are whole words.
        6 => {
            let at = at & !3;
            bytes[at..].iter_mut().take(4).for_each(|byte| *byte = EDGES[numbers.below(EDGES.len())]);
        }
        _ => {
            let from = numbers.below(other.len() + 1);
            let until = from + numbers.below(other.len() - from + 1).min(256);
            drop(bytes.splice(at..at, other[from..until].iter().copied()));
        }
    }
}
