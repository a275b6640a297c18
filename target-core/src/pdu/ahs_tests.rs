use super::*;

fn with(extended_cdb: &[u8], bidirectional_read_length: Option<u32>) -> Segments<'_> {
    Segments { extended_cdb, bidirectional_read_length }
}

#[test]
fn the_bytes_of_the_standards_figures() {
    // §11.2.2.3: AHSLength is CDBLength - 15; §11.2.2.4: it is 5.
    let extended = with(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], None).encode();
    assert_eq!(extended[..], [0, 17, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    assert_eq!(with(&[], Some(0x1020_3040)).encode()[..], [0, 5, 2, 0, 0x10, 0x20, 0x30, 0x40]);
}

#[test]
fn both_come_back_whatever_the_padding() {
    for length in 0..=LONGEST_CDB - BASIC_CDB {
        let cdb: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let bytes = with(&cdb, Some(77)).encode();
        assert_eq!(bytes.len() % 4, 0);
        let found = parse(&bytes).unwrap();
        assert_eq!((found.extended_cdb, found.bidirectional_read_length), (&cdb[..], Some(77)));
    }
}

#[test]
fn unknown_kinds_are_passed_over() {
    let bytes = [0, 1, 0x3f, 9, 0, 5, 2, 0, 0, 0, 0, 6, 0, 3, 9, 1, 2, 3, 0, 0];
    let found = parse(&bytes).unwrap();
    assert_eq!(found.bidirectional_read_length, Some(6));
    assert!(found.extended_cdb.is_empty());
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let long = with(&[7; LONGEST_CDB - BASIC_CDB], None).encode();
    let mut too_long = long.to_vec();
    too_long[..2].copy_from_slice(&249_u16.to_be_bytes());
    too_long.extend_from_slice(&[0; 4]);
    let cases: [&[u8]; 9] = [
        &[0, 9, 1, 0],                                     // longer than what is there
        &[0xff, 0xff, 0x3f, 0],                            // of an unknown kind too
        &[0, 2, 1, 0],                                     // its padding is missing
        &[0, 0, 1, 0],                                     // no reserved byte
        &[0, 1, 1, 0],                                     // no CDB
        &[0, 4, 2, 0, 0, 0, 0, 0],                         // a short length
        &[0, 6, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0],             // a long one
        &[0, 5, 2, 0, 0, 0, 0, 6, 0, 5, 2, 0, 0, 0, 0, 7], // two of a kind
        &too_long,                                         // longer than any CDB
    ];
    for bytes in cases {
        assert!(matches!(parse(bytes), Err(RejectReason::InvalidPduField)), "{bytes:?}");
    }
    assert!(parse(&long).is_ok());
}
