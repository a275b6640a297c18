use super::*;
use crate::config::Provisioning;
use std::fs;
use tempfile::TempDir;

fn load_with(text: &str, flags: Flags) -> Result<Loaded, Vec<String>> {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("glint.toml");
    fs::write(&file, text).unwrap();
    let name = file.display().to_string();
    let loaded = ConfigSource { file: Some(file), flags }.load();
    loaded.map_err(|faults| faults.to_string().lines().map(|line| line.replace(&name, "f")).collect())
}

fn load(text: &str) -> Result<Loaded, Vec<String>> {
    load_with(text, Flags::default())
}

fn flags(listen: &[&str], volumes: &[&str]) -> Flags {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Flags { listen: own(listen), volumes: own(volumes), ..Flags::default() }
}

/// A whole configuration with everything in it.
const FULL: &str = r#"
iqn_base = "iqn.2001-04.com.example"

[node]
id = "node1"
state_dir = "/srv/glint"

[[portal]]
listen = ["0.0.0.0:3260", "[::1]:3261"]
advertise = ["storage.example.net:3260", "[2001:db8::1]:3260"]
group_tag = 2

[[portal]]
listen = "localhost:3262"

[api]
listen = "off"

[log]
format = "json"
level = "info,glint=debug"

[limits]
max_connections = 10
connections_per_session = 16
login_timeout = "5s"
bytes_in_flight = "64MiB"
command_window = 32
max_recv_data_segment = "64KiB"

[[target]]
name = "db"
alias = "the database"
initiators = ["iqn.1993-08.org.debian:*", "eui.0123456789ABCDEF"]

[[target.lun]]
number = 3
device = "gluster://g1,g2/vol1/blocks/db.img"
size = "100GiB"
preallocate = true
grow = true
block_size = 4096
provisioning = "full"

[[target.lun]]
number = 0
device = "file:/srv/iso.img"
read_only = true
removable = true
serial = "ISO-1"

[[target]]
name = "scratch"
iqn = "iqn.2026-12.io.glint:Scratch"
[[target.lun]]
device = "ram:"
size = 1048576
"#;

#[test]
fn a_whole_configuration_is_read() {
    let Loaded { config, warnings } = load(FULL).unwrap();
    assert_eq!(&*config.node.id, "node1");
    assert_eq!(config.node.state_dir, Path::new("/srv/glint"));
    let portal = &config.portals[0];
    let texts = |endpoints: &[Endpoint]| endpoints.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&portal.listen), ["0.0.0.0:3260", "[::1]:3261"]);
    assert_eq!(texts(&portal.advertise), ["storage.example.net:3260", "[2001:db8::1]:3260"]);
    assert_eq!((portal.group_tag, config.portals[1].group_tag), (2, 1));
    assert_eq!(config.api, None);
    assert_eq!(config.log, Log { format: LogFormat::Json, level: "info,glint=debug".into() });
    assert_eq!(config.limits.max_connections, 10);
    assert_eq!(config.limits.connections_per_session, 16);
    assert_eq!(config.limits.login_timeout, Duration::from_secs(5));
    assert_eq!(config.limits.bytes_in_flight, 64 << 20);
    assert_eq!(config.limits.max_recv_data_segment, 64 << 10);
    assert_eq!(config.limits.nop_interval, Limits::default().nop_interval);

    let [db, scratch] = config.targets.as_slice() else { panic!("two targets") };
    assert_eq!(&*db.iqn, "iqn.2001-04.com.example:db");
    assert_eq!(db.alias.as_deref(), Some("the database"));
    assert_eq!(db.initiators.0, ["iqn.1993-08.org.debian:*", "eui.0123456789abcdef"]);
    let numbers: Vec<_> = db.luns.iter().map(|lun| lun.number).collect();
    assert_eq!(numbers, [3, 0]);
    assert!(db.luns[0].grow && db.luns[0].preallocate && db.luns[0].block_size == 4096);
    assert_eq!(db.luns[0].provisioning, Provisioning::Full);
    assert_eq!(db.luns[1].provisioning, Provisioning::Thin);
    assert!(db.luns[1].read_only && db.luns[1].removable);
    assert_eq!(&*scratch.iqn, "iqn.2026-12.io.glint:scratch");
    assert_eq!(scratch.luns[0].size, Some(1 << 20));

    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].message.contains("scratch") && warnings[0].message.contains("0.0.0.0:3260"));
}

