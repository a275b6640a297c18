use super::args::{Arguments, Command};
use super::report;
use crate::config::{ConfigSource, Flags};
use clap::{CommandFactory, Parser};
use std::path::Path;

fn source(line: &str) -> ConfigSource {
    match Arguments::try_parse_from(line.split(' ')).unwrap().command {
        Command::Serve(serving) => serving.into_source(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_commands_are_well_formed() {
    Arguments::command().debug_assert();
}

#[test]
fn flags_become_a_source() {
    let found = source(
        "glint serve -c a.toml --listen 0.0.0.0 --listen [::]:3261 --advertise x:1 --tls-cert a.pem --tls-key a.key --tls-client-ca ca.pem --api off --state-dir /srv/state --node n1 --store /srv/store --internal [::]:9470 --internal-advertise a:9470 --volume a=ram:,size=1GiB --volume b=null:",
    );
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let flags = Flags {
        listen: texts(&["0.0.0.0", "[::]:3261"]),
        advertise: texts(&["x:1"]),
        api: Some("off".into()),
        volumes: texts(&["a=ram:,size=1GiB", "b=null:"]),
        state_dir: Some("/srv/state".into()),
        tls_cert: Some("a.pem".into()),
        tls_key: Some("a.key".into()),
        tls_client_ca: Some("ca.pem".into()),
        node: Some("n1".into()),
        store: Some("/srv/store".into()),
        internal: Some("[::]:9470".into()),
        internal_advertise: Some("a:9470".into()),
    };
    assert_eq!(found, ConfigSource { file: Some("a.toml".into()), flags });
}

#[test]
fn help_tells_devices_and_examples() {
    let mut command = Arguments::command();
    let help = command.find_subcommand_mut("serve").unwrap().render_long_help().to_string();
    for word in ["gluster://HOST[:PORT][,HOST2..]/VOLUME/PATH", "block_size=4096", "Examples:", "--advertise"]
    {
        assert!(help.contains(word), "{word} in\n{help}");
    }
}

#[test]
fn a_summary_names_what_is_served_and_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("secret"), "swordfish-swordfish\n").unwrap();
    let file = directory.path().join("glint.toml");
    let text = "[[target]]\nname = \"db\"\n[target.chap]\nuser = \"alice\"\nsecret_file = \"secret\"\n\
                [[target.lun]]\ndevice = \"file:/srv/db.img\"\nsize = \"2GiB\"\nmax_iops = 300\n";
    std::fs::write(&file, text).unwrap();
    let loaded = ConfigSource { file: Some(file.clone()), flags: Flags::default() }.load();
    let summary = report::summary(&loaded.as_ref().unwrap().config);
    for word in [
        "iqn.2026-12.io.glint:db",
        "any initiator",
        "CHAP",
        "LUN 0: file:/srv/db.img, 2GiB",
        "max_iops 300 (burst 30)",
        "127.0.0.1:3260",
    ] {
        assert!(summary.contains(word), "{word} in\n{summary}");
    }
    let json = report::json(&file, &loaded);
    assert_eq!(json["valid"], true);
    assert_eq!(json["targets"][0]["luns"][0]["size"], 2u64 << 30);
    assert_eq!(json["targets"][0]["luns"][0]["limits"]["max_iops"], 300);
    assert_eq!(json["targets"][0]["luns"][0]["limits"]["iops_burst"], 30);
    for text in [summary, json.to_string(), format!("{loaded:?}")] {
        assert!(!text.contains("swordfish") && !text.contains("[115, 119"), "{text}");
    }
}

#[test]
fn faults_in_json_have_their_lines() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    std::fs::write(&file, "[node]\nid = 7\ncolour = 1\n").unwrap();
    let loaded = ConfigSource { file: Some(file.clone()), flags: Flags::default() }.load();
    let json = report::json(Path::new("x.toml"), &loaded);
    assert_eq!(json["valid"], false);
    assert_eq!((&json["faults"][0]["line"], &json["faults"][1]["line"]), (&2.into(), &3.into()));
    assert_eq!(json["faults"][0]["file"], "x.toml");
}
