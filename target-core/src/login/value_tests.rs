use super::*;

#[test]
fn numbers() {
    let table = [
        ("0", Some(0)),
        ("262144", Some(262_144)),
        ("0x1F", Some(31)),
        ("0X1f", Some(31)),
        ("4294967295", Some(u32::MAX)),
        ("4294967296", None),
        ("0x100000000", None),
        ("", None),
        ("0x", None),
        ("+1", None),
        ("-1", None),
        ("0x+1", None),
        ("1 ", None),
        ("1f", None),
        ("0bAQ==", None),
    ];
    for (text, expected) in table {
        assert_eq!(number(text), expected, "{text}");
    }
}

#[test]
fn booleans() {
    assert_eq!(
        (boolean("Yes"), boolean("No"), boolean("yes"), boolean("")),
        (Some(true), Some(false), None, None)
    );
    assert_eq!((yes_no(true), yes_no(false)), ("Yes", "No"));
}

#[test]
fn binary_data() {
    let table: [(&str, Option<&[u8]>); 21] = [
        ("0x00ff", Some(&[0, 255])),
        ("0XFF", Some(&[255])),
        ("0xfff", Some(&[15, 255])),
        ("0x", None),
        ("0xg0", None),
        ("0x0102030405060708", Some(&[1, 2, 3, 4, 5, 6, 7, 8])),
        ("0x010203040506070809", None),
        ("0bAQ==", Some(&[1])),
        ("0bAQI=", Some(&[1, 2])),
        ("0BAQID", Some(&[1, 2, 3])),
        ("0bAQIDBA", Some(&[1, 2, 3, 4])),
        ("0b+/+/", Some(&[0xfb, 0xff, 0xbf])),
        ("0bA", None),
        ("0bAQ=", None),
        ("0bAQ===", None),
        ("0b====", None),
        ("0bA Q=", None),
        ("0b", None),
        ("0102", None),
        ("", None),
        ("0xé", None),
    ];
    for (text, expected) in table {
        assert_eq!(binary(text, 8).as_deref(), expected, "{text}");
    }
}

#[test]
fn binary_data_reads_back_as_written() {
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(binary(&Hex(&bytes).to_string(), 256), Some(bytes));
}

#[test]
fn iscsi_names() {
    assert_eq!(iscsi_name("IQN.2026-12.io.Glint:x").as_deref(), Some("iqn.2026-12.io.glint:x"));
    assert_eq!(iscsi_name(&"n".repeat(223)), Some("n".repeat(223)));
    assert_eq!(iscsi_name(&"n".repeat(224)), None);
    assert_eq!((iscsi_name(""), iscsi_name("a b"), iscsi_name("a\n")), (None, None, None));
}
