use super::*;

/// Extents of these lengths in blocks of 512 bytes, mapped or not.
fn extents(lengths: &[(u64, bool)]) -> Vec<Extent> {
    let mut at = 0;
    let next = |&(blocks, mapped): &(u64, bool)| {
        let start = at;
        at += blocks * 512;
        Extent { range: start..at, mapped }
    };
    lengths.iter().map(next).collect()
}

fn all(lengths: &[(u64, bool)]) -> Vec<Run> {
    let end = lengths.iter().map(|(blocks, _)| blocks).sum();
    runs(&extents(lengths), 0..end, 512).into_iter().flat_map(told).collect()
}

#[test]
fn what_is_mapped_is_never_told_as_deallocated_however_long_it_is() {
    let most = u64::from(u32::MAX);
    assert_eq!(
        all(&[(most + 10, true), (5, false), (2, true)]),
        [
            (0..most, MAPPED),
            (most..most + 10, MAPPED),
            (most + 10..most + 15, DEALLOCATED),
            (most + 15..most + 17, MAPPED)
        ]
    );
    assert_eq!(all(&[(most, false), (1, false)]), [(0..most, DEALLOCATED), (most..most + 1, DEALLOCATED)]);
}

#[test]
fn a_block_that_is_mapped_in_part_is_mapped() {
    assert_eq!(
        runs(&extents(&[(9, false), (1, true), (22, false)]), 0..4, 4096),
        [(0..1, DEALLOCATED), (1..2, MAPPED), (2..4, DEALLOCATED)]
    );
    assert_eq!(runs(&[], 3..9, 4096), [(3..4, MAPPED)]);
}
