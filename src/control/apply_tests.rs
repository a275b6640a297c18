use super::*;
use crate::config::{ConfigSource, Flags};
use glint_target_core::lun::throttle::Passage;
use glint_target_core::scsi::command::DeviceServer;
use glint_target_core::scsi::lun_address::LunAddress;
use std::net::TcpStream;

fn config(volumes: &[&str]) -> Config {
    listening(&["127.0.0.1:0"], volumes)
}

fn listening(listen: &[&str], volumes: &[&str]) -> Config {
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let flags = Flags {
        listen: strings(listen),
        advertise: Vec::new(),
        api: Some("off".into()),
        volumes: strings(volumes),
        // Nothing can be kept there.
        state_dir: Some("/dev/null/glint".into()),
        ..Flags::default()
    };
    ConfigSource { file: None, flags }.load().unwrap().config
}

fn control(config: &Config) -> Control {
    Control::new(config, Arc::new(Metrics::new().unwrap())).unwrap()
}

fn iqn(name: &str) -> String {
    format!("iqn.2026-12.io.glint:{name}")
}

fn size(control: &Control, name: &str) -> Option<u64> {
    let target = control.targets.get(&iqn(name))?;
    Some(target.device.server.local().unit(0)?.device().geometry().size)
}

fn told(failed: &[ApplyError]) -> Vec<String> {
    failed.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn volumes_come_and_go_while_others_stay() {
    let first = config(&["a=ram:,size=1MiB", "b=ram:,size=2MiB"]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    assert!(control.node.readiness().obstacles().is_empty());
    let a = Arc::clone(&control.targets.get(&iqn("a")).unwrap().device);
    let bound = control.bound("127.0.0.1:0".parse().unwrap()).unwrap();
    TcpStream::connect(bound).unwrap();

    let second = config(&["a=ram:,size=1MiB", "c=null:,size=3MiB"]);
    assert_eq!(told(&control.apply(&second).await), [""; 0]);
    assert!(Arc::ptr_eq(&a, &control.targets.get(&iqn("a")).unwrap().device));
    assert_eq!(size(&control, "b"), None);
    assert_eq!(size(&control, "c"), Some(3 << 20));
    let names: Vec<_> =
        control.node.catalog().targets().iter().map(|target| target.name.to_string()).collect();
    assert_eq!(names, [iqn("a"), iqn("c")]);
    assert_eq!(control.bound("127.0.0.1:0".parse().unwrap()), Some(bound));
    let metrics = control.node.metrics().render().unwrap();
    assert!(metrics.contains(&iqn("c")) && !metrics.contains(&iqn("b")));
}

#[tokio::test]
async fn a_volume_grows_and_shrinks_when_told() {
    let directory = tempfile::tempdir().unwrap();
    let volume = |options: &str| format!("v=file:{}/disk.img,{options}", directory.path().display());
    let first = config(&[&volume("size=2MiB")]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    let unit = control.targets.get(&iqn("v")).unwrap().device.server.local().unit(0).unwrap();

    assert_eq!(told(&control.apply(&config(&[&volume("size=4MiB,grow")])).await), [""; 0]);
    assert_eq!(size(&control, "v"), Some(4 << 20));
    let now = control.targets.get(&iqn("v")).unwrap().device.server.local().unit(0).unwrap();
    assert!(Arc::ptr_eq(&unit, &now), "the unit has not been disturbed");

    for (options, complaint) in [("size=1MiB", "without `shrink`"), ("size=8MiB", "add `grow`")] {
        let failed = told(&control.apply(&config(&[&volume(options)])).await);
        assert_eq!(failed.len(), 1);
        assert!(failed[0].starts_with("volume v, LUN 0: ") && failed[0].contains(complaint), "{failed:?}");
        assert_eq!(size(&control, "v"), Some(4 << 20));
    }
    assert_eq!(told(&control.apply(&config(&[&volume("size=1MiB,shrink,low_space=99%")])).await), [""; 0]);
    assert_eq!(size(&control, "v"), Some(1 << 20));
    let now = control.targets.get(&iqn("v")).unwrap().device.server.local().unit(0).unwrap();
    assert!(Arc::ptr_eq(&unit, &now), "the unit has not been disturbed");
}

#[tokio::test(start_paused = true)]
async fn the_space_of_a_volume_is_looked_after() {
    let first = config(&["v=ram:,size=1MiB,low_space=50%"]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    let unit = control.targets.get(&iqn("v")).unwrap().device.server.local().unit(0).unwrap();
    let look = || tokio::time::sleep(std::time::Duration::from_secs(6));
    look().await;
    assert_eq!(unit.space().seen().map(|space| (space.free, space.used)), Some((1 << 20, 0)));
    assert!(!unit.space().is_low());
    unit.device().write(0, &vec![1; 600 << 10].into(), false).await.unwrap();
    look().await;
    assert!(unit.space().is_low());
    // Another threshold takes effect at once, without a word to anybody else.
    assert_eq!(told(&control.apply(&config(&["v=ram:,size=1MiB,low_space=64KiB"])).await), [""; 0]);
    look().await;
    assert!(!unit.space().is_low());
    // Who looks after it does not keep it.
    let left = Arc::downgrade(&unit);
    drop(unit);
    assert_eq!(told(&control.apply(&config(&["w=ram:,size=1MiB"])).await), [""; 0]);
    assert_eq!(left.strong_count(), 0);
}

#[tokio::test]
async fn limits_change_without_disturbing_the_volume() {
    let first = config(&["v=ram:,size=1MiB,max_iops=10", "w=ram:,size=1MiB"]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    let device = |control: &Control, name| Arc::clone(&control.targets.get(&iqn(name)).unwrap().device);
    let (unit, throttling) = {
        let server = &device(&control, "v").server;
        (server.local().unit(0).unwrap(), Arc::clone(server.throttling().unwrap()))
    };
    assert!(throttling.is_any() && !device(&control, "w").server.throttling().unwrap().is_any());
    let now = std::time::Instant::now();
    let passage = Passage {
        lun: LunAddress::from_number(0),
        cdb: &[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        bytes: 512,
        is_urgent: false,
    };
    assert!(throttling.charge(now, &passage).is_none());
    let waiting = throttling.charge(now, &passage).unwrap();
    assert!(waiting.look(now).is_err());

    assert_eq!(
        told(&control.apply(&config(&["v=ram:,size=1MiB", "w=ram:,size=1MiB,max_iops=1"])).await),
        [""; 0]
    );
    assert!(waiting.look(now).is_ok(), "who waits for a limit that is lifted goes on");
    assert!(!throttling.is_any() && device(&control, "w").server.throttling().unwrap().is_any());
    assert!(
        Arc::ptr_eq(&unit, &device(&control, "v").server.local().unit(0).unwrap()),
        "the unit has not been disturbed"
    );
    let metrics = control.node.metrics().render().unwrap();
    let line = format!("glint_volume_throttled_total{{lun=\"0\",target=\"{}\"}}", iqn("v"));
    assert!(metrics.contains(&format!("{line} 0")) || metrics.contains(&format!("{line} 1")), "{metrics}");

    // A volume that goes takes its limits with it, and lets those go who wait.
    let server = device(&control, "w");
    let throttling = server.server.throttling().unwrap();
    assert!(throttling.charge(now, &passage).is_none());
    let waiting = throttling.charge(now, &passage).unwrap();
    assert_eq!(told(&control.apply(&config(&["v=ram:,size=1MiB"])).await), [""; 0]);
    assert!(!throttling.is_any() && waiting.look(now).is_ok());
}

#[tokio::test]
async fn a_device_may_move_to_another_target_in_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let disk = format!("file:{}/disk.img,size=1MiB", directory.path().display());
    let first = config(&[&format!("old={disk}")]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    assert_eq!(told(&control.apply(&config(&[&format!("new={disk}")])).await), [""; 0]);
    assert_eq!((size(&control, "old"), size(&control, "new")), (None, Some(1 << 20)));
}

#[tokio::test]
async fn what_fails_is_told_and_the_rest_is_done() {
    let first = config(&["bad=file:/nowhere/at/all.img", "good=ram:,size=1MiB"]);
    let mut control = control(&first);
    let failed = told(&control.apply(&first).await);
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with("volume bad, LUN 0: "), "{failed:?}");
    assert_eq!(size(&control, "good"), Some(1 << 20));
    assert_eq!(control.node.readiness().obstacles(), ["a volume is not open"]);
    assert_eq!(told(&control.apply(&config(&["good=ram:,size=1MiB"])).await), [""; 0]);
    assert!(control.node.readiness().obstacles().is_empty());
}

#[tokio::test]
async fn portals_come_and_go() {
    let first = listening(&["127.0.0.1:0"], &["a=ram:,size=1MiB"]);
    let mut control = control(&first);
    control.apply(&first).await;
    let old = control.bound("127.0.0.1:0".parse().unwrap()).unwrap();
    let rival = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = rival.local_addr().unwrap().to_string();
    // SO_REUSEADDR does not let two listen on the same port.
    let failed = control.apply(&listening(&["[::1]:0", &taken], &["a=ram:,size=1MiB"])).await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0].to_string().starts_with(&format!("cannot listen on {taken}: ")));
    assert_eq!(control.node.readiness().obstacles(), ["a portal is not bound"]);
    TcpStream::connect(control.bound("[::1]:0".parse().unwrap()).unwrap()).unwrap();
    assert_eq!(control.bound("127.0.0.1:0".parse().unwrap()), None);
    tokio::time::timeout(Duration::from_secs(10), async {
        while TcpStream::connect(old).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the old portal is given up");
}

#[tokio::test]
async fn a_port_may_move_between_a_wildcard_and_an_address() {
    let volumes = ["a=ram:,size=1MiB"];
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = |hosts: &[&str]| {
        let addresses: Vec<_> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
        listening(&addresses.iter().map(String::as_str).collect::<Vec<_>>(), &volumes)
    };
    let mut control = control(&at(&["0.0.0.0"]));
    let steps: [&[&str]; 6] =
        [&["0.0.0.0"], &["127.0.0.1"], &["[::]"], &["[::]", "0.0.0.0"], &["[::]"], &["0.0.0.0"]];
    for hosts in steps {
        assert_eq!(told(&control.apply(&at(hosts)).await), [""; 0], "{hosts:?}");
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Gives the accepting tasks a turn, so that what is closed next is in use.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn what_others_have_made_longer_is_not_cut_by_growing_less() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk.img");
    let volume = |size: &str| format!("v=file:{},size={size},grow", path.display());
    let first = config(&[&volume("1MiB")]);
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4 << 20).unwrap();
    let failed = told(&control.apply(&config(&[&volume("2MiB")])).await);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 << 20);
    assert_eq!(told(&control.apply(&config(&[&volume("8MiB")])).await), [""; 0]);
    assert_eq!(size(&control, "v"), Some(8 << 20));
}

#[tokio::test]
async fn who_is_admitted_no_longer_sees_nothing_that_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("glint.toml");
    let loaded = |initiator: &str| {
        let text = format!(
            "[[portal]]\nlisten = \"127.0.0.1:0\"\n[[target]]\nname = \"t\"\ninitiators = [\"{initiator}\"]\n\
             [[target.lun]]\ndevice = \"ram:\"\nsize = \"1MiB\"\n"
        );
        std::fs::write(&file, text).unwrap();
        ConfigSource { file: Some(file.clone()), flags: Flags::default() }.load().unwrap().config
    };
    let first = loaded("iqn.2026-12.test:old");
    let mut control = control(&first);
    assert_eq!(told(&control.apply(&first).await), [""; 0]);
    let second = loaded("iqn.2026-12.test:new");
    assert_eq!(told(&control.open(&second).await), [""; 0]);
    let catalog = control.node.catalog();
    let target = catalog.target(&iqn("t")).unwrap();
    assert!(!target.access.initiators.admits("iqn.2026-12.test:old"), "units are opened under the new list");
    assert!(target.access.initiators.admits("iqn.2026-12.test:new"));
}

/// Nobody is sent on before the units here are closed; and the way back.
#[tokio::test]
async fn a_target_moves_when_its_units_are_closed() {
    let here = config(&["t=ram:,size=1MiB", "u=ram:,size=1MiB"]);
    let mut control = control(&here);
    assert_eq!(told(&control.apply(&here).await), [""; 0]);
    let whereabouts =
        |control: &Control| control.node.catalog().target(&iqn("t")).unwrap().whereabouts.clone();
    assert_eq!(whereabouts(&control), Whereabouts::Here);

    let mut moved = here.clone();
    let target = &mut moved.targets[0];
    target.luns.clear();
    let to = crate::config::Endpoint::parse("[2001:db8::1]:3260", None).unwrap();
    target.redirect = Some(crate::config::RedirectConfig { to, permanent: true });
    assert_eq!(told(&control.open(&moved).await), [""; 0]);
    assert_eq!((whereabouts(&control), size(&control, "t")), (Whereabouts::Moving, None));
    assert_eq!(told(&control.serve(&moved).await), [""; 0]);
    let there = Redirect { address: "[2001:db8::1]:3260".into(), permanent: true };
    assert_eq!(whereabouts(&control), Whereabouts::Moved(there));
    assert_eq!(size(&control, "u"), Some(1 << 20));

    assert_eq!(told(&control.open(&here).await), [""; 0]);
    assert_eq!(whereabouts(&control), Whereabouts::Moving, "initiators are to see units, or to come again");
    assert_eq!(told(&control.serve(&here).await), [""; 0]);
    assert_eq!((whereabouts(&control), size(&control, "t")), (Whereabouts::Here, Some(1 << 20)));
}
