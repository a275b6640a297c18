use super::*;

#[test]
fn pairs_of_a_text() {
    assert_eq!(parse(b""), Ok(vec![]));
    assert_eq!(parse(b"A=1\0B=\0"), Ok(vec![("A", "1"), ("B", "")]));
    assert_eq!(parse(b"A=x=y\0"), Ok(vec![("A", "x=y")]));
    assert_eq!(parse(b"A=1"), Ok(vec![("A", "1")]));
    assert_eq!(parse(b"A=1\0\0\0"), Ok(vec![("A", "1")]));
    assert_eq!(parse("A=é\0".as_bytes()), Ok(vec![("A", "é")]));
}

#[test]
fn malformed_texts() {
    let long_key = format!("{}=1\0", "K".repeat(MAX_KEY_LEN + 1));
    let long_value = format!("K={}\0", "v".repeat(MAX_VALUE_LEN + 1));
    let table: [(&[u8], TextError); 8] = [
        (b"A\0", TextError::NoEquals),
        (b"=1\0", TextError::BadKeyName),
        (b"A B=1\0", TextError::BadKeyName),
        (b"A,B=1\0", TextError::BadKeyName),
        (b"A=\xff\0", TextError::NotUtf8),
        (long_key.as_bytes(), TextError::BadKeyName),
        (long_value.as_bytes(), TextError::ValueTooLong),
        (&[0; MAX_TEXT_LEN + 1], TextError::TextTooLong),
    ];
    for (text, error) in table {
        assert_eq!(parse(text), Err(error));
    }
}

#[test]
fn limits_are_inclusive() {
    let key = format!("{}={}\0", "K".repeat(MAX_KEY_LEN), "v".repeat(MAX_VALUE_LEN));
    assert_eq!(parse(key.as_bytes()).map(|pairs| pairs.len()), Ok(1));
    assert_eq!(parse(&[0; MAX_TEXT_LEN]), Ok(vec![]));
}

#[test]
fn a_single_part_is_not_copied() {
    let data = Bytes::from(vec![b'A'; 10]);
    let whole = Incoming::default().collect(data.clone(), false).expect("short").expect("whole");
    assert_eq!(whole.as_ptr(), data.as_ptr());
}

#[test]
fn parts_are_joined_and_counted() {
    let mut incoming = Incoming::default();
    assert_eq!(incoming.collect(Bytes::from_static(b"A="), true), Ok(None));
    assert_eq!(incoming.collect(Bytes::from_static(b"1\0"), false), Ok(Some(Bytes::from_static(b"A=1\0"))));
    // And the next text begins anew.
    assert_eq!(incoming.collect(Bytes::from(vec![0; MAX_TEXT_LEN]), true), Ok(None));
    assert_eq!(incoming.collect(Bytes::from_static(b"1"), true), Err(TextError::TextTooLong));
}

#[test]
fn texts_are_cut() {
    let mut outgoing = Outgoing::new(Bytes::from_static(b"12345"));
    assert!(outgoing.exceeds(4) && !outgoing.exceeds(5));
    assert_eq!(outgoing.take(3), "123");
    assert!(!outgoing.is_empty());
    assert_eq!(outgoing.take(3), "45");
    assert!(outgoing.is_empty());
    assert_eq!(outgoing.take(3), "");
}

#[test]
fn pairs_are_written() {
    let (mut first, mut second) = (Writer::default(), Writer::default());
    first.push("A", 1);
    second.push("B", "Yes");
    first.append(second);
    assert_eq!(first.finish(), "A=1\0B=Yes\0");
}
