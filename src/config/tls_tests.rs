use super::*;
use crate::config::{ConfigSource, Flags};
use glint_testkit::pki::Authority;
use std::time::SystemTime;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A directory with a server's and a clients' CA, and a pair of the first.
struct Lab {
    directory: TempDir,
    authority: Authority,
}

impl Lab {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::new("servers");
        authority.issue(&["storage.example"]).write(directory.path(), "server");
        Authority::new("clients").write(directory.path(), "clients");
        Self { directory, authority }
    }

    /// Loads a configuration with this `[portal.tls]`: faults or warnings, one a line, and the TLS.
    fn load(&self, tls: &str) -> Result<(Tls, String), String> {
        let file = self.directory.path().join("glint.toml");
        let head = "[[portal]]\nlisten = \"127.0.0.1:3260\"\nadvertise = \"127.0.0.1:3261\"\n[portal.tls]\n";
        std::fs::write(&file, format!("{head}{tls}\n")).unwrap();
        let source = ConfigSource { file: Some(file), flags: Flags::default() };
        match source.load() {
            Ok(mut loaded) => {
                let warnings = loaded.warnings.iter().map(|warning| warning.display(None).to_string());
                let tls = loaded.config.portals.remove(0).tls.unwrap();
                Ok((tls, warnings.collect::<Vec<_>>().join("\n")))
            }
            Err(faults) => Err(faults.to_string()),
        }
    }
}

const PAIR: &str = "certificate_file = \"server.pem\"\nkey_file = \"server.key\"\n";

#[test]
fn a_pair_is_enough() {
    let (tls, warnings) = Lab::new().load(PAIR).unwrap();
    assert_eq!((tls.clients, warnings.as_str()), (ClientCertificates::NotAsked, ""));
    assert_eq!(format!("{tls:?}"), "Tls(NotAsked)");
}

#[test]
fn clients_have_to_show_a_certificate_where_there_is_a_ca() {
    let lab = Lab::new();
    let load = |more: &str| lab.load(&format!("{PAIR}{more}")).map(|(tls, _)| tls);
    let required = load("client_ca_file = \"clients.pem\"").unwrap();
    assert_eq!(required.clients, ClientCertificates::Required);
    assert_ne!(required, lab.load(PAIR).unwrap().0);
    let optional = load("client_ca_file = \"clients.pem\"\nclient_certificates = \"optional\"").unwrap();
    assert_eq!(optional.clients, ClientCertificates::Optional);
    assert_ne!(required, optional);
    let named =
        load("client_ca_file = \"clients.pem\"\nclient_names = [\"a.example\", \"192.0.2.7\"]").unwrap();
    assert_eq!(named.client_names.len(), 2);
    assert_ne!(required, named);
}

/// What a reload goes by.
#[test]
fn files_of_the_same_content_are_the_same_tls() {
    let lab = Lab::new();
    let first = lab.load(PAIR).unwrap().0;
    assert_eq!(first, lab.load(PAIR).unwrap().0);
    lab.authority.issue(&["storage.example"]).write(lab.directory.path(), "server");
    assert_ne!(first, lab.load(PAIR).unwrap().0);
}