/// The configuration that is shipped to be copied from shows every limit with its default.
#[test]
fn the_example_is_valid_and_up_to_date() {
    let text = include_str!("../../examples/glint.toml");
    let config = load(text).unwrap().config;
    assert_eq!(config.limits, Limits::default());
    let defaults = load("").unwrap().config;
    assert_eq!((config.log, config.api), (defaults.log, defaults.api));
    let limits = format!("{:?}", config.limits);
    let names = limits.split(['{', ',']).filter_map(|part| part.split_once(':')).map(|(name, _)| name.trim());
    for name in names {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} = "))), "{name} is not shown");
    }
}

/// What the README tells users to write is taken as it stands, but for where the secrets lie.
#[test]
fn the_readme_is_valid() {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let secrets = TempDir::new().unwrap();
    fs::write(secrets.path().join("db-chap"), "an initiator's secret").unwrap();
    fs::write(secrets.path().join("db-mutual"), "the target's own secret").unwrap();
    let loaded = load(&text.replace("/run/secrets", &secrets.path().display().to_string())).unwrap();
    assert_eq!(loaded.config.targets[0].iqn.to_string(), "iqn.2026-12.io.glint:db");
}

#[test]
fn defaults_are_on_loopback() {
    let config = load("").unwrap().config;
    assert_eq!(config.portals[0].listen[0].to_string(), "127.0.0.1:3260");
    assert_eq!(config.api.unwrap().to_string(), "127.0.0.1:9480");
    assert!(config.targets.is_empty());
    assert_eq!(config.limits, Limits::default());
}

#[test]
fn reading_twice_gives_equal_values() {
    assert!(load(FULL).unwrap() == load(FULL).unwrap());
    assert!(load(FULL).unwrap().config != load("").unwrap().config);
}

#[test]
fn every_fault_is_told_with_its_line() {
    let text = r#"colour = "green"
iqn_base = "glint"
[node]
id = "a b"
state_dir = "relative"
[[portal]]
listen = "0.0.0.0"
advertise = ["0.0.0.0:1", "x:0", "::1"]
group_tag = 0
[[portal]]
[api]
listen = "of"
[log]
format = "xml"
level = "glint=loud"
[limits]
login_timeout = "0s"
command_window = 0
nop_interval = 5
[discovery.chap]
[[target]]
name = "a_b"
initiators = []
[[target]]
name = "empty"
[[target]]
name = "luns"
[[target.lun]]
device = "disk"
[[target.lun]]
device = "ram:"
block_size = 1024
[[target.lun]]
device = "file:/a"
size = "1000"
[target.chap]
user = "u"
"#;
    let found = load(text).unwrap_err();
    let expected = [
        ("f:1: ", "unknown key `colour`"),
        ("f:2: ", "iSCSI name"),
        ("f:4: ", "node id"),
        ("f:5: ", "absolute"),
        ("f:7: ", "lacks its port"),
        ("f:8: ", "0.0.0.0:1"),
        ("f:8: ", "x:0"),
        ("f:8: ", "bracket"),
        ("f:9: ", "between 1 and 65535"),
        ("f:10: ", "lacks `listen`"),
        ("f:12: ", "off"),
        ("f:14: ", "human"),
        ("f:15: ", "level"),
        ("f:17: ", "between 1s and"),
        ("f:18: ", "between 1 and 4096"),
        ("f:19: ", "duration"),
        ("f:20: ", "lacks `user`"),
        ("f:22: ", "target name"),
        ("f:21: ", "no logical unit"),
        ("f:23: ", "empty list"),
        ("f:24: ", "no logical unit"),
        ("f:29: ", "no device"),
        ("f:31: ", "needs a size"),
        ("f:32: ", "512 or 4096"),
        ("f:35: ", "no multiple"),
        ("f:37: ", "secret_file"),
    ];
    for (line, words) in expected {
        assert!(
            found.iter().any(|fault| fault.starts_with(line) && fault.contains(words)),
            "{line}{words} in\n{found:#?}"
        );
    }
    assert!(found.iter().all(|fault| expected.iter().any(|(line, _)| fault.starts_with(line))), "{found:#?}");
    assert!(
        found.is_sorted_by_key(|fault| fault.split(':').nth(1).and_then(|line| line.parse::<usize>().ok()))
    );
}

