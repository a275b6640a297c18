use super::*;

fn sample() -> Payload {
    let mut payload = Payload::new();
    for piece in ["abc", "", "defg", "h"] {
        payload.push(Bytes::from_static(piece.as_bytes()));
    }
    payload
}

#[test]
fn slices_cross_pieces_and_stop_at_the_end() {
    for offset in 0..10 {
        for len in 0..10 {
            let want: Vec<u8> = b"abcdefgh".iter().copied().skip(offset).take(len).collect();
            let slice = sample().slice(offset, len);
            assert_eq!(slice.to_bytes(), want);
            assert_eq!(slice.len(), want.len());
            assert!(slice.pieces().iter().all(|piece| !piece.is_empty()));
        }
    }
}

#[test]
fn truncate_and_copy() {
    let mut payload = sample();
    payload.truncate(100);
    assert_eq!(payload.len(), 8);
    payload.truncate(4);
    assert_eq!(payload.to_bytes(), "abcd");
    let mut out = [0; 6];
    assert_eq!(payload.copy_to_slice(&mut out), 4);
    assert_eq!(&out, b"abcd\0\0");
    let mut short = [0; 2];
    assert_eq!(payload.copy_to_slice(&mut short), 2);
}
