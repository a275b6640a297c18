//! QEMU's iSCSI driver on a volume as a guest's disk has it: what a guest discards and zeroes reaches the volume, and QEMU sees which
//! blocks have space.

#![allow(clippy::expect_used)]

use std::time::Duration;

use glint_testkit::glint::{Builder, Glint};
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::tools::{qemu_img, tool};

const MIB: u64 = 1 << 20;

/// Run commands of qemu-io on the disk, of which none may fail.
#[track_caller]
fn qemu_io(url: &str, commands: &[&str]) {
    let mut arguments = vec!["--image-opts", "-t", "none"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let (portal, name) =
        url.strip_prefix("iscsi://").and_then(|rest| rest.split_once('/')).expect("an iSCSI URL");
    let (target, lun) = name.rsplit_once('/').expect("a unit's number");
    let options = format!(
        "driver=raw,discard=unmap,file.driver=iscsi,file.transport=tcp,file.portal={portal},file.target={target},file.lun={lun},\
         file.discard=unmap"
    );
    arguments.push(&options);
    let told = tool("qemu-io", &arguments, Duration::from_secs(120)).success();
    assert!(!told.contains("failed") && !told.contains("mismatch"), "{commands:?}:\n{told}");
}

/// Which ranges have data, as qemu-img tells.
fn data_of(url: &str) -> Vec<(u64, u64)> {
    let map: serde_json::Value =
        serde_json::from_str(&qemu_img(&["map", "--output=json", "-f", "raw", url])).expect("JSON");
    let ranges = map.as_array().expect("an array").iter();
    let data = ranges.filter(|range| range["data"].as_bool().expect("a flag"));
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for range in data {
        let (start, length) = (number(&range["start"]), number(&range["length"]));
        match merged.last_mut() {
            Some((at, len)) if *at + *len == start => *len += length,
            _ => merged.push((start, length)),
        }
    }
    merged
}

fn discards_and_zeroes(glint: Builder, device: &str) {
    let glint = glint.volume(&format!("disk={device},size=64MiB")).start();
    let url = glint.url("disk");
    qemu_io(&url, &["write -P 0xa5 8M 16M", "flush"]);
    assert_eq!(data_of(&url), [(8 * MIB, 16 * MIB)]);
    // Given back: they read as zeros and have no space.
    qemu_io(&url, &["discard 8M 4M", "write -z -u 20M 4M", "flush"]);
    assert_eq!(data_of(&url), [(12 * MIB, 8 * MIB)]);
    // Zeros that are to keep their space, and a write with FUA.
    qemu_io(&url, &["write -z 12M 1M", "write -f -P 0x5a 13M 64k", "flush"]);
    qemu_io(
        &url,
        &["read -P 0 0 13M", "read -P 0x5a 13M 64k", "read -P 0xa5 13376k 7104k", "read -P 0 20M 44M"],
    );
    let sum: u64 = data_of(&url).iter().map(|(_, length)| length).sum();
    assert!(sum <= 8 * MIB, "zeroing took space: {:?}", data_of(&url));
}

#[test]
fn of_a_ram_volume() {
    discards_and_zeroes(Glint::serve(), "ram:");
}

#[test]
fn of_a_file_volume() {
    let glint = Glint::serve();
    let device = format!("file:{}/volume.img", glint.dir().display());
    discards_and_zeroes(glint, &device);
}

#[test]
fn of_a_gluster_volume() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    discards_and_zeroes(Glint::serve(), &volume.uri("/volume.img"));
}
