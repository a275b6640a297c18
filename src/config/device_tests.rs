use super::*;

fn parse(text: &str) -> DeviceSpec {
    text.parse().unwrap()
}

#[test]
fn devices_print_as_they_are_written() {
    for text in [
        "gluster://gluster1/vol1/disk.img",
        "gluster://gluster1:24008,gluster2,[2001:db8::1]:99/vol1/blocks/db.img",
        "file:/srv/disk.img",
        "ram:",
        "null:",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(parse("gluster+tcp://a/v/./b//c").to_string(), "gluster://a/v/b/c");
    assert_eq!(parse("file:///srv/disk.img"), parse("file:/srv//./disk.img"));
    assert_eq!(parse("gluster://a:24007/v/b"), parse("gluster://a/v/b"));
}

#[test]
fn libgfapi_gets_hosts_without_brackets() {
    let DeviceSpec::Gluster(file) = parse("gluster://a,[::1]:5/v/b") else { panic!() };
    assert_eq!(file.volume.server_hosts(), [("a".into(), 24007), ("::1".into(), 5)]);
    assert_eq!(file.path, "/b");
}

#[test]
fn what_is_no_device_is_told() {
    for text in [
        "",
        "disk",
        "/srv/disk.img",
        "http://a/b",
        "ram",
        "ram:1",
        "null:x",
        "file:",
        "file:disk.img",
        "file:/srv/",
        "file:/srv/../etc/x",
        "file:/",
        "file:/a\0b",
        "gluster:",
        "gluster://",
        "gluster://a",
        "gluster://a/",
        "gluster://a/v",
        "gluster://a/v/",
        "gluster:///v/b",
        "gluster://a,/v/b",
        "gluster://a:0/v/b",
        "gluster://a//b",
        "gluster://a/v/../b",
        "gluster+unix:///v/b?socket=/x",
        "gluster+rdma://a/v/b",
    ] {
        let fault = text.parse::<DeviceSpec>().unwrap_err();
        assert!(fault.len() > 10, "{text}: {fault}");
    }
}

#[test]
fn devices_that_share_bytes_overlap() {
    let overlap = |one, two| parse(one).overlaps(&parse(two));
    assert!(overlap("file:/a/b", "file:/a//b"));
    assert!(!overlap("file:/a/b", "file:/a/c"));
    assert!(overlap("gluster://a,b/v/x", "gluster://c,b/v/x"));
    assert!(!overlap("gluster://a/v/x", "gluster://b/v/x"));
    assert!(!overlap("gluster://a/v/x", "gluster://a/w/x"));
    assert!(!overlap("ram:", "ram:"));
}
