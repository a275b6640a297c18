//! Which addresses and targets an initiator is told of, by where it comes from and where it comes to; and what discovery has to prove.

use std::fs;
use std::time::Duration;

use glint_testkit::glint::{self, Glint};
use glint_testkit::tools::{Finished, libiscsi, tool};
use glint_testkit::wait;

const LIMIT: Duration = Duration::from_secs(20);

fn ram(name: &str, more: &str) -> String {
    format!("[[target]]\nname = \"{name}\"\n{more}\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"1MiB\"\n\n")
}

fn discover(portal: impl std::fmt::Display) -> String {
    libiscsi("iscsi-ls", &[&format!("iscsi://{portal}")])
}

fn inquire(portal: impl std::fmt::Display, volume: &str) -> Finished {
    tool("iscsi-inq", [&format!("iscsi://{portal}/{}:{volume}/0", glint::IQN_BASE)], LIMIT)
}

/// A portal on all addresses of both families tells each initiator the address that it came by.
#[test]
fn a_wildcard_portal_serves_both_families() {
    let builder = Glint::serve();
    let port = builder.portal().port();
    let portals = format!("[[portal]]\nlisten = \"[::]:{port}\"\n");
    let glint = builder.portals(&portals).start_with_config(&ram("disk", ""));
    for portal in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        let listed = libiscsi("iscsi-ls", &["-s", &format!("iscsi://{portal}")]);
        assert!(listed.contains(&format!("io.glint:disk Portal:{portal},1")), "{listed}");
        assert!(listed.contains("Type:DIRECT_ACCESS") && listed.matches("Portal:").count() == 1, "{listed}");
    }
    drop(glint);
}

/// A wildcard of each family on one port: they do not get into each other's way.
#[test]
fn wildcards_of_both_families_share_a_port() {
    let builder = Glint::serve();
    let port = builder.portal().port();
    let portals = format!(
        "[[portal]]\nlisten = \"[::]:{port}\"\ngroup_tag = 6\n\n[[portal]]\nlisten = \"0.0.0.0:{port}\"\ngroup_tag = 4\n"
    );
    let glint = builder.portals(&portals).start_with_config(&ram("disk", ""));
    let by_v4 = discover(format!("127.0.0.1:{port}"));
    assert!(by_v4.contains(&format!("Portal:127.0.0.1:{port},4")), "{by_v4}");
    inquire(format!("[::1]:{port}"), "disk").success();
    let by_v6 = discover(format!("[::1]:{port}"));
    assert!(by_v6.contains(&format!("Portal:[::1]:{port},6")) && !by_v6.contains(",4"), "{by_v6}");
    drop(glint);
}

#[test]
fn targets_are_told_with_the_portal_groups_that_serve_them() {
    let builder = Glint::serve();
    let (one, two) = (builder.portal(), glint::loopback());
    let portals = format!(
        "[[portal]]\nlisten = \"{one}\"\ngroup_tag = 1\n\n[[portal]]\nlisten = \"{two}\"\nadvertise = [\"{two}\", \
         \"storage.example.net:860\", \"[2001:db8::7]:3260\"]\ngroup_tag = 20\n"
    );
    let targets = ram("both", "") + &ram("second", "groups = [20]");
    let mut glint = builder.portals(&portals).start_with_config(&targets);
    let second = format!("Portal:{two},20");
    for portal in [one, two] {
        let listed = discover(portal);
        let blocks: Vec<&str> = listed.split("Target:").collect();
        let of = |name: &str| {
            blocks
                .iter()
                .filter(|block| block.contains(&format!("io.glint:{name} ")))
                .copied()
                .collect::<String>()
        };
        assert!(of("both").contains(&format!("Portal:{one},1")) && of("both").contains(&second), "{listed}");
        assert!(of("second").contains(&second) && !of("second").contains(&one.to_string()), "{listed}");
        for told in ["storage.example.net:860,20", "[2001:db8::7]:3260,20"] {
            assert_eq!(listed.matches(told).count(), 2, "{told}:\n{listed}");
        }
    }
    for (portal, name, found) in
        [(one, "both", true), (two, "both", true), (one, "second", false), (two, "second", true)]
    {
        assert_eq!(inquire(portal, name).status.success(), found, "{name} at {portal}");
    }

    // Each group is a SCSI target port of its own, with the tag in its name and for its relative identifier.
    for (portal, tag) in [(one, "0x0001"), (two, "0x0014")] {
        let url = format!("iscsi://{portal}/{}:both/0", glint::IQN_BASE);
        let told = libiscsi("iscsi-inq", &["-e", "1", "-c", "131", &url]);
        assert!(told.contains(&format!("iqn.2026-12.io.glint:both,t,{tag}")), "{told}");
    }

    // A group in front of it changes nothing for those that stay; a session through a group that no longer serves a target ends.
    glint.reconfigure(&(ram("both", "groups = [20]") + &ram("second", "groups = [20]")));
    wait::until("the first portal no longer serves it", LIMIT, || !inquire(one, "both").status.success());
    inquire(two, "both").success();
    glint.reconfigure(&ram("both", "groups = [7]"));
    glint.wait_for_log("no [[portal]] has group_tag = 7", LIMIT);
    inquire(two, "both").success();
}