#[test]
fn every_fault_has_its_line_and_says_what_to_do() {
    let lab = Lab::new();
    let directory = lab.directory.path();
    lab.authority.issue(&["other.example"]).write(directory, "other");
    std::fs::write(directory.join("empty"), "").unwrap();
    std::fs::write(
        directory.join("broken"),
        "-----BEGIN CERTIFICATE-----\nMII$\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(directory.join("nonsense"), nonsense).unwrap();
    let certificate = |file: &str| format!("certificate_file = \"{file}\"\nkey_file = \"server.key\"\n");
    let key = |file: &str| format!("certificate_file = \"server.pem\"\nkey_file = \"{file}\"\n");
    let ca = |file: &str| format!("{PAIR}client_ca_file = \"{file}\"\n");
    let table = [
        ("key_file = \"server.key\"\n".into(), 4, "lacks `certificate_file`"),
        ("certificate_file = \"server.pem\"\n".into(), 4, "lacks `key_file`"),
        (certificate("gone.pem"), 5, "cannot read"),
        (certificate("empty"), 5, "holds no certificate"),
        (certificate("broken"), 5, "is no PEM file of certificates"),
        (certificate("nonsense"), 5, "the certificate cannot be used"),
        (certificate("."), 5, "is no PEM file"),
        (key("gone.key"), 6, "cannot read"),
        (key("server.pem"), 6, "holds no private key"),
        (key("other.key"), 6, "this key belongs to another certificate"),
        (ca("gone.pem"), 7, "cannot read"),
        (ca("server.key"), 7, "holds no certificate"),
        (ca("nonsense"), 7, "nonsense"),
        (format!("{PAIR}client_certificates = \"required\""), 7, "add `client_ca_file`"),
        (format!("{}client_certificates = \"maybe\"", ca("clients.pem")), 8, "\"required\" or \"optional\""),
        (format!("{PAIR}client_names = \"a.example\""), 7, "add `client_ca_file`"),
        (format!("{}client_names = \"a b\"", ca("clients.pem")), 8, "neither a DNS name nor an address"),
        (format!("{PAIR}ciphers = \"all\""), 7, "unknown key `ciphers`"),
    ];
    for (tls, line, told) in table {
        let faults = lab.load(&tls).unwrap_err();
        assert!(
            faults.contains(&format!(":{line}: ")) && faults.contains(told),
            "{told} in line {line}:\n{tls}{faults}"
        );
        assert_eq!(faults.lines().count(), 1, "{faults}");
    }
    let both = lab.load(&key("gone.key").replace("server.pem", "gone.pem")).unwrap_err();
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn certificates_out_of_their_time_are_warned_of() {
    let lab = Lab::new();
    let now = SystemTime::now();
    for (until, told) in [
        (now - 3 * DAY - DAY / 2, "expired 3 days ago"),
        (now - DAY / 2, "expired within a day"),
        (now + 5 * DAY + DAY / 2, "expires in 5 days: renew it"),
        (now + 20 * DAY, ""),
    ] {
        lab.authority.issue_until(&["storage.example"], until).write(lab.directory.path(), "server");
        let (_, warnings) = lab.load(PAIR).unwrap();
        assert!(warnings.contains(told) && warnings.is_empty() == told.is_empty(), "{told}: {warnings}");
        assert!(told.is_empty() || warnings.contains(":5: "), "{warnings}");
    }
    let (_, warnings) = lab.load(&format!("{PAIR}client_ca_file = \"clients.pem\"")).unwrap();
    assert_eq!(warnings, "");
}

#[test]
fn a_key_that_all_may_read_is_warned_of() {
    let lab = Lab::new();
    let key = lab.directory.path().join("server.key");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(lab.load(PAIR).unwrap().1.contains("chmod o-rwx"));
}

#[test]
fn flags_have_tls_too() {
    let lab = Lab::new();
    let path = |name: &str| Some(lab.directory.path().join(name));
    let load = |cert: &str, key: &str, file: Option<PathBuf>, listen: &[&str]| {
        let flags = Flags {
            tls_cert: path(cert).filter(|_| !cert.is_empty()),
            tls_key: path(key).filter(|_| !key.is_empty()),
            listen: listen.iter().map(|address| (*address).into()).collect(),
            volumes: vec!["a=ram:,size=1MiB".into()],
            ..Flags::default()
        };
        ConfigSource { file, flags }.load().map_err(|faults| faults.to_string())
    };
    let loaded = load("server.pem", "server.key", None, &[]).unwrap();
    assert!(loaded.config.portals[0].tls.is_some());
    assert!(load("server.pem", "", None, &[]).unwrap_err().contains("--tls-key"));
    let wrong = load("server.pem", "gone.key", None, &["127.0.0.1"]).unwrap_err();
    assert!(wrong.starts_with("--tls-key ") && wrong.contains("cannot read"), "{wrong}");

    // A portal of the file never loses its TLS to a flag unawares.
    lab.load(PAIR).unwrap();
    let file = path("glint.toml");
    assert!(load("", "", file.clone(), &["127.0.0.1:1"]).unwrap_err().contains("add --tls-cert"));
    assert!(load("server.pem", "server.key", file.clone(), &["127.0.0.1:1"]).is_ok());
    assert!(load("server.pem", "server.key", file, &[]).unwrap_err().contains("add --listen"));
}

/// What the README tells users to write is taken as it stands.
#[test]
fn the_readme_is_valid() {
    let lab = Lab::new();
    std::fs::rename(lab.directory.path().join("clients.pem"), lab.directory.path().join("clients-ca.pem"))
        .unwrap();
    let (_, rest) = include_str!("../../README.md").split_once("### TLS").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let (_, tls) = text.split_once("[portal.tls]\n").unwrap();
    let (tls, warnings) = lab.load(tls).unwrap();
    assert_eq!((tls.clients, warnings.as_str()), (ClientCertificates::Required, ""));
    assert_eq!(tls.client_names.len(), 1);
}