fn target(name: &str, rest: &str) -> String {
    format!("[[target]]\nname = \"{name}\"\n{rest}\n")
}

#[test]
fn nothing_may_be_there_twice() {
    let lun = |device: &str, rest: &str| format!("[[target.lun]]\ndevice = \"{device}\"\n{rest}\n");
    let ram = lun("ram:", "size = 4096");
    let cases = [
        (target("a", &ram) + &target("A", &ram), "the name A is taken"),
        (target("a", &ram) + &target("b", &format!("iqn = \"iqn.2026-12.io.glint:a\"\n{ram}")), "the IQN"),
        (target("a", &(ram.clone() + &ram)), "LUN 0 already"),
        (
            target("a", &lun("file:/x", "")) + &target("b", &lun("file:/x", "read_only = true")),
            "used already, in line 3",
        ),
        (
            target("a", &lun("gluster://g1,g2/v/x", "")) + &target("b", &lun("gluster://g2/v/x", "")),
            "used already, in line 3",
        ),
        (
            target("a", &lun("ram:", "size = 4096\nserial = \"S\""))
                + &target("b", &lun("ram:", "size = 4096\nserial = \"S\"")),
            "the serial number S",
        ),
        ("[[portal]]\nlisten = [\"a:1\", \"A:1\"]\n".into(), "bound twice"),
    ];
    for (text, words) in cases {
        let found = load(&text).unwrap_err();
        assert!(found.len() == 1 && found[0].contains(words), "{words} in {found:?}\n{text}");
    }
    let read_only = lun("file:/x", "read_only = true");
    assert!(load(&(target("a", &read_only) + &target("b", &read_only))).is_ok());
}

#[test]
fn flags_win_over_the_file() {
    let text =
        "iqn_base = \"iqn.2001-04.com.example\"\n[[portal]]\nlisten = \"a:1\"\n[[portal]]\nlisten = \"b:1\"\n"
            .to_owned() + &target("a", "[[target.lun]]\ndevice = \"ram:\"\nsize = 4096");
    let mut given = flags(&["127.0.0.1:0", "[::1]"], &["b=ram:,size=1MiB"]);
    given.advertise = vec!["public.example".into()];
    given.api = Some("off".into());
    let config = load_with(&text, given).unwrap().config;
    let [portal] = config.portals.as_slice() else { panic!("one portal") };
    assert_eq!(portal.listen[1].to_string(), "[::1]:3260");
    assert_eq!(portal.advertise[0].to_string(), "public.example:3260");
    assert_eq!(config.api, None);
    let iqns: Vec<_> = config.targets.iter().map(|target| target.iqn.to_string()).collect();
    assert_eq!(iqns, ["iqn.2001-04.com.example:a", "iqn.2001-04.com.example:b"]);
}

#[test]
fn faults_of_flags_name_the_flag() {
    let mut given = flags(&["host:x"], &["a=ram:"]);
    given.api = Some("::".into());
    given.advertise = vec!["a b".into()];
    let found = load_with("[node]\nid = 1\n", given).unwrap_err();
    for start in ["f:2: ", "--listen host:x: ", "--volume a=ram:: ", "--api ::: ", "--advertise a b: "] {
        assert!(found.iter().any(|fault| fault.starts_with(start)), "{start} in {found:#?}");
    }
    let doubled = flags(&[], &["a=ram:,size=4096", "a=ram:,size=4096"]);
    assert!(load_with("", doubled).unwrap_err()[0].contains("is taken already, by --volume a="));
    let mut ambiguous = flags(&[], &[]);
    ambiguous.advertise = vec!["x".into()];
    let text = "[[portal]]\nlisten = \"a:1\"\n[[portal]]\nlisten = \"b:1\"\n";
    assert!(load_with(text, ambiguous).unwrap_err()[0].contains("several portals"));
}

#[test]
fn without_anything_to_serve_there_is_a_hint() {
    let faults = ConfigSource::default().load().unwrap_err();
    assert!(faults.to_string().contains("--volume NAME=DEVICE"));
    let missing = ConfigSource { file: Some("/nowhere/glint.toml".into()), flags: Flags::default() };
    assert!(missing.load().unwrap_err().to_string().starts_with("/nowhere/glint.toml: cannot read"));
}