#[test]
fn targets_are_told_by_the_network_that_one_comes_from() {
    let builder = Glint::serve();
    let port = builder.portal().port();
    let portals = format!("[[portal]]\nlisten = \"[::]:{port}\"\n");
    let targets = |v4: &str| {
        ram("four", &format!("networks = [{v4}]")) + &ram("six", "networks = \"::1\"") + &ram("any", "")
    };
    let mut glint = builder.portals(&portals).start_with_config(&targets("\"127.0.0.0/8\""));
    let (v4, v6) = (format!("127.0.0.1:{port}"), format!("[::1]:{port}"));
    for (portal, seen, hidden) in [(&v4, "four", "six"), (&v6, "six", "four")] {
        let listed = discover(portal);
        assert!(
            listed.contains(&format!("io.glint:{seen} ")) && listed.contains("io.glint:any "),
            "{listed}"
        );
        assert!(!listed.contains(&format!("io.glint:{hidden} ")), "{listed}");
        inquire(portal, seen).success();
        let refused = inquire(portal, hidden).failure();
        assert!(
            refused.contains("0202")
                || refused.contains("(514)")
                || refused.to_lowercase().contains("authorization"),
            "{refused}"
        );
    }
    glint.wait_for_log("the initiator is not allowed to use the target", LIMIT);

    // Who may no longer be there is put out at a reload.
    let url = format!("iscsi://{v4}/{}:four/0", glint::IQN_BASE);
    let mut session = glint_testkit::process::Process::start(
        std::process::Command::new("iscsi-perf").args(["-m", "4", "-x", "0", "-t", "30", &url]),
    );
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));
    glint.reconfigure(&targets("\"10.0.0.0/8\", \"127.0.0.2\""));
    let (status, output) = session.finish(LIMIT);
    assert!(!status.success(), "the session went on:\n{output}");
    assert!(!discover(&v4).contains("io.glint:four "));
}

/// What discovery has to prove and what a target wants are apart, in both directions.
#[test]
fn discovery_has_its_own_secrets() {
    let builder = Glint::serve();
    for (name, secret) in [
        ("finder", "finder-secret-01"),
        ("told", "told-secret-0002"),
        ("user", "user-secret-0003"),
        ("disk", "disk-secret-0004"),
    ] {
        fs::write(builder.dir().join(name), secret).unwrap();
    }
    let chap = |section: &str, user: &str, mutual: &str| {
        format!(
            "[{section}.chap]\nuser = \"{user}\"\nsecret_file = \"{user}\"\nmutual_user = \"{mutual}\"\n\
             mutual_secret_file = \"{mutual}\"\n\n"
        )
    };
    let targets = chap("discovery", "finder", "told")
        + &ram("open", "")
        + &ram("closed", "").replace("[[target.lun]]", &(chap("target", "user", "disk") + "[[target.lun]]"));
    let glint = builder.start_with_config(&targets);
    let find = |who: &str, back: &str| {
        tool("iscsi-ls", [&format!("iscsi://{who}{}{back}", glint.portal())], LIMIT).status.success()
    };
    let (finder, user) = ("finder%finder-secret-01@", "user%user-secret-0003@");
    let back = |user: &str, secret: &str| format!("/?target_user={user}&target_password={secret}");
    assert!(!find("", ""), "discovery without a secret");
    assert!(!find(user, ""), "discovery with a target's secret");
    assert!(!find("finder%wrong-secret-01@", ""));
    assert!(find(finder, ""));
    assert!(find(finder, &back("told", "told-secret-0002")), "the node proves itself in discovery too");
    assert!(!find(finder, &back("disk", "disk-secret-0004")), "and with its own secret for that");
    let log_in = |who: &str, volume: &str, back: &str| {
        let portal = glint.portal();
        let url =
            format!("iscsi://{who}{portal}/{}:{volume}/0{}", glint::IQN_BASE, back.trim_start_matches('/'));
        tool("iscsi-inq", [&url], LIMIT).status.success()
    };
    assert!(log_in("", "open", "") && !log_in("", "closed", ""));
    assert!(log_in(user, "closed", "") && !log_in(finder, "closed", ""), "a target has its own secret");
    assert!(log_in(user, "closed", &back("disk", "disk-secret-0004")));
    assert!(!log_in(user, "closed", &back("told", "told-secret-0002")), "the target's own proof");
    let log = glint.log();
    assert!(!log.contains("-secret-"), "{log}");
}
