//! Bricks that die, hang and come back; hosts and volumes that are not there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{BLOCK, block, config, connect, gluster, new_file, within};
use glint_gfapi::{Error, File, Host, Kind, OpenOptions, TranslatorOption, Volume};
use glint_testkit::gluster::VolumeSpec;
use tokio::time::{sleep, timeout};

const MIB: u64 = 1 << 20;

/// A volume whose bricks know at once which of them missed a write. By default they learn it a second after
/// the write was acknowledged, and a brick that comes back within that second serves what it had before.
fn prompt_accusations() -> VolumeSpec {
    VolumeSpec::default().option("cluster.post-op-delay-secs", "0")
}

/// Writes and reads blocks without pause until told to stop; says how many.
async fn keep_busy(file: Arc<File>, lane: u64, stop: Arc<AtomicBool>) -> u64 {
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        let offset = lane * MIB + round % 64 * BLOCK as u64;
        let data = block(lane << 32 | round);
        within(30, file.write(offset, std::slice::from_ref(&data), round % 8 == 0)).await.unwrap();
        assert_eq!(within(30, file.read(offset, BLOCK)).await.unwrap(), data, "lane {lane} round {round}");
        round += 1;
    }
    round
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn io_goes_on_without_one_brick_and_the_brick_catches_up() {
    let gluster = gluster(&VolumeSpec::default());
    let volume = connect(&gluster).await;
    let file = Arc::new(new_file(&volume, "disk", 8 * MIB).await);
    let stop = Arc::new(AtomicBool::new(false));
    let lanes: Vec<_> =
        (0..4).map(|lane| tokio::spawn(keep_busy(Arc::clone(&file), lane, Arc::clone(&stop)))).collect();
    sleep(Duration::from_millis(300)).await;
    gluster.kill_brick(0).unwrap();
    sleep(Duration::from_millis(700)).await;
    gluster.start_force().unwrap();
    sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    for lane in lanes {
        assert!(within(30, lane).await.unwrap() > 10);
    }
    within(30, file.fdatasync()).await.unwrap();
    gluster.wait_healed().unwrap();
    let contents: Vec<_> =
        (0..3).map(|brick| std::fs::read(gluster.brick(brick).unwrap().join("disk")).unwrap()).collect();
    assert!(contents[0] == contents[1] && contents[1] == contents[2], "the bricks differ");
}

