use super::*;
use crate::config::Provisioning;
use glint_target_core::lun::space::LowSpace;
use glint_target_core::lun::throttle::{Limit, Limits};

fn read(text: &str) -> Result<TargetConfig, Vec<String>> {
    let mut findings = Findings::default();
    let base = "iqn.2026-12.io.glint".parse().unwrap();
    let target = read_volume(&mut findings, text, &base);
    let faults: Vec<_> = findings.faults.iter().map(|fault| fault.display(None).to_string()).collect();
    match target {
        Some(draft) if faults.is_empty() => Ok(draft.target.value),
        _ => Err(faults),
    }
}

#[test]
fn a_volume_is_a_target_with_lun_0() {
    let target = read(
        "disk=file:/srv/a.img,size=1GiB,block_size=4096,read_only,removable,provisioning=full,serial=X-1",
    )
    .unwrap();
    assert_eq!(&*target.iqn, "iqn.2026-12.io.glint:disk");
    assert!(target.is_open());
    let lun = &target.luns[0];
    assert_eq!((lun.number, lun.size, lun.block_size), (0, Some(1 << 30), 4096));
    assert!(lun.read_only && lun.removable && !lun.grow && !lun.preallocate);
    assert_eq!(lun.provisioning, Provisioning::Full);
    assert_eq!(target.identity(lun).serial, "X-1");
}

#[test]
fn what_a_volume_tells_of_blocks_and_space() {
    let lun =
        |options: &str| read(&format!("a=file:/x,size=1MiB,{options}")).map(|target| target.luns[0].clone());
    assert_eq!(
        lun("shrink").map(|lun| (lun.shrink, lun.low_space, lun.physical_block_size)),
        Ok((true, None, None))
    );
    assert_eq!(lun("physical_block_size=512").unwrap().physical_block_size, Some(512));
    assert_eq!(lun("block_size=4096,physical_block_size=4KiB").unwrap().physical_block_size, Some(4096));
    assert_eq!(lun("low_space=10%").unwrap().low_space, Some(LowSpace::Percent(10)));
    for options in [
        "physical_block_size=256",
        "physical_block_size=1000",
        "physical_block_size=128KiB",
        "block_size=4096,physical_block_size=512",
        "low_space=110%",
        "low_space",
        "low_space=10%,provisioning=full",
        "read_only,shrink",
    ] {
        assert_eq!(lun(options).unwrap_err().len(), 1, "{options}");
    }
}

#[test]
fn what_a_volume_may_do_in_a_second() {
    let limits = |options: &str| read(&format!("a=null:,size=1MiB,{options}")).map(|it| it.luns[0].limits);
    let limit = |rate, burst| Some(Limit { rate, burst });
    assert_eq!(limits("read_only"), Ok(Limits::NONE));
    assert_eq!(
        limits(
            "max_iops=5000,max_bytes_per_second=100MiB,bytes_burst=1GiB,max_read_bytes_per_second=1MB,max_write_bytes_per_second=64KiB"
        ),
        Ok(Limits {
            iops: limit(5000, 500),
            bytes: limit(100 << 20, 1 << 30),
            read_bytes: limit(1_000_000, 100_000),
            write_bytes: limit(64 << 10, 6553),
        })
    );
    for options in ["max_iops=1k", "max_iops", "iops_burst=3", "max_bytes_per_second=1KiB", "max_iops=-1"] {
        assert_eq!(limits(options).unwrap_err().len(), 1, "{options}");
    }
}

#[test]
fn commas_belong_to_hosts_and_doubled_to_paths() {
    let device = |text| read(text).unwrap().luns[0].device.to_string();
    assert_eq!(device("a=gluster://h1,h2:1/vol/x,size=1GiB"), "gluster://h1,h2:1/vol/x");
    assert_eq!(device("a=gluster+tcp://h1,h2/vol/x"), "gluster://h1,h2/vol/x");
    assert_eq!(device("a=file:/srv/a,,b=c,size=1GiB"), "file:/srv/a,b=c");
    assert_eq!(device("a=gluster://h/vol/x,,y,grow,size=1GiB"), "gluster://h/vol/x,y");
}

#[test]
fn every_fault_of_a_volume_is_told() {
    let faults = read("a b=ram:,sise=1GiB,read_only=maybe,block_size").unwrap_err();
    assert_eq!(faults.len(), 5, "{faults:#?}");
    assert!(faults.iter().all(|fault| fault.starts_with("--volume a b=ram:,")), "{faults:#?}");
    for word in ["target name", "sise", "maybe", "block_size", "needs a size"] {
        assert!(faults.iter().any(|fault| fault.contains(word)), "{word} in {faults:#?}");
    }
    assert!(read("ram:").is_err());
    assert!(read("a=disk").is_err());
    assert!(read("a=ram:,size=1000").is_err());
    assert!(read("a=ram:,size=0").is_err());
    assert!(read("a=file:/x,grow").is_err());
    assert!(read("a=ram:,size=1MiB,provisioning=thick").is_err());
    assert!(read("a=ram:,size=1MiB,read_only=false").is_ok_and(|target| !target.luns[0].read_only));
}

#[test]
fn identities_last_and_differ() {
    let identity = |text| {
        let target = read(text).unwrap();
        target.identity(&target.luns[0])
    };
    let first = identity("a=ram:,size=1MiB");
    assert_eq!(first, identity("a=file:/elsewhere,size=2MiB"), "neither device nor size matters");
    assert_ne!(first, identity("b=ram:,size=1MiB"));
    assert_eq!(first.naa >> 60, 3);
    // Initiators know units by these: they may never change.
    assert_eq!((first.serial.as_str(), first.naa), IDENTITY_OF_A);
    assert_eq!(identity("a=null:,size=1MiB,serial=S").naa, identity("b=null:,size=1MiB,serial=S").naa);
}

const IDENTITY_OF_A: (&str, u64) = ("39059f5d6e8df27c", 0x3390_59f5_d6e8_df27);
