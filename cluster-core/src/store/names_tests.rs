use super::*;

#[test]
fn names_are_read_as_they_are_written() {
    let name = DocumentName::new("owner-data_1").unwrap();
    let nonce = Nonce(0xabc);
    assert_eq!(parse(&name.version(7)), Some(("owner-data_1", 7, Kind::Version)));
    assert_eq!(parse(&name.temporary(8, nonce)), Some(("owner-data_1", 8, Kind::Temporary)));
    assert_eq!(parse(&name.damaged(u64::MAX)), Some(("owner-data_1", u64::MAX, Kind::Damaged)));
}

#[test]
fn other_files_are_left_alone() {
    for other in [
        "",
        ".",
        "owner",
        "owner.",
        "owner.x",
        "owner.07",
        "owner.0",
        "owner.+1",
        "owner.1.2",
        ".owner.1.2",
        "owner.1.damaged.damaged",
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
    assert_eq!(parse("owner.18446744073709551616"), None);
}

#[test]
fn a_name_can_be_nothing_but_a_file() {
    for bad in ["", "a/b", "..", "a.b", "A", "ü", &"x".repeat(121)] {
        assert_eq!(DocumentName::new(bad), None, "{bad}");
    }
}
