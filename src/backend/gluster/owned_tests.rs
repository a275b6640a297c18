//! Files that nodes take from each other, on a real GlusterFS of this machine.

use super::real_tests::{sized, spec, volume};
use crate::backend::{
    BackendContext, Device, Fencing, LockOwner, OpenError, OpenOptions, conformance, fencing, open,
    open_owned,
};
use crate::config::{DeviceSpec, FileIo};
use glint_target_core::device::{BlockDevice, DeviceError};
use glint_testkit::gluster::{GlusterVolume, VolumeSpec};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn node(deadline: u64) -> BackendContext {
    BackendContext::new(Duration::from_secs(deadline), FileIo::Threads).unwrap()
}

fn owner(name: &str) -> Option<LockOwner> {
    LockOwner::new(name)
}

async fn take(spec: &DeviceSpec, node: &BackendContext, name: &str) -> Result<Device, OpenError> {
    open_owned(spec, &OpenOptions::default(), node, owner(name).as_ref()).await
}

/// All that the device is asked for is refused for want of the lock.
async fn assert_lost(device: &Device) {
    let lost = Err(DeviceError::OwnershipLost);
    assert_eq!(device.write(0, &vec![9; 4096].into(), false).await, lost);
    assert_eq!(device.read(0, 4096).await.map(drop), lost);
    assert_eq!(device.discard(0, 4096).await, lost);
    assert_eq!(device.write_zeroes(0, 4096).await, lost);
    assert_eq!(device.resize(1 << 24).await, lost);
}

/// What trials have left in a directory of a brick.
fn trials(volume: &GlusterVolume, directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(volume.brick(0).unwrap().join(directory)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.display().to_string().contains("fencing-trial")).collect()
}

