use super::*;
use crate::config::{ConfigSource, Loaded};
use std::collections::BTreeMap;
use std::fs;

const CLUSTER: &str =
    "[node]\nid = \"n1\"\n[cluster]\nstore = \"gluster://g/vol/glint\"\ninternal = \"10.0.0.1:9470\"\n";

fn load_with(text: &str, flags: Flags) -> Result<Loaded, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    fs::write(&file, text).unwrap();
    let name = file.display().to_string();
    let loaded = ConfigSource { file: Some(file), flags }.load();
    loaded.map_err(|faults| faults.to_string().lines().map(|line| line.replace(&name, "f")).collect())
}

fn faults(text: &str) -> Vec<String> {
    load_with(text, Flags::default()).unwrap_err()
}

fn flags(node: Option<&str>, store: Option<&str>, internal: Option<&str>, volume: &str) -> Flags {
    Flags {
        node: node.map(str::to_owned),
        store: store.map(str::to_owned),
        internal: internal.map(str::to_owned),
        volumes: vec![volume.to_owned()],
        ..Flags::default()
    }
}

fn by_flags(flags: Flags) -> Result<Option<ClusterConfig>, String> {
    let loaded = ConfigSource { file: None, flags }.load();
    loaded.map(|loaded| loaded.config.cluster).map_err(|faults| faults.to_string())
}

#[test]
fn a_section_makes_a_node_of_several() {
    let text =
        CLUSTER.to_owned() + "[[target]]\nname = \"db\"\n[[target.lun]]\ndevice = \"gluster://g/vol/db\"\n";
    let cluster = load_with(&text, Flags::default()).unwrap().config.cluster.unwrap();
    assert_eq!(cluster.node.as_str(), "n1");
    assert_eq!(cluster.store.to_string(), "gluster://g/vol/glint");
    assert_eq!(cluster.internal.to_string(), "10.0.0.1:9470");
    assert_eq!((cluster.internal_advertise, cluster.hold), (None, Duration::from_secs(7)));
    let one = load_with("[node]\nid = \"Node_1\"\n", Flags::default()).unwrap().config;
    assert_eq!((&*one.node.id, one.cluster), ("Node_1", None));
}

#[test]
fn hold_fits_what_initiators_are_taken_to_wait() {
    let timing = glint_cluster_core::membership::Timing::default();
    assert_eq!(timing.fence + HOLD + Duration::from_secs(1), Duration::from_secs(12));
}

#[test]
fn flags_make_one_and_win_over_the_file() {
    let given = flags(Some("n2"), Some("/srv/store"), Some("127.0.0.1:0"), "a=file:/srv/a.img,size=1MiB");
    let cluster = by_flags(given.clone()).unwrap().unwrap();
    assert_eq!((cluster.node.as_str(), cluster.internal.port), ("n2", 0));
    let text = CLUSTER.to_owned() + "internal_advertise = \"n1.example:9470\"\nhold = \"3s\"\n";
    let config = load_with(&text, given).unwrap().config;
    let cluster = config.cluster.unwrap();
    assert_eq!(
        (&*config.node.id, cluster.node.as_str(), cluster.store.to_string().as_str()),
        ("n2", "n2", "file:/srv/store")
    );
    assert_eq!(cluster.internal_advertise.unwrap().to_string(), "n1.example:9470");
    assert_eq!(cluster.hold, Duration::from_secs(3));
}

#[test]
fn what_is_missing_is_told_with_its_place() {
    let found = faults("[cluster]\n");
    assert_eq!(found.len(), 3, "{found:?}");
    for (fault, word) in found.iter().zip(["--node", "--store", "--internal"].iter().cycle()) {
        assert!(fault.starts_with("f:1: "), "{fault}");
        assert!(found.iter().any(|fault| fault.contains(word)), "{word} in {found:?}");
    }
    for (given, place, wanted) in [
        (flags(Some("n1"), None, None, "a=null:,size=1MiB"), "--node n1: ", "--store"),
        (flags(Some("n1"), Some("/srv/s"), None, "a=null:,size=1MiB"), "--store /srv/s: ", "--internal"),
        (flags(None, Some("/srv/s"), Some("[::1]:1"), "a=null:,size=1MiB"), "--store /srv/s: ", "--node"),
        (flags(None, None, Some("[::1]:1"), "a=null:,size=1MiB"), "--internal [::1]:1: ", "--store"),
    ] {
        let told = by_flags(given).unwrap_err();
        assert!(told.contains(place) && told.contains(wanted), "{told}");
    }
}

