//! The commands that the initiators send, as bytes.

/// INQUIRY of the device identification page.
pub const IDENTIFICATION: [u8; 6] = [0x12, 1, 0x83, 0x10, 0, 0];
/// REPORT TARGET PORT GROUPS.
pub const REPORT_GROUPS: [u8; 12] = [0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0];
/// What these two may give.
pub const ROOM: u32 = 4096;

/// Asymmetric access states (SPC-5 table 58).
pub const OPTIMIZED: u8 = 0x0;
#[allow(missing_docs)]
pub const NON_OPTIMIZED: u8 = 0x1;
#[allow(missing_docs)]
pub const TRANSITIONING: u8 = 0xf;

/// READ(10).
pub fn read(block: u64, blocks: u16) -> [u8; 10] {
    medium(0x28, block, blocks)
}

/// WRITE(10).
pub fn write(block: u64, blocks: u16) -> [u8; 10] {
    medium(0x2a, block, blocks)
}

fn medium(code: u8, block: u64, blocks: u16) -> [u8; 10] {
    let [a, b, c, d] = u32::try_from(block).expect("a small volume").to_be_bytes();
    let [high, low] = blocks.to_be_bytes();
    [code, 0, a, b, c, d, 0, high, low, 0]
}

/// COMPARE AND WRITE of one block.
pub fn compare_and_write(block: u64) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = 0x89;
    cdb[2..10].copy_from_slice(&block.to_be_bytes());
    cdb[13] = 1;
    cdb
}

/// SET TARGET PORT GROUPS with its parameter list: this group shall be active/optimized.
pub fn set_groups(group: u16) -> ([u8; 12], [u8; 8]) {
    let [high, low] = group.to_be_bytes();
    ([0xa4, 0x0a, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0], [0, 0, 0, 0, OPTIMIZED, 0, high, low])
}

/// The target port group of the path that a device identification page came by (SPC-5 7.7.6.8).
pub fn group(page: &[u8]) -> Option<u16> {
    let mut rest = page.get(4..)?;
    while let [_, kind, _, length, tail @ ..] = rest {
        let (designator, next) = tail.split_at_checked(usize::from(*length))?;
        // Association: target port; type: target port group.
        if let (0x15, [_, _, high, low]) = (kind & 0x3f, designator) {
            return Some(u16::from_be_bytes([*high, *low]));
        }
        rest = next;
    }
    None
}

/// Groups with their states, of what REPORT TARGET PORT GROUPS gives.
pub fn states(data: &[u8]) -> Vec<(u16, u8)> {
    let mut states = Vec::new();
    let mut rest = data.get(4..).unwrap_or_default();
    while let [state, _, high, low, _, _, _, ports, tail @ ..] = rest {
        states.push((u16::from_be_bytes([*high, *low]), state & 0xf));
        rest = tail.get(4 * usize::from(*ports)..).unwrap_or_default();
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_their_states_are_found() {
        let page = [
            0, 0x83, 0, 20, 0x01, 0x03, 0, 4, 1, 2, 3, 4, 0x51, 0x94, 0, 4, 0, 0, 0, 9, 0x51, 0x95, 0, 4, 0,
            0, 1, 2,
        ];
        assert_eq!(group(&page), Some(0x102));
        assert_eq!(group(&page[..20]), None);
        let report = [
            0, 0, 0, 24, 0x80, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x0f, 0xff, 0, 2, 0, 0, 0, 0, 0x01, 0xff,
            0, 3, 0, 0, 0, 1, 0, 0, 0, 3,
        ];
        assert_eq!(states(&report), [(1, OPTIMIZED), (2, TRANSITIONING), (3, NON_OPTIMIZED)]);
    }
}