#[tokio::test]
async fn a_file_that_is_owned_conforms() {
    let volume = volume(&VolumeSpec::default());
    let (node, number) = (node(5), AtomicU32::new(0));
    conformance::all(true, async |how| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let spec = spec(&volume, &format!("suite/{number}.img"));
        drop(open(&spec, &sized(conformance::SIZE), &node).await.unwrap());
        open_owned(&spec, &how, &node, owner("node 1").as_ref()).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn who_takes_it_last_has_it() {
    for replica in [1, 3] {
        let volume = volume(&VolumeSpec { replica, ..VolumeSpec::default() });
        let spec = spec(&volume, "disk.img");
        let (one, two) = (node(10), node(10));
        assert!(take(&spec, &one, "one 1").await.is_err(), "it is not made");
        assert!(!volume.brick(0).unwrap().join("disk.img").exists());
        drop(open(&spec, &sized(1 << 20), &one).await.unwrap());

        let first = take(&spec, &one, "one 1").await.unwrap();
        first.write(0, &vec![1; 4096].into(), false).await.unwrap();
        first.resize(1 << 21).await.unwrap();
        let second = take(&spec, &two, "two 2").await.unwrap();
        assert_eq!(second.geometry().size, 1 << 21);
        assert_eq!(second.read(0, 4096).await.unwrap(), vec![1; 4096]);
        assert_lost(&first).await;
        // Taken back under the same epoch, while the former opening is still there.
        let again = take(&spec, &one, "one 1").await.unwrap();
        again.write(0, &vec![3; 4096].into(), true).await.unwrap();
        again.flush().await.unwrap();
        // What the former opening may have left on its way must not land any more.
        assert_lost(&first).await;
        assert_lost(&second).await;
        // A file that is open twice without the bricks' order is refused.
        let unfenced = open_owned(&spec, &OpenOptions::default(), &one, None).await;
        assert!(matches!(unfenced, Err(OpenError::InUse { .. })), "{unfenced:?}");
    }
}

#[tokio::test]
async fn the_owner_takes_it_anew_when_all_bricks_have_restarted() {
    for replica in [1, 3] {
        let volume = volume(&VolumeSpec { replica, ..VolumeSpec::default() });
        let (spec, node) = (spec(&volume, "disk.img"), node(20));
        drop(open(&spec, &sized(1 << 20), &node).await.unwrap());
        let device = take(&spec, &node, "one 1").await.unwrap();
        device.write(0, &vec![1; 4096].into(), true).await.unwrap();
        for brick in 0..replica {
            volume.kill_brick(brick).unwrap();
        }
        volume.start_force().unwrap();
        assert_eq!(device.write(0, &vec![2; 4096].into(), true).await, Err(DeviceError::OwnershipLost));
        assert_eq!(device.read(0, 4096).await, Err(DeviceError::OwnershipLost));
        let anew = take(&spec, &node, "one 1").await.unwrap();
        assert_eq!(anew.read(0, 4096).await.unwrap(), vec![1; 4096]);
        anew.write(0, &vec![3; 4096].into(), true).await.unwrap();
    }
}

#[tokio::test]
async fn bricks_that_hang_do_not_hold_up_for_longer_than_the_deadline() {
    let volume = volume(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let (spec, hasty, patient) = (spec(&volume, "disk.img"), node(2), node(20));
    for node in [&hasty, &patient] {
        drop(open(&spec, &sized(1 << 20), node).await.unwrap());
        // Connected, as a node that serves is.
        assert_eq!(fencing(&spec, node).await.unwrap(), Fencing::Yes);
    }
    let holder = take(&spec, &patient, "patient 1").await.unwrap();
    volume.pause_brick(0).unwrap();
    let begun = Instant::now();
    let error = take(&spec, &hasty, "hasty 2").await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(error.to_string().contains("within 2s"), "{error}");
    volume.resume_brick(0).unwrap();
    // What was given up may have reached the brick all the same; it takes nothing.
    tokio::time::sleep(Duration::from_secs(1)).await;
    holder.write(0, &vec![1; 4096].into(), false).await.unwrap();
    take(&spec, &hasty, "hasty 2").await.unwrap().write(0, &vec![2; 4096].into(), false).await.unwrap();
    assert_lost(&holder).await;
}

#[tokio::test]
async fn a_volume_that_fences_is_told_from_one_that_does_not() {
    let replicated = volume(&VolumeSpec::default());
    let create = |name: &str, spec: VolumeSpec| replicated.cluster().create_volume(name, &spec).unwrap();
    let off = ("features.enforce-mandatory-lock".to_owned(), "off".to_owned());
    let unlocked = VolumeSpec { replica: 1, options: vec![off], ..VolumeSpec::default() };
    let lone = create("lone", VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let node = node(10);
    for volume in [&replicated, &lone] {
        let left_behind = spec(volume, "a/.glint-fencing-trial.1700000000.00ff");
        drop(open(&left_behind, &sized(4096), &node).await.unwrap());
        assert_eq!(fencing(&spec(volume, "a/disk.img"), &node).await.unwrap(), Fencing::Yes);
        assert_eq!(trials(volume, "a"), Vec::<PathBuf>::new());
    }
    let sharded = VolumeSpec { replica: 1, sharded: true, ..VolumeSpec::default() };
    for (name, spec_of, reason) in [
        ("unlocked", unlocked, "enforce-mandatory-lock"),
        ("shards", sharded, "sharded"),
        ("arbiter", VolumeSpec { arbiter: true, ..VolumeSpec::default() }, "arbiter"),
    ] {
        let volume = create(name, spec_of);
        let begun = Instant::now();
        match fencing(&spec(&volume, "a/disk.img"), &node).await.unwrap() {
            Fencing::No(why) => assert!(why.contains(reason), "{name}: {why}"),
            Fencing::Yes => panic!("{name} fences"),
        }
        println!("{name}: {:?}", begun.elapsed());
    }
    // One trial for all files of a volume.
    lone.kill_brick(0).unwrap();
    assert_eq!(fencing(&spec(&lone, "b/other.img"), &node).await.unwrap(), Fencing::Yes);
}