#[test]
fn what_is_wrong_is_told_once() {
    for (text, wanted) in [
        ("[node]\nid = \"n1\"\n[cluster]\nstore = \"http://x\"\ninternal = \"10.0.0.1:1\"\n", "f:4: `store`"),
        ("[node]\nid = 7\n[cluster]\nstore = \"/srv/s\"\ninternal = \"10.0.0.1:1\"\n", "f:2: `id`"),
        ("[node]\nid = \"N_1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"10.0.0.1:1\"\n", "f:2: \"N_1\""),
        ("[node]\nid = \"n1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"10.0.0.1\"\n", "f:5: `internal`"),
        (
            "[node]\nid = \"n1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"0.0.0.0:1\"\n",
            "f:5: other nodes",
        ),
        (
            "[node]\nid = \"n1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"[::]:1\"\ninternal_advertise = \"a:0\"\n",
            "f:6: other nodes",
        ),
        (
            "[node]\nid = \"n1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"[::]:1\"\ninternal_advertise = 1\n",
            "f:6: `internal_advertise`",
        ),
        (
            "[node]\nid = \"n1\"\n[cluster]\nstore = \"/srv/s\"\ninternal = \"a:1\"\nhold = \"2m\"\n",
            "f:6: `hold`",
        ),
        (
            "[node]\nid = \"n1\"\n[cluster]\nstroe = \"/srv/s\"\nstore = \"/srv/s\"\ninternal = \"a:1\"\n",
            "`store`?",
        ),
    ] {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].contains(wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn every_node_has_to_reach_the_devices() {
    let units = |device: &str| {
        format!("[[target]]\nname = \"db\"\n[[target.lun]]\ndevice = \"{device}\"\nsize = \"1MiB\"\n")
    };
    let local = CLUSTER.replace("gluster://g/vol/glint", "/srv/store");
    for (text, told) in [
        (CLUSTER.to_owned() + &units("ram:"), Some("no other node")),
        (local.clone() + &units("ram:"), Some("no other node")),
        (CLUSTER.to_owned() + &units("file:/srv/a.img"), Some("this machine")),
        (local.clone() + &units("file:/srv/a.img"), None),
        (local + &units("null:"), None),
        (CLUSTER.to_owned() + &units("gluster://g/vol/a.img"), None),
        (units("ram:"), None),
    ] {
        let loaded = load_with(&text, Flags::default());
        match (&loaded, told) {
            (Ok(_), None) => {}
            (Err(found), Some(told)) => assert!(found.len() == 1 && found[0].contains(told), "{found:?}"),
            _ => panic!("{text}: {loaded:?}"),
        }
    }
}

#[test]
fn no_two_units_share_a_name_and_all_fit_into_documents() {
    let labels =
        ["a", "A1", "a.", "a..", "a.1", "a.-1", "a-1", "a1", "1", "1.1", "1.", "iqn.2026-12.io.glint"];
    let mut names = BTreeMap::new();
    for label in labels {
        let volume = format!("{label}=null:,size=1MiB");
        let loaded = ConfigSource { file: None, flags: flags(None, None, None, &volume) }.load().unwrap();
        let mut target = loaded.config.targets[0].clone();
        for number in [0, 1, 11, 16383] {
            target.luns[0].number = number;
            let name = shared_name(&target, &target.luns[0]);
            assert!(OwnerRecord::document(&name).is_some(), "{name}");
            if label != "A1" {
                let other = names.insert(name.clone(), (label, number));
                assert_eq!(other, None, "{name}: {label} {number}");
            }
        }
    }
    assert_eq!(names.get("a__1_11"), Some(&("a.1", 11)));
}

#[test]
fn a_name_that_does_not_fit_is_told() {
    let volume = |letters: usize| format!("{}=null:,size=1MiB", "x".repeat(letters));
    let with = |letters| by_flags(flags(Some("n"), Some("/srv/s"), Some("a:1"), &volume(letters)));
    assert!(with(114).is_ok());
    let told = with(115).unwrap_err();
    assert!(told.contains("shorter"), "{told}");
}
