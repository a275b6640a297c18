use super::*;

fn how(size: Option<u64>, grow: bool) -> OpenOptions {
    OpenOptions { size, grow, ..OpenOptions::default() }
}

fn decide(found: Option<u64>, size: Option<u64>, grow: bool) -> Result<SizePlan, String> {
    SizePlan::decide("file:/a", found, &how(size, grow)).map_err(|error| error.to_string())
}

#[test]
fn what_exists_keeps_its_size() {
    assert_eq!(decide(Some(4096), None, false), Ok(SizePlan::Keep(4096)));
    assert_eq!(decide(Some(4096), Some(4096), false), Ok(SizePlan::Keep(4096)));
}

#[test]
fn what_is_missing_or_empty_is_made() {
    assert_eq!(decide(None, Some(1 << 30), false), Ok(SizePlan::Create(1 << 30)));
    assert_eq!(decide(Some(0), Some(1 << 30), false), Ok(SizePlan::Create(1 << 30)));
    assert!(decide(None, None, false).unwrap_err().contains("size"));
    assert!(decide(Some(0), None, false).unwrap_err().contains("empty"));
}

#[test]
fn a_device_is_never_cut_short() {
    for grow in [false, true] {
        let message = decide(Some(2 << 30), Some(1 << 30), grow).unwrap_err();
        assert!(message.contains("2GiB") && message.contains("1GiB"), "{message}");
    }
}

#[test]
fn unless_it_is_told_to_be() {
    let how = OpenOptions { shrink: true, ..how(Some(1 << 30), false) };
    let decide = |found| SizePlan::decide("file:/a", Some(found), &how);
    assert_eq!(decide(2 << 30).unwrap(), SizePlan::Shrink(1 << 30));
    assert_eq!(decide(1 << 30).unwrap(), SizePlan::Keep(1 << 30));
    assert!(decide(1 << 29).unwrap_err().to_string().contains("grow"));
}

#[test]
fn a_device_grows_only_when_told() {
    let message = decide(Some(1 << 30), Some(2 << 30), false).unwrap_err();
    assert!(message.contains("2GiB") && message.contains("1GiB") && message.contains("grow"), "{message}");
    assert_eq!(decide(Some(1 << 30), Some(2 << 30), true), Ok(SizePlan::Grow { from: 1 << 30, to: 2 << 30 }));
}

#[test]
fn a_size_that_does_not_fit_the_blocks_is_told() {
    assert!(decide(Some(1000), None, false).unwrap_err().contains("512"));
}

#[test]
fn a_read_only_device_is_not_made() {
    let how = OpenOptions { size: Some(1 << 20), read_only: true, ..OpenOptions::default() };
    assert!(matches!(SizePlan::decide("file:/a", None, &how), Err(OpenError::MissingReadOnly { .. })));
}
