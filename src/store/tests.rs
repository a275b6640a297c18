//! The conformance suite on a local directory and on a real GlusterFS.

use super::*;
use glint_testkit::gluster::{GlusterCluster, GlusterVolume, VolumeSpec};
use std::sync::Arc;

const DEADLINE: Duration = Duration::from_secs(20);

async fn clients(url: &str, count: usize) -> Vec<Store> {
    let url: StoreUrl = url.parse().unwrap();
    let mut clients = Vec::new();
    for _ in 0..count {
        clients.push(Store::open(&url, DEADLINE).await.unwrap());
    }
    clients
}

async fn conforms(url: &str) {
    conformance::all(clients(url, 4).await.into_iter().map(Arc::new).collect()).await;
}

/// With GlusterFS' own options: its caches on, as whoever makes a volume finds them.
fn volume(replica: usize) -> GlusterVolume {
    distributed(replica, 1)
}

fn distributed(replica: usize, sets: usize) -> GlusterVolume {
    let spec = [
        "performance.quick-read",
        "performance.read-ahead",
        "performance.io-cache",
        "performance.stat-prefetch",
        "performance.open-behind",
        "performance.readdir-ahead",
        "performance.nl-cache",
    ]
    .iter()
    .fold(VolumeSpec { replica, sets, ..VolumeSpec::default() }, |spec, cache| spec.option(cache, "on"));
    GlusterCluster::start().unwrap().create_volume("cluster", &spec).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_directory_conforms() {
    let place = tempfile::tempdir().unwrap();
    conforms(&place.path().join("made/here").display().to_string()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_count_on_a_local_directory() {
    let place = tempfile::tempdir().unwrap();
    conformance::count_together(clients(&place.path().display().to_string(), 4).await, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_on_one_brick_conforms() {
    conforms(&volume(1).uri("made/here")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replicated_directory_conforms() {
    let volume = volume(3);
    conforms(&volume.uri("store")).await;
    conformance::count_together(clients(&volume.uri("counted"), 4).await, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_distributed_directory_conforms() {
    let volume = distributed(1, 2);
    conforms(&volume.uri("store")).await;
    conformance::count_together(clients(&volume.uri("counted"), 4).await, 200).await;

    // What is prepared lies where the version will be, so that one brick decides who has its name; and both bricks have their share.
    let on_brick = |brick: usize, name: &str| {
        let file = volume.brick(brick).unwrap().join("placed").join(name);
        std::fs::metadata(file).is_ok_and(|file| file.len() > 0)
    };
    let clients = clients(&volume.uri("placed"), 1).await;
    let mut shares = [0; 2];
    for version in 1..=40 {
        let (prepared, name) = (format!(".owner-7.{version}.{version:032x}"), format!("owner-7.{version}"));
        clients[0].create(&prepared, b"contents").await.unwrap();
        clients[0].link(&prepared, &name).await.unwrap();
        let brick = usize::from(on_brick(1, &name));
        shares[brick] += 1;
        for (brick, expected) in [(brick, true), (1 - brick, false)] {
            let there = [&prepared, &name].map(|name| on_brick(brick, name));
            assert_eq!(there, [expected; 2], "version {version} on brick {brick}");
        }
    }
    assert!(shares.iter().all(|share| *share > 5), "{shares:?}");
}

#[tokio::test]
async fn a_call_ends_by_its_deadline_when_the_brick_hangs() {
    let volume = volume(1);
    let StoreUrl::Gluster(place) = volume.uri("store").parse().unwrap() else { panic!() };
    let mut directory = GlusterDirectory::open(&place, Duration::from_secs(1)).await.unwrap();
    directory.create("before", b"").await.unwrap();
    volume.pause_brick(0).unwrap();
    let begun = Instant::now();
    assert!(matches!(directory.create("first", b"").await, Err(DirectoryError::Unknown(_))));
    assert!(matches!(directory.create("second", b"").await, Err(DirectoryError::Unknown(_))));
    assert!(matches!(directory.list().await, Err(DirectoryError::Unknown(_))));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    volume.resume_brick(0).unwrap();
    directory.deadline = DEADLINE;
    let listed = directory.list().await.unwrap();
    assert!(listed.contains(&"before".to_owned()), "{listed:?}");
    assert!(!listed.contains(&"second".to_owned()), "its turn had not come when its time passed");
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_explained() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), "").unwrap();
    let url = StoreUrl::Local(place.path().join("file/below"));
    let error = Store::open(&url, DEADLINE).await.unwrap_err();
    assert!(error.to_string().contains("file/below"), "{error}");
    // Nobody listens at this port.
    let error = Store::open(&"gluster://127.0.0.1:1/v/store".parse().unwrap(), DEADLINE).await.unwrap_err();
    assert!(error.to_string().contains("glusterd"), "{error}");
}
