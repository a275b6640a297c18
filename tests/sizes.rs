//! A device that exists keeps its size: smaller or larger only on request.

use std::fs;
use std::path::Path;

use glint_testkit::glint::{self, Glint};
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::ports::free_port;
use glint_testkit::tools::libiscsi;

const MIB: u64 = 1 << 20;

/// The size that initiators see of a volume made of this device and these options.
fn served(device: &str, options: &str) -> u64 {
    let glint = Glint::with_volume(&format!("disk={device}{options}"));
    let size = libiscsi("iscsi-readcapacity16", &["-s", &glint.url("disk")]);
    size.trim().parse().unwrap_or_else(|_| unreachable!("a size, not {size:?}"))
}

/// What glint says when it refuses to serve that.
fn refused(device: &str, options: &str) -> String {
    let (portal, volume) = (format!("127.0.0.1:{}", free_port()), format!("disk={device}{options}"));
    glint::run(&["serve", "--listen", &portal, "--api", "off", "--volume", &volume]).failure()
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// The rules, for a device whose file can be seen at `path`.
fn obeys_the_rules(device: &str, path: &Path) {
    assert!(!refused(device, "").is_empty(), "a device that is not there needs a size");
    assert_eq!(length(path), None, "a refused device was created");

    assert_eq!(served(device, ",size=16MiB"), 16 * MIB);
    assert_eq!(length(path), Some(16 * MIB));
    assert_eq!(served(device, ""), 16 * MIB);
    assert_eq!(served(device, ",size=16MiB"), 16 * MIB);

    for other in [",size=8MiB", ",size=8MiB,grow", ",size=32MiB"] {
        let said = refused(device, other);
        assert!(
            said.contains("16MiB") || said.contains("16777216"),
            "{other}: no word of the size it has:\n{said}"
        );
        assert_eq!(length(path), Some(16 * MIB), "{other} changed the file");
    }
    assert_eq!(served(device, ",size=32MiB,grow"), 32 * MIB);
    assert_eq!(length(path), Some(32 * MIB));
    assert_eq!(served(device, ",size=16MiB,shrink"), 16 * MIB);
    assert_eq!(length(path), Some(16 * MIB));
}

#[test]
fn of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not/there/yet/disk.img");
    obeys_the_rules(&format!("file:{}", path.display()), &path);
}

#[test]
fn of_a_file_on_gluster() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    let path = volume.brick(0).unwrap().join("not/there/yet/disk.img");
    obeys_the_rules(&volume.uri("/not/there/yet/disk.img"), &path);
}

#[test]
fn of_devices_that_live_in_memory() {
    for device in ["ram:", "null:"] {
        assert!(refused(device, "").contains("size"));
        assert_eq!(served(device, ",size=3MiB"), 3 * MIB);
    }
}