#[test]
fn open_targets_beyond_loopback_are_warned_about() {
    let warnings =
        |listen: &str| load_with("", flags(&[listen], &["a=ram:,size=4096"])).unwrap().warnings.len();
    assert_eq!(["127.0.0.1", "[::1]", "localhost"].map(warnings), [0, 0, 0]);
    assert_eq!(["0.0.0.0", "[::]", "192.0.2.1", "host"].map(warnings), [1, 1, 1, 1]);
}

/// A target with these lines, and a LUN or none.
fn db(lines: &str, lun: &str) -> String {
    format!("[[portal]]\nlisten = \"127.0.0.1:3260\"\n[[target]]\nname = \"db\"\n{lines}\n{lun}")
}

const LUN: &str = "[[target.lun]]\ndevice = \"ram:\"\nsize = \"1MiB\"\n";

#[test]
fn targets_by_network_and_portal_group() {
    let loaded = load(&db("networks = [\"10.0.0.0/8\", \"::1\"]\ngroups = 1", LUN)).unwrap();
    let read = &loaded.config.targets[0];
    assert_eq!(read.networks.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.0/8", "::1/128"]);
    assert_eq!(read.groups, [1]);
    assert!(!read.is_open() && read.serves_group(1) && !read.serves_group(2));
    for (lines, told) in [
        ("networks = []", "is an empty list"),
        ("networks = [\"10.0.0.1/8\"]", "f:5: `networks`: \"10.0.0.1/8\" has bits beyond its prefix"),
        ("networks = 10", "f:5: `networks`: this is a number"),
        ("groups = [2]", "no [[portal]] has group_tag = 2"),
        ("groups = []", "is an empty list"),
        ("groups = [70000]", "out of range"),
    ] {
        let faults = load(&db(lines, LUN)).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(told), "{told}: {faults:?}");
    }
}

/// A target that is served elsewhere needs no units here, and those that it has are not opened: the other place has them.
#[test]
fn targets_that_are_served_elsewhere() {
    for lun in ["", LUN] {
        let loaded = load(&db("[target.redirect]\nto = \"b.example:3260\"\npermanent = true", lun)).unwrap();
        let read = &loaded.config.targets[0];
        let redirect = read.redirect.as_ref().unwrap();
        assert_eq!((redirect.to.to_string().as_str(), redirect.permanent), ("b.example:3260", true));
        assert!(read.luns.is_empty());
    }
    for (lines, told) in [
        ("[target.redirect]", "lacks `to`"),
        ("[target.redirect]\nto = \"b.example\"", "lacks its port"),
        ("[target.redirect]\nto = \"0.0.0.0:3260\"", "f:6: `to`: initiators cannot connect to"),
        ("[target.redirect]\nto = \"[fe80::1%lo]:3260\"", "the zone in"),
        ("[target.redirect]\nto = \"127.0.0.1:3260\"", "is redirected to this node itself"),
        ("[target.redirect]\nto = \"b:1\"\npermanent = \"yes\"", "true or false is wanted"),
    ] {
        let faults = load(&db(lines, "")).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(told), "{told}: {faults:?}");
    }
    let broken = "[[target.lun]]\ndevice = \"tape:\"\n";
    assert!(
        load(&db("[target.redirect]\nto = \"b:1\"", broken)).is_err(),
        "what is kept for later is checked"
    );
}

#[test]
fn addresses_that_cannot_be_bound_or_told() {
    for (portal, told) in [
        ("listen = \"[fe80::1]:3260\"", "add the interface"),
        ("listen = \"127.0.0.1:1\"\nadvertise = \"[fe80::1%lo]:3260\"", "the zone in [fe80::1%lo]:3260"),
        ("listen = \"127.0.0.1:1\"\nadvertise = \"[::]:3260\"", "initiators cannot connect to [::]:3260"),
        ("listen = \"127.0.0.1:1\"\nadvertise = \"a:0\"", "initiators cannot connect to a:0"),
    ] {
        let faults = load(&format!("[[portal]]\n{portal}\n")).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(told), "{told}: {faults:?}");
    }
    let advertise = vec!["0.0.0.0".into()];
    let faults =
        load_with("", Flags { advertise, ..flags(&["127.0.0.1"], &["a=null:,size=1GiB"]) }).unwrap_err();
    assert!(faults[0].starts_with("--advertise 0.0.0.0: initiators cannot connect"), "{faults:?}");
}
