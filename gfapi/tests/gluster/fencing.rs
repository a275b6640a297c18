//! Mandatory locks that preempt each other.

use std::time::{Duration, Instant};

use glint_gfapi::{Error, File, Kind, LockOwner, OpenOptions, Volume};
use tokio::time::sleep;

use super::*;

const EBUSY: Option<i32> = Some(libc::EBUSY);
const EAGAIN: Option<i32> = Some(libc::EAGAIN);

fn owner(name: &str) -> LockOwner {
    LockOwner::new(name.as_bytes().to_vec()).unwrap()
}

fn volumes() -> [VolumeSpec; 2] {
    [VolumeSpec { replica: 1, ..VolumeSpec::default() }, VolumeSpec::default()]
}

async fn open(volume: &Volume, path: &str) -> File {
    volume.open(path, OpenOptions::default()).await.unwrap()
}

async fn fenced(volume: &Volume, path: &str, name: &str) -> File {
    let file = open(volume, path).await;
    within(20, file.fence(&owner(name))).await.unwrap();
    file
}

async fn write(file: &File, number: u64) -> Result<(), Error> {
    within(20, file.write(0, &[block(number)], false)).await.map(drop)
}

async fn read(file: &File) -> Result<Bytes, Error> {
    within(20, file.read(0, BLOCK)).await
}

/// All I/O of the file is refused: how.
async fn assert_refused(file: &File) {
    assert_eq!(write(file, 99).await.unwrap_err().errno(), EBUSY);
    assert_eq!(read(file).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.discard(0, 4096).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.zerofill(0, 4096).await.unwrap_err().errno(), EAGAIN);
    assert_eq!(file.truncate(0).await.unwrap_err().errno(), EAGAIN);
}

#[tokio::test]
async fn who_asks_last_has_the_file_and_the_former_holder_is_refused() {
    for spec in volumes() {
        let gluster = gluster(&spec);
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
        new_file(&first, "other", 1 << 20).await.close().await.unwrap();

        let former = fenced(&first, "disk", "first 1").await;
        write(&former, 1).await.unwrap();
        // Another file of the same client under another owner is in nobody's way.
        let other = fenced(&first, "other", "first 7").await;
        for number in 2..20 {
            write(&other, number).await.unwrap();
            write(&former, number).await.unwrap();
            assert_eq!(read(&former).await.unwrap(), block(number));
        }

        let holder = fenced(&second, "disk", "second 2").await;
        assert_refused(&former).await;
        write(&holder, 30).await.unwrap();
        assert_eq!(read(&holder).await.unwrap(), block(30));

        // The same client under a newer owner, and taken back under the same.
        let again = fenced(&first, "disk", "first 3").await;
        assert_refused(&former).await;
        assert_refused(&holder).await;
        write(&again, 31).await.unwrap();
        holder.fence(&owner("second 2")).await.unwrap();
        assert_refused(&again).await;
        assert_eq!(read(&holder).await.unwrap(), block(31));
        write(&other, 32).await.unwrap();
    }
}

#[tokio::test]
async fn who_holds_no_lock_is_refused_whether_or_not_another_does() {
    for spec in volumes() {
        let gluster = gluster(&spec);
        let (first, second) = (connect(&gluster).await, connect(&gluster).await);
        let early = new_file(&second, "disk", 1 << 20).await;
        write(&early, 1).await.unwrap();
        let holder = fenced(&first, "disk", "first 1").await;
        write(&holder, 2).await.unwrap();
        let late = open(&second, "disk").await;
        assert_refused(&early).await;
        assert_refused(&late).await;
        assert_refused(&open(&first, "disk").await).await;

        within(20, holder.close()).await.unwrap();
        assert_refused(&early).await;
        assert_refused(&late).await;
        // The rule is the file's, and a brick that starts finds it there.
        for brick in 0..spec.replica {
            gluster.kill_brick(brick).unwrap();
        }
        gluster.start_force().unwrap();
        let after = connect(&gluster).await;
        let unlocked = open(&after, "disk").await;
        // A replicated brick looks for the rule only when it is asked for something else than a write.
        assert_eq!(read(&unlocked).await.unwrap_err().errno(), EAGAIN);
        assert_refused(&unlocked).await;
        assert_eq!(read(&fenced(&after, "disk", "after 1").await).await.unwrap(), block(2));
    }
}

