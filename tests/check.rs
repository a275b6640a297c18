//! `glint check` tells every fault of a configuration with its line.

use std::fs;

use glint_testkit::glint;

const GOOD: &str = r#"[node]
id = "node1"
state_dir = "/var/lib/glint"

[[portal]]
listen = "127.0.0.1:3260"
advertise = ["storage.example.net:3260", "[2001:db8::1]:3260"]

[[target]]
name = "disk"

[[target.lun]]
device = "ram:"
size = "1GiB"
"#;

#[test]
fn a_good_configuration_passes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    fs::write(&file, GOOD).unwrap();
    glint::run(&["check", "-c", file.to_str().unwrap()]).success();
}

#[test]
fn every_fault_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    let bad = GOOD
        .replace("id = \"node1\"", "id = \"node1\"\ncolour = \"green\"")
        .replace("name = \"disk\"", "name = \"not a name\"")
        .replace("1GiB", "1 gigabyte");
    fs::write(&file, &bad).unwrap();
    let line_of = |text: &str| bad.lines().position(|line| line.contains(text)).unwrap() + 1;

    let checked = glint::run(&["check", "-c", file.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(2), "{}", checked.output);
    for fault in ["colour", "not a name", "1 gigabyte"] {
        let place = format!("{}:{}:", file.display(), line_of(fault));
        assert!(checked.output.contains(&place), "no word of {fault:?} at {place} in:\n{}", checked.output);
    }
}

#[test]
fn what_is_no_toml_is_a_fault_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    fs::write(&file, GOOD.replace("[[portal]]", "[[portal")).unwrap();
    let checked = glint::run(&["check", "-c", file.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(2), "{}", checked.output);
    assert!(checked.output.contains(":5:"), "{}", checked.output);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let checked = glint::run(&["check", "-c", "/nowhere/glint.toml"]);
    assert_eq!(checked.status.code(), Some(2), "{}", checked.output);
    assert!(checked.output.contains("/nowhere/glint.toml"), "{}", checked.output);
}