#[tokio::test]
async fn without_quorum_io_fails_at_once_until_it_is_back() {
    let gluster = gluster(&prompt_accusations());
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "disk", MIB).await;
    file.write(0, &[block(1)], true).await.unwrap();
    gluster.kill_brick(0).unwrap();
    gluster.kill_brick(1).unwrap();

    for round in 0..20 {
        let begun = Instant::now();
        let results = [
            file.write(4096, &[block(2)], false).await.map(drop),
            file.read(0, BLOCK).await.map(drop),
            file.fdatasync().await,
            file.discard(8192, 4096).await,
        ];
        for result in results {
            assert_eq!(result.map_err(|error| error.kind()), Err(Kind::NotConnected), "round {round}");
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    gluster.start_force().unwrap();
    within(30, async {
        while let Err(error) = file.write(4096, &[block(3)], true).await {
            assert_eq!(error.kind(), Kind::NotConnected, "{error}");
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(within(30, file.read(0, BLOCK)).await.unwrap(), block(1));
    assert_eq!(within(30, file.read(4096, BLOCK)).await.unwrap(), block(3));
}

#[tokio::test]
async fn futures_of_a_hung_volume_can_be_dropped_and_close_waits_for_what_is_below() {
    const OPS: u64 = 64;
    let gluster = gluster(&VolumeSpec::default());
    let volume = connect(&gluster).await;
    let file = Arc::new(new_file(&volume, "disk", 16 * MIB).await);
    for brick in 0..3 {
        gluster.pause_brick(brick).unwrap();
    }
    let tasks: Vec<_> = (0..OPS)
        .map(|number| {
            let file = Arc::clone(&file);
            tokio::spawn(timeout(Duration::from_millis(500), async move {
                if number % 2 == 0 {
                    file.write(number * BLOCK as u64, &[block(number)], false).await.map(drop)
                } else {
                    file.read(number * BLOCK as u64, 65_536).await.map(drop)
                }
            }))
        })
        .collect();
    for task in tasks {
        assert!(within(30, task).await.unwrap().is_err(), "completed on a hung volume");
    }

    let file = Arc::into_inner(file).unwrap();
    let mut close = Box::pin(file.close());
    assert!(timeout(Duration::from_millis(500), &mut close).await.is_err(), "closed over I/O in flight");
    for brick in 0..3 {
        gluster.resume_brick(brick).unwrap();
    }
    within(30, close).await.unwrap();

    // Submitted writes happen although nobody waited for them.
    let file = volume.open("disk", OpenOptions::default()).await.unwrap();
    for number in (0..OPS).step_by(2) {
        assert_eq!(file.read(number * BLOCK as u64, BLOCK).await.unwrap(), block(number), "block {number}");
    }
    within(30, file.close()).await.unwrap();
}

#[tokio::test]
async fn files_and_volumes_may_be_dropped_with_io_in_flight() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let volume = connect(&gluster).await;
    for round in 0..20 {
        let file = Arc::new(new_file(&volume, &format!("disk-{round}"), MIB).await);
        let tasks: Vec<_> = (0..32_u64)
            .map(|number| {
                let file = Arc::clone(&file);
                tokio::spawn(async move { file.write(number * 4096, &[block(number)], false).await })
            })
            .collect();
        drop(file);
        tokio::task::yield_now().await;
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let file = new_file(&volume, "last", MIB).await;
    drop(volume);
    assert_eq!(within(30, file.write(0, &[block(7)], true)).await.unwrap(), BLOCK, "a file keeps its volume");
    within(30, file.close()).await.unwrap();
}

#[tokio::test]
async fn a_hung_quorum_fails_within_the_ping_timeout() {
    let gluster = gluster(&prompt_accusations().option("network.ping-timeout", "2"));
    let volume = connect(&gluster).await;
    let file = new_file(&volume, "disk", MIB).await;
    gluster.pause_brick(0).unwrap();
    gluster.pause_brick(1).unwrap();
    let error = within(30, file.write(0, &[block(1)], false)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NotConnected, "{error}");
    gluster.resume_brick(0).unwrap();
    gluster.resume_brick(1).unwrap();
    within(30, async {
        while file.write(0, &[block(1)], false).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(within(30, file.read(0, BLOCK)).await.unwrap(), block(1));
}

#[tokio::test]
async fn connecting_tries_every_host_and_reports_what_is_wrong() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let mut several = config(&gluster);
    several.hosts.insert(0, Host { name: "127.0.0.1".to_owned(), port: 1 });
    let volume = within(30, Volume::connect(several)).await.unwrap();
    volume.mkdir_all("/").await.unwrap();

    let mut unknown = config(&gluster);
    unknown.volume = "of-nobody".to_owned();
    let error = within(30, Volume::connect(unknown)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Gone, "{error}");

    let mut nowhere = config(&gluster);
    nowhere.hosts = vec![Host { name: "127.0.0.1".to_owned(), port: 1 }];
    let error = within(30, Volume::connect(nowhere)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::NotConnected, "{error}");

    let mut contradictory = config(&gluster);
    contradictory.options.push(TranslatorOption::new("*-write-behind", "pass-through", "false"));
    let error = within(30, Volume::connect(contradictory)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Option { translator, .. } if translator == "blocks-write-behind"),
        "{error}"
    );
    let mut wished = config(&gluster);
    wished.options.push(TranslatorOption::new("*-io-stats", "of-no-use", "true").optional());
    within(30, Volume::connect(wished)).await.unwrap();

    let mut none = config(&gluster);
    none.hosts.clear();
    assert_eq!(within(30, Volume::connect(none)).await.unwrap_err().kind(), Kind::Invalid);
}

/// What a volume has of caches and threads in its clients when nobody has thought about it.
#[tokio::test]
async fn translators_of_no_use_are_passed_by() {
    let stock =
        ["io-cache", "quick-read", "read-ahead", "open-behind", "stat-prefetch", "nl-cache", "readdir-ahead"];
    let options = stock.map(|name| (format!("performance.{name}"), "on".to_owned()));
    let threads = ("performance.client-io-threads".to_owned(), "on".to_owned());
    let options = options.into_iter().chain([threads]).collect();
    let gluster = gluster(&VolumeSpec { replica: 1, options, ..VolumeSpec::default() });
    let mut config = config(&gluster);
    let passed_by: Vec<_> = config.options.iter().map(|option| option.translator.clone()).collect();
    // An essential option that had no effect would keep the volume from being used.
    config.options.iter_mut().for_each(|option| option.essential = true);
    let volume = within(30, Volume::connect(config)).await.unwrap();
    let translators = within(5, volume.translators()).await.unwrap();
    for translator in passed_by {
        let name = translator.trim_start_matches('*');
        assert!(
            translators.iter().any(|it| it.name.ends_with(name)),
            "{translator} is not in {translators:?}"
        );
    }
}
