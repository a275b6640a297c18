//! The device on a real GlusterFS of this machine.

use super::*;
use crate::backend::{Backend, BackendContext, Device, OpenError, OpenOptions, Place, conformance, open};
use crate::config::DeviceSpec;
use glint_testkit::gluster::{GlusterCluster, GlusterVolume as TestVolume, VolumeSpec};

pub(super) fn volume(spec: &VolumeSpec) -> TestVolume {
    GlusterCluster::start().unwrap().create_volume("blocks", spec).unwrap()
}

fn context() -> BackendContext {
    BackendContext::new(Duration::from_secs(5), crate::config::FileIo::Threads).unwrap()
}

pub(super) fn spec(volume: &TestVolume, path: &str) -> DeviceSpec {
    volume.uri(path).parse().unwrap()
}

pub(super) fn sized(size: u64) -> OpenOptions {
    OpenOptions { size: Some(size), ..OpenOptions::default() }
}

/// Runs the whole conformance suite on one volume, each case on a file of its own.
async fn conforms(volume: &TestVolume) {
    let context = context();
    let number = std::sync::atomic::AtomicU32::new(0);
    conformance::all(true, async |how| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let spec = spec(volume, &format!("suite/{number}.img"));
        if how.read_only {
            drop(open(&spec, &sized(conformance::SIZE), &context).await.unwrap());
        }
        open(&spec, &how, &context).await.unwrap()
    })
    .await;
    // What was done to the files has not changed their sizes, but where that was the purpose.
    for number in 0..number.into_inner() {
        let spec = spec(volume, &format!("suite/{number}.img"));
        let size = open(&spec, &OpenOptions::default(), &context).await.unwrap().geometry().size;
        assert!([conformance::SIZE, 2 * conformance::SIZE].contains(&size), "{spec}: {size}");
    }
}

#[tokio::test]
async fn conforms_on_a_replicated_volume() {
    conforms(&volume(&VolumeSpec::default())).await;
}

#[tokio::test]
async fn conforms_on_a_sharded_volume() {
    conforms(&volume(&VolumeSpec { sharded: true, replica: 1, ..VolumeSpec::default() })).await;
}

#[tokio::test]
async fn files_are_made_kept_and_grown() {
    let volume = volume(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let context = context();
    let spec = spec(&volume, "a/b/disk.img");
    let on_brick = volume.brick(0).unwrap().join("a/b/disk.img");
    let fails = async |how: &OpenOptions| open(&spec, how, &context).await.unwrap_err().to_string();

    assert!(fails(&OpenOptions::default()).await.contains("size"));
    assert!(!on_brick.exists());
    let device = open(&spec, &sized(1 << 30), &context).await.unwrap();
    device.write(4096, &vec![7; 4096].into(), true).await.unwrap();
    assert!(fails(&OpenOptions::default()).await.contains("in use"));
    drop(device);
    assert_eq!(std::fs::metadata(&on_brick).unwrap().len(), 1 << 30);

    assert!(fails(&sized(1 << 29)).await.contains("1GiB"));
    assert!(fails(&sized(2 << 30)).await.contains("grow"));
    let grown = OpenOptions { grow: true, preallocate: true, ..sized((1 << 30) + (4 << 20)) };
    let device = open(&spec, &grown, &context).await.unwrap();
    assert_eq!(device.geometry().size, (1 << 30) + (4 << 20));
    assert_eq!(device.read(4096, 4096).await.unwrap(), vec![7; 4096]);
    use std::os::unix::fs::MetadataExt;
    assert!(std::fs::metadata(&on_brick).unwrap().blocks() * 512 >= 4 << 20, "preallocated");

    let directory = self::spec(&volume, "a/b");
    assert!(open(&directory, &sized(4096), &context).await.is_err(), "a directory is no device");
}

#[tokio::test]
async fn what_cannot_be_reached_is_explained() {
    let volume = volume(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let address = volume.cluster().address();
    let context = context();
    let fails = async |uri: String| open(&uri.parse().unwrap(), &sized(4096), &context).await.unwrap_err();

    let error = fails(format!("gluster://{address}/nosuch/disk.img")).await;
    assert!(error.to_string().contains("gluster volume status nosuch"), "{error}");
    // Nobody listens at this port.
    let error = fails(format!("gluster://{address}:1/blocks/disk.img")).await;
    assert!(
        matches!(error, OpenError::GlusterUnreachable { .. }) && error.to_string().contains("glusterd"),
        "{error}"
    );
}

#[tokio::test]
async fn a_lost_quorum_is_unreachable_until_it_is_back() {
    let volume = volume(&VolumeSpec::default());
    let context = BackendContext::new(Duration::from_secs(2), crate::config::FileIo::Threads).unwrap();
    let device = open(&spec(&volume, "disk.img"), &sized(1 << 20), &context).await.unwrap();
    let data: Payload = vec![5; 4096].into();
    device.write(0, &data, true).await.unwrap();

    volume.kill_brick(0).unwrap();
    device.write(4096, &data, true).await.unwrap();
    volume.kill_brick(1).unwrap();
    let begun = Instant::now();
    assert_eq!(device.write(8192, &data, false).await, Err(DeviceError::Unreachable));
    assert_eq!(device.read(0, 4096).await, Err(DeviceError::Unreachable));
    assert_eq!(device.flush().await, Err(DeviceError::Unreachable));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());

    volume.start_force().unwrap();
    let patient = Patient { deadline: Duration::from_secs(30), ..inner(device) };
    patient.write(8192, &data, true).await.unwrap();
    patient.flush().await.unwrap();
    assert_eq!(patient.read(0, 4096).await.unwrap(), vec![5; 4096]);
}

fn inner(device: Device) -> Patient<File> {
    match device {
        Device { place: Place::Always(Backend::Gluster(device)), .. } => device.inner,
        other => panic!("{other:?}"),
    }
}
