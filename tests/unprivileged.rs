//! The released binary needs no privilege: another uid, no capabilities and no way to gain any.

use glint_testkit::fio::Verify;
use glint_testkit::glint::Glint;
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};

#[test]
fn glint_serves_a_gluster_volume_with_nothing_but_a_uid() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    let mut glint = Glint::serve()
        .unprivileged()
        .volume(&format!("disk={},size=64MiB", volume.uri("/blocks/deep/disk.img")))
        .start();

    let facts = [("Uid:", "65532"), ("Gid:", "65532"), ("NoNewPrivs:", "1")];
    let none = ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"].map(|set| (set, "0000000000000000"));
    for (field, value) in facts.into_iter().chain(none) {
        assert_eq!(glint.status(field), value, "{field}");
    }

    Verify::default().run(&glint.url("disk"));
    assert_eq!(glint.terminate().code(), Some(0), "{}", glint.log());
}
