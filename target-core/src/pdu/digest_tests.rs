use super::crc32c;

/// The examples of RFC 3720 appendix B.4 (RFC 7143 appendix A.4), in the order of the wire.
#[test]
fn examples_of_the_standard() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    let cases: [(&[u8], [u8; 4]); 4] = [
        (&[0; 32], [0xaa, 0x36, 0x91, 0x8a]),
        (&[0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
        (&ascending, [0x4e, 0x79, 0xdd, 0x46]),
        (&descending, [0x5c, 0xdb, 0x3f, 0x11]),
    ];
    for (data, digest) in cases {
        assert_eq!(crc32c([data]), digest);
    }
}

#[test]
fn pieces_count_as_one() {
    let data: Vec<u8> = (0..=255).collect();
    for cut in 0..data.len() {
        let (left, right) = data.split_at(cut);
        assert_eq!(crc32c([left, right]), crc32c([data.as_slice()]));
    }
}
