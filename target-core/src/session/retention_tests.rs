use super::*;

const BUFFER: usize = 256 << 10;

/// Bytes of receive buffers that are kept alive by pieces of `piece` bytes, each `apart` bytes behind the one before, and how many
/// bytes were kept in all.
fn held(piece: usize, apart: usize) -> (usize, usize) {
    let mut retention = Retention::default();
    let (mut held, mut kept) = (0, 0);
    for _ in 0..100 {
        let buffer = Bytes::from(vec![0; BUFFER]);
        retention.came(BUFFER);
        let mut any = false;
        for start in (0..=BUFFER - piece).step_by(apart) {
            let data = buffer.slice(start..start + piece);
            let shared = retention.keep(data.clone()).as_ptr() == data.as_ptr();
            any |= shared;
            held += if shared { 0 } else { piece };
            kept += piece;
        }
        held += if any { BUFFER } else { 0 };
    }
    (held, kept)
}

#[test]
fn dense_data_is_never_copied() {
    for piece in [SHORTEST_PIECE, 8192, 65_536] {
        let mut retention = Retention::default();
        for _ in 0..100 {
            retention.came(BUFFER);
            for _ in 0..BUFFER / (piece + 48) {
                let data = Bytes::from(vec![0; piece]);
                assert_eq!(retention.keep(data.clone()).as_ptr(), data.as_ptr());
            }
        }
    }
}

#[test]
fn sparse_data_holds_little_more_than_itself() {
    for (piece, apart) in [(4096, BUFFER), (4096, 65_536), (4096, 20_000), (5000, 40_000), (32_768, BUFFER)] {
        let (held, kept) = held(piece, apart);
        assert!(held <= COME_FOR_KEPT * kept + REMEMBERED + BUFFER, "{piece} of {apart}: {held} for {kept}");
    }
}

#[test]
fn what_was_long_ago_is_forgotten() {
    let mut retention = Retention::default();
    retention.came(usize::MAX);
    let data = Bytes::from(vec![0; 65_536]);
    let copies = (0..100).filter(|_| retention.keep(data.clone()).as_ptr() != data.as_ptr()).count();
    assert!((1..4).contains(&copies), "{copies}");
}
