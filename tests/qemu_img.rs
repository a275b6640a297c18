//! qemu-img copies an image into a volume and out of it again, and nothing is lost.

use std::fs;

use glint_testkit::data;
use glint_testkit::glint::{Builder, Glint};
use glint_testkit::gluster::{GlusterCluster, VolumeSpec};
use glint_testkit::tools::qemu_img;

const SIZE: usize = 48 << 20;

fn copies_there_and_back(glint: Builder, device: &str) {
    let glint = glint.volume(&format!("disk={device},size=48MiB")).start();
    let url = glint.url("disk");
    let path = |name: &str| glint.dir().join(name).display().to_string();
    let (source, copy) = (path("source.img"), path("copy.img"));
    for seed in 0..2 {
        // The second image meets the first one's data where it has zeros itself.
        let image = data::image(seed, SIZE);
        assert!(fs::write(&source, &image).is_ok(), "cannot write {source}");
        qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", &source, &url]);
        qemu_img(&["convert", "-f", "raw", "-O", "raw", &url, &copy]);
        assert!(fs::read(&copy).is_ok_and(|copied| copied == image), "image {seed} came back changed");
        qemu_img(&["compare", "-f", "raw", "-F", "raw", &source, &url]);
    }
}

#[test]
fn of_a_ram_volume() {
    copies_there_and_back(Glint::serve(), "ram:");
}

#[test]
fn of_a_file_volume() {
    let glint = Glint::serve();
    let device = format!("file:{}/volume.img", glint.dir().display());
    copies_there_and_back(glint, &device);
}

#[test]
fn of_a_gluster_volume() {
    let cluster = GlusterCluster::start().unwrap();
    let volume = cluster.create_volume("vol", &VolumeSpec::default()).unwrap();
    copies_there_and_back(Glint::serve(), &volume.uri("/blocks/volume.img"));
}
