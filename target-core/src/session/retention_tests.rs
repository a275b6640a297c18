use super::*;

const BUFFER: usize = 256 << 10;
const HEADER: usize = 48;

fn is_shared(kept: &Kept, data: &Bytes) -> bool {
    kept.data.as_ptr() == data.as_ptr()
}

/// Bytes that are kept alive by pieces of receive buffers, each `apart` bytes behind the one before, and how many are counted.
fn held(piece: usize, apart: usize) -> (usize, usize) {
    let mut retention = Retention::default();
    let (mut held, mut counted) = (0, 0);
    for _ in 0..100 {
        let buffer = Bytes::from(vec![0; BUFFER]);
        let (mut any, mut passed) = (false, 0);
        for start in (0..=BUFFER - piece).step_by(apart) {
            let data = buffer.slice(start..start + piece);
            retention.passed(start + piece - passed);
            passed = start + piece;
            let kept = retention.keep(data.clone());
            let shared = is_shared(&kept, &data);
            any |= shared;
            held += if shared { 0 } else { piece };
            counted += piece + kept.beyond as usize;
        }
        retention.passed(BUFFER - passed);
        held += if any { BUFFER } else { 0 };
    }
    (held, counted)
}

#[test]
fn dense_data_is_never_copied_and_counts_little_more_than_itself() {
    for piece in [SHORTEST_PIECE, 8192, 65_536] {
        let mut retention = Retention::default();
        for _ in 0..1000 {
            let data = Bytes::from(vec![0; piece]);
            retention.passed(HEADER + piece);
            let kept = retention.keep(data.clone());
            assert!(is_shared(&kept, &data));
            assert_eq!(kept.beyond as usize, HEADER);
        }
    }
}

#[test]
fn among_many_reads_data_is_not_copied_either() {
    let mut retention = Retention::default();
    for _ in 0..1000 {
        let data = Bytes::from(vec![0; SHORTEST_PIECE]);
        retention.passed(20 * HEADER + SHORTEST_PIECE);
        // The end of a buffer, too short for the next read.
        retention.passed(SHORTEST_PIECE);
        assert!(is_shared(&retention.keep(data.clone()), &data));
    }
}

#[test]
fn sparse_data_holds_no_more_than_is_counted() {
    let plans =
        [(4096, BUFFER), (4096, 65_536), (4096, 20_000), (5000, 40_000), (32_768, BUFFER), (16_384, 32_768)];
    for (piece, apart) in plans {
        let (held, counted) = held(piece, apart);
        assert!(held <= counted + PASSED_OVER + BUFFER, "{piece} of {apart}: {held}, {counted} counted");
    }
}

#[test]
fn what_was_long_ago_is_forgotten() {
    let mut retention = Retention::default();
    retention.passed(usize::MAX);
    let data = Bytes::from(vec![0; 16_384]);
    let copies = (0..100).filter(|_| !is_shared(&retention.keep(data.clone()), &data)).count();
    assert!((1..4).contains(&copies), "{copies}");
}
