use super::*;

#[test]
fn iscsi_names_have_three_forms() {
    for name in [
        "iqn.2026-12.io.glint:disk1",
        "iqn.1993-08.org.debian:01:abc-d.e",
        "iqn.2001-04.com.example",
        "eui.0123456789abcdef",
        "naa.0123456789abcdef",
        "naa.0123456789abcdef0123456789abcdef",
    ] {
        assert_eq!(&*name.parse::<IscsiName>().unwrap(), name);
    }
    let upper: IscsiName = "IQN.2026-12.IO.Glint:Disk1".parse().unwrap();
    assert_eq!(&*upper, "iqn.2026-12.io.glint:disk1");
    for name in [
        "",
        "disk1",
        "iqn.",
        "iqn.2026.io.glint",
        "iqn.2026-13.io.glint",
        "iqn.26-12.io.glint",
        "iqn.2026-12.",
        "iqn.2026-12.io.glint:",
        "iqn.2026-12.:x",
        "iqn.2026-12.io.glint:a b",
        "iqn.2026-12.io.glint:a_b",
        "eui.0123",
        "eui.0123456789abcdeg",
        "naa.0123456789abcdef01",
    ] {
        assert!(name.parse::<IscsiName>().is_err(), "{name}");
    }
    let longest = format!("iqn.2026-12.io.glint:{}", "a".repeat(MAX_NAME - 21));
    assert!(longest.parse::<IscsiName>().is_ok());
    assert!(format!("{longest}a").parse::<IscsiName>().is_err());
}

#[test]
fn initiators_may_be_told_by_their_beginning() {
    let pattern = |text: &str| text.parse::<InitiatorPattern>().map(|pattern| pattern.0);
    assert_eq!(pattern("IQN.1993-08.org.Debian:*"), Ok("iqn.1993-08.org.debian:*".into()));
    assert_eq!(pattern("iqn.1993-08.org.debian:01:x"), Ok("iqn.1993-08.org.debian:01:x".into()));
    assert_eq!(pattern("iq*"), Ok("iq*".into()));
    for text in ["*", "", "debian", "iqn.*.org", "com.example*", "iqn.1993-08.org.debian:a*b"] {
        assert!(pattern(text).is_err(), "{text}");
    }
}

#[test]
fn labels_are_words() {
    for (text, good) in
        [("disk1", true), ("a.b-c", true), ("a_b", false), ("", false), ("a b", false), ("-a", false)]
    {
        assert_eq!(text.parse::<TargetLabel>().is_ok(), good, "{text}");
    }
    assert!("a_b".parse::<NodeId>().is_ok());
    assert!("a/b".parse::<NodeId>().is_err());
    assert!("A-1_x".parse::<Serial>().is_ok());
    assert!("".parse::<Serial>().is_err());
    assert!("x".repeat(37).parse::<Serial>().is_err());
}
