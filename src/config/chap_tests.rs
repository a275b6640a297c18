use super::*;
use crate::config::reader::Document;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Reads a `[chap]` beside files of these names and contents; faults and warnings as texts.
fn read(text: &str, files: &[(&str, &[u8], u32)]) -> (AuthPolicy, Vec<String>, Vec<String>) {
    let directory = TempDir::new().unwrap();
    for (name, content, mode) in files {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    let file = directory.path().join("glint.toml");
    let text = format!("[chap]\n{text}");
    let document = Document::new(&text, &file);
    let policy = read_chap(document.root().section("chap").unwrap());
    let findings = document.findings.into_inner();
    let texts = |findings: &[super::super::fault::Finding]| {
        findings.iter().map(|found| found.display(Some(Path::new("f"))).to_string()).collect()
    };
    (policy, texts(&findings.faults), texts(&findings.warnings))
}

fn credentials(name: &str, secret: &[u8]) -> ChapCredentials {
    ChapCredentials { name: name.into(), secret: Secret::new(secret.to_vec()) }
}

#[test]
fn secrets_come_from_files_less_the_line_end() {
    let files: [(&str, &[u8], u32); 2] =
        [("a", b"initiator-secret\n", 0o600), ("b", b"targets-secret\r\n", 0o640)];
    let text = "user = \"u\"\nsecret_file = \"a\"\nmutual_user = \"t\"\nmutual_secret_file = \"b\"\n";
    let (policy, faults, warnings) = read(text, &files);
    assert_eq!((faults, warnings), (vec![], vec![]));
    let expected = AuthPolicy::Chap {
        initiators: vec![credentials("u", b"initiator-secret")],
        mutual: Some(credentials("t", b"targets-secret")),
    };
    assert!(policy == expected);
}

#[test]
fn secrets_come_from_the_environment() {
    let (policy, faults, _) = read("user = \"u\"\nsecret_env = \"CARGO_MANIFEST_DIR\"\n", &[]);
    if std::env::var("CARGO_MANIFEST_DIR").is_ok_and(|directory| directory.len() >= MIN_SECRET) {
        assert!(faults.is_empty() && matches!(policy, AuthPolicy::Chap { mutual: None, .. }), "{faults:?}");
    }
    let (_, faults, _) = read("user = \"u\"\nsecret_env = \"GLINT_NO_SUCH_VARIABLE\"\n", &[]);
    assert_eq!(faults, ["f:3: the environment has no variable GLINT_NO_SUCH_VARIABLE"]);
}

#[test]
fn bad_secrets_are_refused_without_being_told() {
    let short: (&str, &[u8], u32) = ("a", b"shortpass\n", 0o600);
    let (_, faults, _) = read("user = \"u\"\nsecret_file = \"a\"\n", &[short]);
    assert!(
        faults[0].starts_with("f:3: ") && faults[0].contains("9 bytes") && faults[0].contains("12"),
        "{faults:?}"
    );
    assert!(!faults[0].contains("shortpass"));
    let (_, faults, _) = read("user = \"u\"\nsecret_file = \"a\"\n", &[("a", b"\n", 0o600)]);
    assert!(faults[0].contains("empty"), "{faults:?}");
    let (_, faults, _) = read("user = \"u\"\nsecret_file = \"a\"\n", &[("a", &[b'x'; 300], 0o600)]);
    assert!(faults[0].contains("more than 256"), "{faults:?}");
    let (_, faults, _) = read("user = \"u\"\nsecret_file = \"no/such\"\n", &[]);
    assert!(faults[0].contains("no/such"), "{faults:?}");
    let (_, faults, _) = read("user = \"u\"\nsecret_file = \".\"\n", &[]);
    assert!(faults[0].contains("no file"), "{faults:?}");
}

#[test]
fn both_secrets_have_to_differ() {
    let files: [(&str, &[u8], u32); 2] =
        [("a", b"the-same-secret", 0o600), ("b", b"the-same-secret\n", 0o600)];
    let text = "user = \"u\"\nsecret_file = \"a\"\nmutual_user = \"t\"\nmutual_secret_file = \"b\"\n";
    let (_, faults, _) = read(text, &files);
    assert!(faults.len() == 1 && faults[0].contains("differ"), "{faults:?}");
}

#[test]
fn what_is_missing_or_doubled_is_told() {
    let fault = |text: &str| read(text, &[("a", b"long-enough-secret", 0o600)]).1;
    assert!(fault("secret_file = \"a\"\n")[0].contains("lacks `user`"));
    assert!(fault("user = \"u\"\n")[0].contains("secret_file"));
    assert!(fault("user = \"u\"\nsecret_file = \"a\"\nsecret_env = \"A\"\n")[0].contains("not both"));
    assert!(
        fault("user = \"u\"\nsecret_file = \"a\"\nmutual_secret_file = \"a\"\n")[0]
            .contains("lacks `mutual_user`")
    );
    assert!(
        fault("user = \"u\"\nsecret_file = \"a\"\nmutual_user = \"t\"\n")[0].contains("mutual_secret_file")
    );
    assert!(fault("user = \"\"\nsecret_file = \"a\"\n")[0].contains("`user` has to be"));
    let faults = fault("user = \"u\"\nsecret = \"in-the-open-here\"\nsecret_file = \"a\"\n");
    assert!(
        faults.len() == 1 && faults[0].contains("unknown key `secret`") && !faults[0].contains("open"),
        "{faults:?}"
    );
}

#[test]
fn a_secret_that_everyone_may_read_is_warned_about() {
    let (_, faults, warnings) =
        read("user = \"u\"\nsecret_file = \"a\"\n", &[("a", b"long-enough-secret", 0o644)]);
    assert!(faults.is_empty());
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("f:3: ") && warnings[0].contains("chmod"),
        "{warnings:?}"
    );
}