/// What the brick has begun of the former holder's is over when the next one has the file. Only where it is
/// replicated: there the one waits for the other's transaction. A lone brick grants the lock while it still writes.
#[tokio::test]
async fn nothing_of_the_former_holder_lands_after_the_grant() {
    let gluster = gluster(&VolumeSpec::default());
    let (first, second) = (connect(&gluster).await, connect(&gluster).await);
    new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
    let former = fenced(&first, "disk", "first 1").await;
    write(&former, 1).await.unwrap();
    let holder = open(&second, "disk").await;
    for brick in 0..3 {
        gluster.slow_writes(brick, Duration::from_secs(2)).unwrap();
    }
    let writing = tokio::spawn(async move {
        let mut number = 2;
        while write(&former, number).await.is_ok() {
            number += 1;
        }
        number
    });
    // While a write is under way.
    sleep(Duration::from_millis(2500)).await;
    within(30, holder.fence(&owner("second 2"))).await.unwrap();
    let at_grant = read(&holder).await.unwrap();
    let refused = within(20, writing).await.unwrap();
    assert!(refused > 2, "a write was accepted before");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(read(&holder).await.unwrap(), at_grant);
    assert_eq!(at_grant, block(refused - 1), "the last that was acknowledged");
}

/// A lone brick forgets who had the file, and a former holder does not get it back by being there first.
#[tokio::test]
async fn a_brick_that_restarts_lets_nobody_in_until_the_file_is_taken_anew() {
    let gluster = gluster(&VolumeSpec { replica: 1, ..VolumeSpec::default() });
    let (first, second) = (connect(&gluster).await, connect(&gluster).await);
    new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
    let former = fenced(&first, "disk", "first 1").await;
    let holder = fenced(&second, "disk", "second 2").await;
    write(&holder, 2).await.unwrap();
    gluster.kill_brick(0).unwrap();
    gluster.start_force().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        for file in [&former, &holder] {
            let kind = write(file, 3).await.unwrap_err().kind();
            assert!(matches!(kind, Kind::OwnershipLost | Kind::NotConnected), "{kind:?}");
            assert!(read(file).await.is_err());
        }
        sleep(Duration::from_millis(20)).await;
    }
    let anew = fenced(&second, "disk", "second 2").await;
    assert_eq!(read(&anew).await.unwrap(), block(2));
    write(&anew, 4).await.unwrap();
    assert!(write(&former, 5).await.is_err());
}

/// Of a replicated file the others tell a brick that restarts who has it.
#[tokio::test]
async fn the_holder_keeps_a_replicated_file_while_bricks_restart_one_by_one() {
    let gluster = gluster(&VolumeSpec::default());
    let (first, second) = (connect(&gluster).await, connect(&gluster).await);
    new_file(&first, "disk", 1 << 20).await.close().await.unwrap();
    let former = fenced(&first, "disk", "first 1").await;
    let holder = fenced(&second, "disk", "second 2").await;
    for brick in 0..3 {
        gluster.kill_brick(brick).unwrap();
        write(&holder, 2).await.unwrap();
        gluster.start_force().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(6) {
            // The former one first: it may meet the brick before the lock does.
            assert_eq!(write(&former, 99).await.unwrap_err().errno(), EBUSY);
            write(&holder, 3).await.unwrap();
            assert_eq!(read(&holder).await.unwrap(), block(3));
            sleep(Duration::from_millis(20)).await;
        }
        gluster.wait_healed().unwrap();
    }
    for brick in 0..3 {
        let there = std::fs::read(gluster.brick(brick).unwrap().join("disk")).unwrap();
        assert!(there.starts_with(&block(3)), "brick {brick}");
    }
}
