//! fio writes through its libiscsi engine, each block with its checksum, and reads all of it back.

use glint_testkit::fio::Verify;
use glint_testkit::glint::Glint;
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};

#[test]
fn on_a_ram_volume() {
    let glint = Glint::with_volume("disk=ram:,size=128MiB");
    Verify { size: 128 << 20, depth: 32, ..Verify::default() }.run(&glint.url("disk"));
}

#[test]
fn on_a_file_volume() {
    let glint = Glint::serve();
    let volume = format!("disk=file:{}/disk.img,size=64MiB", glint.dir().display());
    let glint = glint.volume(&volume).start();
    Verify { size: 64 << 20, ..Verify::default() }.run(&glint.url("disk"));
}

#[test]
fn on_a_file_volume_in_single_blocks() {
    let glint = Glint::serve();
    let volume = format!("disk=file:{}/disk.img,size=4MiB", glint.dir().display());
    let glint = glint.volume(&volume).start();
    // Neither aligned to a page nor a multiple of one: direct I/O has to cope.
    Verify { size: 4 << 20, request: (512, 8 << 10), ..Verify::default() }.run(&glint.url("disk"));
}

#[test]
fn on_a_gluster_volume() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    let glint = Glint::with_volume(&format!("disk={},size=64MiB", volume.uri("/disk.img")));
    Verify::default().run(&glint.url("disk"));
}

#[test]
fn on_a_sharded_gluster_volume() {
    let cluster = GlusterCluster::start().unwrap();
    let spec = VolumeSpec { sharded: true, ..VolumeSpec::default() };
    let volume = cluster.create_volume("vol", &spec).unwrap();
    let glint = Glint::with_volume(&format!("disk={},size=64MiB", volume.uri("/disk.img")));
    Verify::default().run(&glint.url("disk"));
}
