//! The wrapper against a real GlusterFS.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod durability;
mod faults;
mod fencing;
mod frozen;
mod io;
mod names;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use glint_gfapi::{File, Host, LogLevel, OpenOptions, Volume, VolumeConfig};
use glint_testkit::gluster::{GlusterCluster, GlusterVolume, VolumeSpec};

/// The size of the tests' blocks: a multiple of any brick's sector.
const BLOCK: usize = 4096;

/// A cluster of its own with one volume.
fn gluster(spec: &VolumeSpec) -> GlusterVolume {
    GlusterCluster::start().unwrap().create_volume("blocks", spec).unwrap()
}

fn config(volume: &GlusterVolume) -> VolumeConfig {
    let mut config =
        VolumeConfig::new(volume.name(), vec![Host::new(volume.cluster().address().to_string())]);
    config.log_level = LogLevel::Error;
    config
}

async fn connect(volume: &GlusterVolume) -> Volume {
    within(20, Volume::connect(config(volume))).await.unwrap()
}

/// A new file of `size` bytes, all hole.
async fn new_file(volume: &Volume, path: &str, size: u64) -> File {
    let file = volume.create(path, OpenOptions::default()).await.unwrap();
    file.truncate(size).await.unwrap();
    file
}

/// A block that tells where it belongs.
fn block(number: u64) -> Bytes {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(BLOCK / 8).into()
}

/// Nothing here may hang: fails the test after so many seconds.
async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("took too long")
}
